package admin

import (
	"net/netip"
	"time"
)

// Explanation answers GET /v1/explain: all that is known of a name, an address
// or an entry.
type Explanation struct {
	Query string `json:"query"`
	// Address is set where the query is an address.
	Address *AddressState `json:"address,omitempty"`
	// Names are what the query is as a name, in each zone that it can be meant
	// in: of one without a final dot, below every zone too.
	Names []NameState `json:"names,omitzero"`
	// Entries are those that have the address, claim the name, or are the entry.
	Entries []Explained `json:"entries"`
	Serial  uint32      `json:"serial"`
	// Unknown are parts that nobody here knows of: "names", "resources", and of a
	// follower "moves" and "held".
	Unknown []string `json:"unknown,omitempty"`
}

// The states of an address.
const (
	// Live: an entry has it from the table.
	Live = "live"
	// Cooling: its last owner gave it back, and nobody else gets it yet.
	Cooling = "cooling"
	// Past: its last owner gave it back, and anybody may get it.
	Past = "past"
	// Aside: an entry has it whose row cannot be read.
	Aside = "aside"
	// Unreadable: it cannot be read who has it; it stays reserved.
	Unreadable = "unreadable"
	// Free: nobody has it, or is remembered to have had it.
	Free = "free"
	// Quarantined: the table was restored, and it is not known who had it last;
	// nobody else gets it yet.
	Quarantined = "quarantined"
	// Excluded, ReservedRange, Network and Broadcast are not for everybody.
	Excluded      = "excluded"
	ReservedRange = "reserved"
	Network       = "network"
	Broadcast     = "broadcast"
	// Given: Kuma gave it to an entry, and the table to none.
	Given = "given"
	// Outside: it lies in no pool.
	Outside = "outside"
)

// AddressState is what the table knows of an address.
type AddressState struct {
	Address netip.Addr `json:"address"`
	State   string     `json:"state"`
	// Pool is the pool that it lies in; Retired and Drain are that pool's.
	Pool    netip.Prefix `json:"pool,omitzero"`
	Retired bool         `json:"retired"`
	Drain   bool         `json:"drain"`
	// Range is the exclude or reserve of the pool that it lies in.
	Range string `json:"range,omitempty"`
	// Owner has it, or had it last; LastMesh is the last mesh that listed a past
	// owner.
	Owner    string `json:"owner,omitempty"`
	LastMesh string `json:"last_mesh,omitempty"`
	// Since is when it came to Owner, or when that gave it back, as far as
	// known. Until is when it has cooled down, or is out of quarantine, if the
	// server keeps running.
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"`
	// CooldownSeconds is what is left of the cooldown or quarantine.
	CooldownSeconds float64 `json:"cooldown_seconds,omitempty"`
	// StaticOf is the entry that the Corefile keeps it for.
	StaticOf string `json:"static_of,omitempty"`
	// GivenTo counts the entries that Kuma gave it to.
	GivenTo int `json:"given_to,omitempty"`
	// PTR is the name that a reverse lookup gives; empty where there is none, or
	// names are unknown.
	PTR string `json:"ptr,omitempty"`
}

// NameState is who has a full name, and who else claims it.
type NameState struct {
	// Name is full, with its final dot.
	Name string `json:"name"`
	// Claims are all claims to it, the best first.
	Claims []NameClaim `json:"claims"`
}

// NameClaim is an entry's claim to a name.
type NameClaim struct {
	Entry string `json:"entry"`
	// Has: the name is answered for it.
	Has bool `json:"has"`
	// How the name follows from the entry: "an fqdn", "a host", "a hostname", "a
	// literal name", "a dotted spelling". The zone's name server has no entry.
	How string `json:"how"`
	// Local: it has the name all the same where a server block shows its mesh, and
	// none of those that come before it.
	Local bool `json:"local"`
	// Reason says by what rule it does not have the name.
	Reason string `json:"reason,omitempty"`
}

// Explained is an entry with all that is known of it.
type Explained struct {
	Row Row `json:"row"`
	// Held are its addresses, and how it has each.
	Held []HeldAddress `json:"held"`
	// Past are addresses that it gave back and that nobody has taken: it gets
	// the last of them back.
	Past []AddressState `json:"past"`
	// Names are all names that it claims, those that it lost included; not said
	// where names are unknown.
	Names []EntryName `json:"names,omitzero"`
	// Resources are what asks for it; not said where that is unknown.
	Resources []Resource `json:"resources,omitzero"`
	// Waiting says for each family that it lacks an address of, why.
	Waiting []Waiting `json:"waiting"`
	// Refused are its static addresses that it does not have.
	Refused []Refused `json:"refused"`
	// Holds are the meshes that no longer list it, without entries.
	Holds []Hold `json:"holds"`
	// Moves are its part in the plan of moves that waits, Plan its name.
	Plan  string `json:"plan,omitempty"`
	Moves []Move `json:"moves"`
}

// How an entry has an address.
const (
	// Automatic: its pool gave it.
	Automatic = "automatic"
	// ByCorefile and ByTag: it is the entry's static address.
	ByCorefile = "static (Corefile)"
	ByTag      = "static (tag)"
	// ByKuma: Kuma gave it.
	ByKuma = "given"
)

// HeldAddress is an address that an entry has.
type HeldAddress struct {
	Address netip.Addr `json:"address"`
	// How is automatic, static or given; see [Automatic] and its like.
	How string `json:"how"`
	// Since is when the entry got it, as far as known.
	Since time.Time    `json:"since,omitzero"`
	Pool  netip.Prefix `json:"pool,omitzero"`
	// PTR is the name that a reverse lookup gives.
	PTR string `json:"ptr,omitempty"`
	// Misplaced says why the entry should not have the address; see GET /v1/moves.
	Misplaced string `json:"misplaced,omitempty"`
}

// EntryName is a name that an entry claims.
type EntryName struct {
	// Name is full, with its final dot; where no zone is known, a service's has
	// none.
	Name string `json:"name"`
	Has  bool   `json:"has"`
	// How and Local are as in [NameClaim].
	How   string `json:"how"`
	Local bool   `json:"local"`
	// Owner has the name in its place; empty with Has false: the zone's own
	// name server has it, or nobody can. Reason says by what rule.
	Owner  string `json:"owner,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Resource is a resource that asks for an entry.
type Resource struct {
	// Mesh is the mesh that it asks in.
	Mesh string `json:"mesh"`
	// Type, ResourceMesh and Name identify it.
	Type         string `json:"type"`
	ResourceMesh string `json:"resource_mesh,omitempty"`
	Name         string `json:"name"`
	// Place is where it is declared: a file and line, or a URL.
	Place string `json:"place"`
}
