package allocator

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
)

// Want is an address that an entry is to have and does not have, and why not.
type Want struct {
	Key vip.Key
	V4  bool
	// Static is the address that it is to have, the zero Addr if any will do.
	Static netip.Addr
	Why    string
}

// Waiting returns the first entries that lack an address, v4 first, by key, and
// how many there are in all. One that lacks one of each family counts twice.
func (a *Allocator) Waiting(limit int) (list []Want, total int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, v4 := range []bool{true, false} {
		w := a.t.waiting(v4)
		total += w.len()
		w.keys.Ascend(func(key vip.Key) bool {
			if len(list) >= limit {
				return false
			}
			list = append(list, a.waits(key, v4))
			return true
		})
	}
	return list, total
}

// waits says why the entry of key, which waits for an address of a family, does.
func (a *Allocator) waits(key vip.Key, v4 bool) Want {
	w := Want{Key: key, V4: v4, Static: a.t.static(key, a.t.rows[key], v4)}
	family := "IPv6"
	if v4 {
		family = "IPv4"
	}
	if w.Why = a.notes[seat{key, v4}]; w.Why == "" || w.Static.IsValid() && !strings.Contains(w.Why, "is waited for") {
		w.Why = "the " + family + " pools have no address for it: add a pool, or release entries and wait for the cooldown"
	}
	return w
}

// Refused returns the first entries that do not have their static address, by
// key, and how many there are in all.
func (a *Allocator) Refused(limit int) (list []Want, total int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	seats := slices.SortedFunc(maps.Keys(a.notes), func(x, y seat) int {
		return cmp.Or(x.key.Compare(y.key), compareFamily(x.v4, y.v4))
	})
	for _, s := range seats[:min(limit, len(seats))] {
		list = append(list, a.refusal(s, a.notes[s]))
	}
	return list, len(seats)
}

func (a *Allocator) refusal(s seat, why string) Want {
	return Want{Key: s.key, V4: s.v4, Static: a.t.static(s.key, a.t.rows[s.key], s.v4), Why: why}
}

// compareFamily puts v4 first.
func compareFamily(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// Damaged returns the records that could not be read when the store was opened.
func (a *Allocator) Damaged() []Damage {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.damaged)
}

// Incomplete says what of the sources could not be read, of the last batch;
// empty where all could.
func (a *Allocator) Incomplete() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.incomplete
}
