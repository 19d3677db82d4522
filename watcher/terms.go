package watcher

import (
	"net/netip"
	"slices"

	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
)

// asked is what resources ask of one entry in one mesh beside its outbounds. A
// nil asked is that of most entries: nothing.
type asked struct {
	// statics has for each static address which resources ask for it, and how
	// many times.
	statics map[netip.Addr]map[kuma.ID]int
	// told are terms with given addresses or hostnames, or that follow, sorted.
	told []counted[*vip.Terms]
}

func (a *asked) empty() bool { return len(a.statics)+len(a.told) == 0 }

func (a *asked) add(id kuma.ID, t *vip.Terms) {
	for _, addr := range t.Static {
		if a.statics == nil {
			a.statics = make(map[netip.Addr]map[kuma.ID]int)
		}
		if a.statics[addr] == nil {
			a.statics[addr] = make(map[kuma.ID]int)
		}
		a.statics[addr][id]++
	}
	if len(t.Given)+len(t.Hostnames) > 0 || t.Follow {
		a.told = add(a.told, t, kuma.CompareTerms)
	}
}

func (a *asked) sub(id kuma.ID, t *vip.Terms) {
	for _, addr := range t.Static {
		ids := a.statics[addr]
		if ids[id]--; ids[id] == 0 {
			delete(ids, id)
		}
		if len(ids) == 0 {
			delete(a.statics, addr)
		}
	}
	if len(t.Given)+len(t.Hostnames) > 0 || t.Follow {
		a.told = sub(a.told, t, kuma.CompareTerms)
	}
}

// of returns the static addresses of a family, sorted. The first one counts.
func (a *asked) of(v4 bool) []netip.Addr {
	if a == nil {
		return nil
	}
	var addrs []netip.Addr
	for addr := range a.statics {
		if addr.Is4() == v4 {
			addrs = append(addrs, addr)
		}
	}
	slices.SortFunc(addrs, netip.Addr.Compare)
	return addrs
}

// by returns the first resource that asks for a static address, and whether
// others do too.
func (a *asked) by(addr netip.Addr) (first kuma.ID, others bool) {
	ids := a.statics[addr]
	for id := range ids {
		if first == (kuma.ID{}) || id.Compare(first) < 0 {
			first = id
		}
	}
	return first, len(ids) > 1
}

// clashes reports whether a static address does not count because of another.
func (a *asked) clashes() bool {
	return a != nil && len(a.statics) > 1 && (len(a.of(true)) > 1 || len(a.of(false)) > 1)
}

// merged returns what is asked for in all, nil where that is nothing: of static
// addresses the smallest of each family, and all given addresses and hostnames.
func (a *asked) merged() *vip.Terms {
	switch {
	case a == nil:
		return nil
	case len(a.statics) == 0 && len(a.told) == 1:
		return a.told[0].value // the usual case, and terms are immutable
	}
	t := new(vip.Terms)
	for _, v4 := range []bool{true, false} {
		if addrs := a.of(v4); len(addrs) > 0 {
			t.Static = append(t.Static, addrs[0])
		}
	}
	folded := make(map[string]struct{})
	for _, c := range a.told {
		t.Given = append(t.Given, c.value.Given...)
		t.Follow = t.Follow || c.value.Follow
		for _, name := range c.value.Hostnames {
			fold := vip.Fold(name)
			if _, twice := folded[fold]; !twice {
				folded[fold] = struct{}{}
				t.Hostnames = append(t.Hostnames, name)
			}
		}
	}
	slices.SortFunc(t.Given, netip.Addr.Compare)
	t.Given = slices.Compact(t.Given)
	return t
}
