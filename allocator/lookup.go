package allocator

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/meshvip/coredns-meshvip/vip"
)

// AddrStatus says what becomes of an address.
type AddrStatus uint8

// What an address can be. The first that applies counts.
const (
	// AddrLive: an entry has it from the table.
	AddrLive AddrStatus = iota
	// AddrUnreadable: the record of who has it cannot be read. Nobody gets it.
	AddrUnreadable
	// AddrAside: an entry has it whose row cannot be read.
	AddrAside
	// AddrCooling: its last owner gave it back, and nobody else gets it yet.
	AddrCooling
	// AddrGiven: Kuma gave it to an entry, so that the table gives it to none.
	AddrGiven
	// AddrOutside: it lies in no pool.
	AddrOutside
	// AddrNetwork and AddrBroadcast are the first and the last of a v4 pool.
	AddrNetwork
	AddrBroadcast
	// AddrExcluded is given to nobody.
	AddrExcluded
	// AddrQuarantined: it is not known who had it, for the table was restored.
	// Only an owner that is remembered gets it yet.
	AddrQuarantined
	// AddrReserved: only who asks for it gets it.
	AddrReserved
	// AddrPast: its last owner gave it back, and others may get it.
	AddrPast
	// AddrFree: nobody has it, or is remembered to have had it.
	AddrFree
)

// AddrState is what the table knows of one address.
type AddrState struct {
	Addr   netip.Addr
	Status AddrStatus
	// Pool is the pool that it lies in, the zero Prefix where it lies in none;
	// Retired and Drain are the pool's, and Range is the exclude or reserve of
	// it that the address lies in, "FROM-TO".
	Pool           netip.Prefix
	Retired, Drain bool
	Range          string
	// Owner has the address, or had it last; the zero Key: nobody is known. Row
	// is Owner's, if the address is live.
	Owner vip.Key
	Row   *vip.Row
	// Since is when it came to Owner, or since when that has it no more, if that
	// is known.
	Since time.Time
	// Cooldown is what is left of its cooldown, or quarantine, on the table's
	// clock, and Mesh the last mesh that listed Owner, of an address that was
	// given back.
	Cooldown time.Duration
	Mesh     string
	// Static is the entry that the layout keeps it for, if any.
	Static vip.Key
	// Given counts the entries that Kuma gave it to.
	Given int
}

// Address returns what the table knows of addr. Its cost does not depend on the
// table.
func (a *Allocator) Address(addr netip.Addr) AddrState {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.address(addr)
}

func (a *Allocator) address(addr netip.Addr) AddrState {
	s := AddrState{Addr: addr, Status: AddrFree, Given: a.t.given[addr], Static: a.t.staticOf[addr]}
	where := a.locate(&s)
	h, had := a.t.released.byAddr[addr]
	if had {
		s.Owner, s.Mesh = h.Owner, h.Mesh
		if h.Released {
			s.Cooldown = max(h.At+a.cfg.Cooldown-a.clock(), 0)
			s.Since = a.wall(h.At)
		}
		if h.Since != 0 {
			s.Since = time.Unix(h.Since, 0)
		}
	}
	now, live := a.t.live[addr]
	_, unreadable := a.t.reserved[addr]
	until, isQuarantined := a.t.quarantined(addr)
	isQuarantined = isQuarantined && until > a.clock()
	switch {
	case live:
		s.Status, s.Owner, s.Row = AddrLive, now.row.Key(), now.row
		s.Since, s.Cooldown, s.Mesh = time.Time{}, 0, ""
		if now.since != 0 {
			s.Since = time.Unix(now.since, 0)
		}
	case unreadable:
		s.Status = AddrUnreadable
	case had && !h.Released:
		s.Status = AddrAside
	case had && s.Cooldown > 0:
		s.Status = AddrCooling
	case s.Given > 0:
		s.Status = AddrGiven
	case isQuarantined && (where == AddrFree || where == AddrReserved):
		s.Status, s.Cooldown = AddrQuarantined, until-a.clock()
	case where != AddrFree:
		s.Status = where
	case had:
		s.Status = AddrPast
	}
	return s
}

// locate notes in which pool an address lies, and returns what it is by that
// alone.
func (a *Allocator) locate(s *AddrState) AddrStatus {
	i := a.t.spaceAt(s.Addr)
	if i < 0 {
		return AddrOutside
	}
	space, pool := &a.t.spaces[i], a.t.meta.Pools[i]
	s.Pool, s.Retired, s.Drain = space.prefix, pool.Retired, space.closed && !pool.Retired
	first, last := Usable(space.prefix)
	switch {
	case s.Addr.Less(first):
		return AddrNetwork
	case last.Less(s.Addr):
		return AddrBroadcast
	}
	if r, ok := within(space.exclude, s.Addr); ok {
		s.Range = r.String()
		return AddrExcluded
	}
	if r, ok := within(space.reserve, s.Addr); ok {
		s.Range = r.String()
		return AddrReserved
	}
	return AddrFree
}

// wall returns the wall clock at a time of the table's clock, if the table has
// been running since.
func (a *Allocator) wall(at time.Duration) time.Time {
	if at <= a.base {
		return time.Time{}
	}
	return a.cfg.Now().Add(at - a.clock())
}

// EntryState is what the table knows of one entry.
type EntryState struct {
	Line
	// Held says of each of the row's addresses, the table's before Kuma's, how
	// the entry has it.
	Held []HeldAddr
	// Past are the addresses that it gave back and that nobody has taken since,
	// the last one first: what it gets back.
	Past []AddrState
	// Waits says why it lacks an address, Refused why it does not have a static
	// one.
	Waits, Refused []Want
	// Holds are the meshes that no longer list it, and whose release is held,
	// without entries.
	Holds []Hold
	// Plan is the name of the plan of moves that waits, if it concerns the entry,
	// Moves and Stuck are its part in it.
	Plan         string
	Moves, Stuck []Move
}

// HeldAddr is an address that an entry has, and how.
type HeldAddr struct {
	AddrState
	// Given: Kuma gave it. Layout or Tag: it is the entry's static address, by
	// the layout or by a mesh's word.
	Given, Layout, Tag bool
	// Misplaced says why the entry should not have it, empty if it may.
	Misplaced string
}

// Entry returns what the table knows of the entry of key, and whether it has a
// row or is remembered to have had an address. Its cost is that of the answer.
func (a *Allocator) Entry(key vip.Key) (s EntryState, known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for addr := range a.t.released.of(key) {
		s.Past = append(s.Past, a.address(addr))
	}
	row := a.t.rows[key]
	if row == nil {
		s.Row = &vip.Row{Entry: vip.Entry(key)}
		return s, len(s.Past) > 0
	}
	s.Line = a.line(row)
	for _, addr := range row.Addrs() {
		s.Held = append(s.Held, a.heldAddr(key, row, addr))
	}
	for _, addr := range row.Given() {
		s.Held = append(s.Held, HeldAddr{AddrState: a.address(addr), Given: true})
	}
	for _, v4 := range []bool{true, false} {
		if a.t.waiting(v4).has(key) {
			s.Waits = append(s.Waits, a.waits(key, v4))
		}
		if why := a.notes[seat{key, v4}]; why != "" {
			s.Refused = append(s.Refused, a.refusal(seat{key, v4}, why))
		}
	}
	for _, l := range row.Listings {
		if h := a.held[l.Mesh]; h != nil {
			if _, held := h.keys[key]; held {
				s.Holds = append(s.Holds, Hold{Name: h.name(l.Mesh, sortedKeys(h.keys)), Mesh: l.Mesh, Gone: h.gone, Reason: a.reasons[l.Mesh]})
			}
		}
	}
	s.Moves, s.Stuck = ofKey(a.moves.List, key), ofKey(a.moves.Stuck, key)
	if len(s.Moves)+len(s.Stuck) > 0 {
		s.Plan = a.moves.Name
	}
	return s, true
}

func (a *Allocator) heldAddr(key vip.Key, row *vip.Row, addr netip.Addr) HeldAddr {
	h := HeldAddr{AddrState: a.address(addr)}
	if a.t.static(key, row, addr.Is4()) == addr {
		h.Layout = a.t.staticOf[addr] == key
		h.Tag = !h.Layout
	}
	if _, frozen := a.t.frozen[key]; frozen {
		h.Misplaced = "the table breaks invariants, and the entry shares the address: a repair is due"
	} else {
		h.Misplaced = a.t.misplaced(key, row, addr)
	}
	return h
}

// ofKey returns those of moves that are key's. They are sorted by key.
func ofKey(moves []Move, key vip.Key) []Move {
	i, _ := slices.BinarySearchFunc(moves, key, func(m Move, k vip.Key) int { return m.Key.Compare(k) })
	j := i
	for j < len(moves) && moves[j].Key == key {
		j++
	}
	return slices.Clone(moves[i:j])
}

// Entries returns the entries of all kinds, of services, hosts and fqdns and of
// those that mesh has, that may be meant by a bare name.
func (a *Allocator) Entries(name string, meshes ...string) []vip.Key {
	a.mu.Lock()
	defer a.mu.Unlock()
	var keys []vip.Key
	add := func(e vip.Entry) {
		if key := e.Key(); a.t.rows[key] != nil {
			keys = append(keys, key)
		}
	}
	if strings.TrimSpace(name) == "" {
		return nil
	}
	for kind := vip.Service; kind.Valid(); kind++ {
		if !kind.OfMesh() {
			add(vip.Entry{Kind: kind, Name: name})
			continue
		}
		for _, mesh := range meshes {
			add(vip.Entry{Kind: kind, Mesh: mesh, Name: name})
		}
	}
	return keys
}
