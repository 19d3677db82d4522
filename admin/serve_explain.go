package admin

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
)

// maxQuery bounds what can be asked for, in bytes.
const maxQuery = 2 * vip.MaxName

// explain answers what is known of a name, an address or an entry. A query may
// be several of these at once: "1:fd00::1" is an entry and an address.
func (h *handler) explain(_ http.ResponseWriter, _ *http.Request, q url.Values) (any, error) {
	query := q.Get("q")
	if query == "" || len(query) > maxQuery {
		return nil, failf(http.StatusBadRequest, BadRequest, "q is what to explain: a name, an address, or an entry such as 0:backend")
	}
	answer := Explanation{Query: query, Entries: []Explained{}, Unknown: h.unsaid()}
	if !h.knowsResources() {
		answer.Unknown = append(answer.Unknown, "resources")
	}
	var keys []vip.Key
	addr, isAddr := parseAddress(query)
	entry, err := vip.ParseEntry(query)
	isEntry := err == nil
	if isAddr {
		state := h.address(h.t.Alloc.Address(addr))
		answer.Address = &state
		keys = append(keys, h.holders(addr)...)
	}
	if isEntry {
		keys = append(keys, entry.Key())
	}
	if !isAddr && !isEntry {
		keys = append(keys, h.byName(query, &answer)...)
	}
	var seen []vip.Key
	for _, key := range keys {
		if slices.Contains(seen, key) {
			continue
		}
		seen = append(seen, key)
		if s, known := h.t.Alloc.Entry(key); known {
			answer.Entries = append(answer.Entries, h.entry(s))
		}
	}
	if answer.Address == nil && len(answer.Entries) == 0 && len(answer.Names) == 0 {
		return nil, failf(http.StatusNotFound, NotFound, "nothing is known of %.260q: no entry has it, claims it, or is remembered", query)
	}
	answer.Serial = h.t.Alloc.Stats().Meta.Serial
	return answer, nil
}

// byName notes who has what a name may mean, and returns the entries that it may
// mean.
func (h *handler) byName(query string, answer *Explanation) (keys []vip.Key) {
	if h.names.x != nil {
		answer.Names = []NameState{}
		for _, full := range h.names.full(query) {
			if claims, who := h.names.claims(full); len(claims) > 0 {
				answer.Names = append(answer.Names, NameState{Name: full, Claims: claims})
				keys = append(keys, who...)
			}
		}
	}
	return append(keys, h.t.Alloc.Entries(query, h.t.Alloc.Meshes()...)...)
}

// holders returns the entries that have an address, and the one that had it.
func (h *handler) holders(addr netip.Addr) (keys []vip.Key) {
	s := h.t.Alloc.Address(addr)
	if s.Owner != (vip.Key{}) {
		keys = append(keys, s.Owner)
	}
	if s.Given == 0 {
		return keys
	}
	keys = append(keys, h.names.at(addr)...)
	if s.Given == 1 && h.names.x != nil {
		return keys
	}
	// Several were given one address, or nobody keeps an index: this is rare.
	for _, row := range h.t.Alloc.Snapshot() {
		if slices.Contains(row.Given(), addr) {
			keys = append(keys, row.Key())
		}
	}
	return keys
}

var addressStates = map[allocator.AddrStatus]string{
	allocator.AddrLive: Live, allocator.AddrUnreadable: Unreadable, allocator.AddrAside: Aside, allocator.AddrCooling: Cooling,
	allocator.AddrGiven: Given, allocator.AddrOutside: Outside, allocator.AddrNetwork: Network, allocator.AddrBroadcast: Broadcast,
	allocator.AddrExcluded: Excluded, allocator.AddrReserved: ReservedRange, allocator.AddrPast: Past, allocator.AddrQuarantined: Quarantined, allocator.AddrFree: Free,
}

func (h *handler) address(s allocator.AddrState) AddressState {
	out := AddressState{
		Address: s.Addr, State: addressStates[s.Status], Pool: s.Pool, Retired: s.Retired, Drain: s.Drain, Range: s.Range,
		Owner: keyText(s.Owner), LastMesh: s.Mesh, Since: shown(s.Since), CooldownSeconds: s.Cooldown.Seconds(),
		StaticOf: keyText(s.Static), GivenTo: s.Given, PTR: h.names.ptr(s.Addr),
	}
	if s.Row != nil {
		out.Owner = s.Row.Entry.String()
	}
	if s.Cooldown > 0 && !h.t.Offline { // the clock stands still there
		out.Until = shown(time.Now().Add(s.Cooldown))
	}
	return out
}

// shown returns a time as answers show it: to the second, for it is an estimate.
func shown(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC().Truncate(time.Second)
}

// keyText returns a key's text, and none for the zero Key.
func keyText(k vip.Key) string {
	if k == (vip.Key{}) {
		return ""
	}
	return k.String()
}

func (h *handler) entry(s allocator.EntryState) Explained {
	key := s.Row.Key()
	e := Explained{
		Row: h.row(s.Line), Held: []HeldAddress{}, Past: []AddressState{}, Names: h.names.all(s.Row),
		Waiting: waiting(s.Waits), Refused: refused(s.Refused), Holds: []Hold{}, Plan: s.Plan, Moves: moveList(s.Moves, len(s.Moves)),
	}
	for _, a := range s.Held {
		e.Held = append(e.Held, h.heldAddress(a))
	}
	for _, a := range s.Past {
		e.Past = append(e.Past, h.address(a))
	}
	for _, hold := range s.Holds {
		e.Holds = append(e.Holds, holdOf(hold))
	}
	if h.knowsResources() {
		e.Resources = list(h.t.Resources(key))
	}
	return e
}

// knowsResources reports whether the server knows who asks for an entry: one that
// follows does not follow sources.
func (h *handler) knowsResources() bool { return h.t.Resources != nil && !h.follows() }

func (h *handler) heldAddress(a allocator.HeldAddr) HeldAddress {
	out := HeldAddress{Address: a.Addr, How: Automatic, Since: shown(a.Since), Pool: a.Pool, PTR: h.names.ptr(a.Addr), Misplaced: a.Misplaced}
	switch {
	case a.Given:
		out.How = ByKuma
	case a.Layout:
		out.How = ByCorefile
	case a.Tag:
		out.How = ByTag
	}
	return out
}
