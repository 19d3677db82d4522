package admin

import "net/netip"

// TablePage answers GET /v1/table: rows in the order of their keys.
type TablePage struct {
	Rows []Row `json:"rows"`
	// Next is what the next page comes after; empty at the end.
	Next string `json:"next,omitempty"`
	// Total counts the rows of all pages as they are now.
	Total    int      `json:"total"`
	Serial   uint32   `json:"serial"`
	Revision uint64   `json:"revision"`
	Unknown  []string `json:"unknown,omitempty"`
}

// Row is an entry of the table.
type Row struct {
	// Entry is the entry in the spelling that is shown, Kind its kind in words.
	Entry string `json:"entry"`
	Kind  string `json:"kind"`
	// Addresses are those that the table gave, v4 first; Given those that Kuma
	// gave; Static those of them both that the entry is to have by somebody's
	// choice, had or not.
	Addresses []netip.Addr `json:"addresses"`
	Given     []netip.Addr `json:"given"`
	Static    []netip.Addr `json:"static"`
	// Names are the full names that the entry answers to; not said where names
	// are unknown.
	Names []string `json:"names,omitzero"`
	// Listings are what each mesh says of the entry.
	Listings []Listing `json:"listings"`
	// Waiting: it lacks an address of a family that there is a pool of.
	Waiting bool `json:"waiting"`
	// Follows: only Kuma gives it addresses.
	Follows bool `json:"follows"`
}

// Listing is what one mesh says of an entry.
type Listing struct {
	Mesh string `json:"mesh"`
	// Name is the entry's name in the mesh's spelling.
	Name      string     `json:"name"`
	Outbounds []Outbound `json:"outbounds"`
	// Static, Given, Hostnames and Follow are the mesh's terms, if it has any.
	Static    []netip.Addr `json:"static,omitempty"`
	Given     []netip.Addr `json:"given,omitempty"`
	Hostnames []string     `json:"hostnames,omitempty"`
	Follow    bool         `json:"follow,omitempty"`
}

// Outbound is a port on which proxies of a mesh reach the entry.
type Outbound struct {
	// Port is 0 where the resource names none; it is 80 then.
	Port   uint16            `json:"port"`
	Tags   map[string]string `json:"tags"`
	Origin string            `json:"origin"`
}

// Conflicts answers GET /v1/conflicts: all that is not as somebody asked for it.
// Every list has the first of its sort only, as many as the request's limit;
// the counts are of all.
type Conflicts struct {
	WaitingCount int       `json:"waiting_count"`
	Waiting      []Waiting `json:"waiting"`
	RefusedCount int       `json:"refused_count"`
	Refused      []Refused `json:"refused"`
	// NamesCount and Names are not said where names are unknown.
	NamesCount int            `json:"names_count"`
	Names      []NameConflict `json:"names,omitzero"`
	Moves      Moves          `json:"moves"`
	HeldCount  int            `json:"held_count"` // holds, one a mesh
	Held       []Hold         `json:"held"`

	DamagedCount int      `json:"damaged_count"`
	Damaged      []Damage `json:"damaged"`
	Unknown      []string `json:"unknown,omitempty"`
}

// Waiting is an entry that lacks an address of a family.
type Waiting struct {
	Entry string `json:"entry"`
	// Family is "v4" or "v6".
	Family string `json:"family"`
	Reason string `json:"reason"`
}

// Refused is a static address that an entry does not have.
type Refused struct {
	Entry   string     `json:"entry"`
	Address netip.Addr `json:"address,omitzero"`
	Reason  string     `json:"reason"`
}

// NameConflict is a name that several entries claim.
type NameConflict struct {
	// Name is full, with its final dot, or without one, and then meant below
	// every zone.
	Name string `json:"name"`
	// Winner has the name; empty is the zone's own name server.
	Winner string `json:"winner"`
	// Losers are the others, the one that is next first.
	Losers []string `json:"losers"`
}

// Damage is a record of the store that could not be read, and was set aside.
type Damage struct {
	Record string `json:"record"`
	Error  string `json:"error"`
	// Address stays reserved because of it.
	Address netip.Addr `json:"address,omitzero"`
}

// Moves answers GET /v1/moves and POST /v1/plan: a plan of moves.
type Moves struct {
	// Plan is the plan's name, by which it is confirmed; empty where nothing
	// would move.
	Plan string `json:"plan,omitempty"`
	// Count and StuckCount count them all, where a list is cut to a limit.
	Count int    `json:"count"`
	Moves []Move `json:"moves"`
	// Stuck should move, and there is no address for them.
	StuckCount int     `json:"stuck_count"`
	Stuck      []Stuck `json:"stuck"`
}

// Move is an entry that gets, or would get, another address.
type Move struct {
	Entry string     `json:"entry"`
	From  netip.Addr `json:"from"`
	To    netip.Addr `json:"to"`
	Why   string     `json:"why"`
}

// Stuck is an entry that should move, and cannot.
type Stuck struct {
	Entry string     `json:"entry"`
	From  netip.Addr `json:"from"`
	Why   string     `json:"why"`
}

// Confirm is the body of POST /v1/moves/confirm.
type Confirm struct {
	Plan string `json:"plan"`
}

// Confirmed answers POST /v1/moves/confirm: what was moved.
type Confirmed struct {
	Plan       string `json:"plan"`
	Moves      []Move `json:"moves"`
	Generation uint64 `json:"generation"`
	Serial     uint32 `json:"serial"`
}

// Layout is the body of POST /v1/plan: what a configuration says of addresses.
type Layout struct {
	Pools   []LayoutPool   `json:"pools"`
	Statics []LayoutStatic `json:"statics,omitempty"`
}

// LayoutPool is a pool of a layout. Ranges are an address, "FROM-TO" or a CIDR.
type LayoutPool struct {
	Prefix  netip.Prefix `json:"prefix"`
	Exclude []string     `json:"exclude,omitempty"`
	Reserve []string     `json:"reserve,omitempty"`
	Drain   bool         `json:"drain,omitempty"`
}

// LayoutStatic is an entry with an address of the operator's choice.
type LayoutStatic struct {
	Entry   string     `json:"entry"`
	Address netip.Addr `json:"address"`
}

// Held answers GET /v1/held.
type Held struct {
	Holds []Hold `json:"holds"`
}

// Hold is what sources no longer list of one mesh, and the table keeps until
// somebody says that it may go.
type Hold struct {
	// Name is a digest of what is held: another set has another name.
	Name string `json:"name"`
	Mesh string `json:"mesh"`
	// Gone: the mesh itself is no longer declared.
	Gone    bool     `json:"gone"`
	Entries []string `json:"entries"`
	Reason  string   `json:"reason"`
}

// Release is the body of POST /v1/held/release.
type Release struct {
	Holds []string `json:"holds"`
}

// Released answers POST /v1/held/release.
type Released struct {
	Holds []string `json:"holds"`
	// Addresses counts the addresses that were given up.
	Addresses int    `json:"addresses"`
	Serial    uint32 `json:"serial"`
}
