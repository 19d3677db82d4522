package watcher_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
	"pgregory.net/rapid"
)

// byValue compares addresses, whose fields are private, and lists by what they
// hold.
var byValue = cmp.Options{cmp.Comparer(func(a, b netip.Addr) bool { return a == b }), cmpopts.EquateEmpty()}

// table is what each mesh lists, as a receiver of batches keeps it.
type table map[string]map[vip.Key]vip.Request

// apply applies b to t, and fails if b says anything that t says already.
func (t table) apply(rt *rapid.T, b vip.Batch) {
	if b.Full {
		clear(t)
	}
	for i, u := range b.Meshes {
		if i > 0 && b.Meshes[i-1].Mesh >= u.Mesh {
			rt.Fatalf("meshes out of order: %v", b)
		}
		if u.Gone {
			if t[u.Mesh] == nil {
				rt.Fatalf("mesh %s goes, but was not there", u.Mesh)
			}
			delete(t, u.Mesh)
			continue
		}
		m, isNew := t[u.Mesh], t[u.Mesh] == nil
		if isNew {
			m = make(map[vip.Key]vip.Request)
			t[u.Mesh] = m
		} else if len(u.Set)+len(u.Drop) == 0 {
			rt.Fatalf("an update of %s says nothing", u.Mesh)
		}
		if !slices.IsSortedFunc(u.Set, func(a, b vip.Request) int { return a.Entry.Key().Compare(b.Entry.Key()) }) || !slices.IsSortedFunc(u.Drop, vip.Key.Compare) {
			rt.Fatalf("an update is out of order: %v", u)
		}
		for _, r := range u.Set {
			if old, ok := m[r.Entry.Key()]; ok && cmp.Equal(old, r, byValue) {
				rt.Fatalf("%v is set again without change", r)
			}
			m[r.Entry.Key()] = r
		}
		for _, k := range u.Drop {
			if _, ok := m[k]; !ok {
				rt.Fatalf("%v is dropped, but was not there", k)
			}
			delete(m, k)
		}
	}
}

// expected works the desired state out from scratch, the slow and obvious way.
func expected(places map[string][]watcher.Resource) table {
	names := make([]string, 0, len(places))
	for name := range places {
		names = append(names, name)
	}
	slices.Sort(names)
	active := map[kuma.ID]watcher.Resource{}
	t := table{vip.DefaultMesh: {}}
	asked := map[string][]*vip.Terms{}
	for _, name := range names {
		for _, r := range places[name] {
			if _, ok := active[r.ID]; !ok {
				active[r.ID] = r
			}
			if r.Type == kuma.TypeMesh && t[r.Name] == nil {
				t[r.Name] = map[vip.Key]vip.Request{}
			}
		}
	}
	claims := given(active, t)
	for _, r := range active {
		claims = append(claims, r.Claims...)
	}
	for _, c := range claims {
		m := t[c.Mesh]
		if m == nil {
			continue
		}
		key := c.Entry.Key()
		q, ok := m[key]
		if !ok || c.Entry.Name < q.Entry.Name {
			q.Entry = c.Entry
		}
		q.Outbounds = append(slices.Clone(q.Outbounds), c.Outbounds...)
		if c.Terms != nil {
			asked[c.Mesh+" "+key.String()] = append(asked[c.Mesh+" "+key.String()], c.Terms)
		}
		m[key] = q
	}
	for mesh, m := range t {
		for key, q := range m {
			q.Terms = merged(asked[mesh+" "+key.String()])
			slices.SortFunc(q.Outbounds, vip.Outbound.Compare)
			q.Outbounds = slices.CompactFunc(q.Outbounds, vip.Outbound.Equal)
			if key.Kind == vip.Host {
				q.Outbounds = slices.CompactFunc(q.Outbounds, func(a, b vip.Outbound) bool { return a.Port == b.Port })
			}
			if key.Kind == vip.FQDN {
				q.Outbounds = slices.DeleteFunc(q.Outbounds, func(o vip.Outbound) bool {
					return strings.HasPrefix(o.Origin, "mesh-gateway:") && slices.ContainsFunc(q.Outbounds, func(p vip.Outbound) bool {
						return p.Port == o.Port && strings.HasPrefix(p.Origin, "virtual-outbound:")
					})
				})
			}
			m[key] = q
		}
	}
	return t
}

// merged is what ts ask for in all, told plainly; nil where that is nothing.
func merged(ts []*vip.Terms) *vip.Terms {
	if len(ts) == 0 {
		return nil
	}
	all := new(vip.Terms)
	for _, v4 := range []bool{true, false} {
		var smallest netip.Addr
		for _, t := range ts {
			for _, a := range t.Static {
				if a.Is4() == v4 && (!smallest.IsValid() || a.Less(smallest)) {
					smallest = a
				}
			}
		}
		if smallest.IsValid() {
			all.Static = append(all.Static, smallest)
		}
	}
	slices.SortFunc(ts, kuma.CompareTerms)
	for _, t := range ts {
		for _, a := range t.Given {
			if !slices.Contains(all.Given, a) {
				all.Given = append(all.Given, a)
			}
		}
		for _, h := range t.Hostnames {
			if !slices.ContainsFunc(all.Hostnames, func(g string) bool { return strings.EqualFold(g, h) }) {
				all.Hostnames = append(all.Hostnames, h)
			}
		}
	}
	slices.SortFunc(all.Given, netip.Addr.Compare)
	return all
}

// anyResource draws from a small world, so that things meet.
var anyResource = rapid.Custom(func(t *rapid.T) watcher.Resource {
	mesh := rapid.SampledFrom([]string{"default", "m", "n"}).Draw(t, "mesh")
	name := rapid.SampledFrom([]string{"p", "q", "r"}).Draw(t, "name")
	service := rapid.SampledFrom([]string{"a", "A", "b", "c"})
	switch rapid.IntRange(0, 7).Draw(t, "type") {
	case 0:
		return meshNamed(mesh)
	case 5, 6, 7:
		return anyPolicy(t, mesh, name)
	case 1:
		dp := kuma.Dataplane{}
		for range rapid.IntRange(0, 3).Draw(t, "inbounds") {
			dp.Inbound = append(dp.Inbound, kuma.Inbound{Port: 80, Service: service.Draw(t, "service"), Tags: anyTags.Draw(t, "tags"), Static: anyStatic.Draw(t, "static")})
		}
		return resource(kuma.TypeDataplane, mesh, name, dp)
	case 2:
		return resource(kuma.TypeZoneIngress, "", name, kuma.ZoneIngress{Zone: "east", Available: []kuma.AvailableService{
			{Mesh: mesh, Service: service.Draw(t, "service"), Tags: anyTags.Draw(t, "tags")}, {Mesh: "m", Service: service.Draw(t, "other")},
		}})
	case 3:
		d := kuma.Destination{Kind: rapid.SampledFrom([]vip.Kind{vip.MeshService, vip.MeshExternalService, vip.MeshMultiZoneService}).Draw(t, "kind")}
		d.Ports = rapid.SampledFrom([][]uint16{nil, {80}, {80, 81}}).Draw(t, "ports")
		d.Hostnames = rapid.SampledFrom([][]string{nil, {"a.b"}, {"c.d", "A.B"}}).Draw(t, "hostnames")
		for _, a := range rapid.SampledFrom([][]string{nil, {"241.0.0.1"}, {"10.0.0.1", "241.0.0.1", "fd00::1"}}).Draw(t, "given") {
			d.Given = append(d.Given, netip.MustParseAddr(a))
		}
		if rapid.Bool().Draw(t, "upper") { // one key, then, with two resources
			name = strings.ToUpper(name)
		}
		return resource(d.Kind.String(), mesh, name, d)
	default:
		return resource(kuma.TypeExternalService, mesh, name, kuma.ExternalService{
			Service: service.Draw(t, "service"),
			Static:  anyStatic.Draw(t, "static"),
			Host:    rapid.SampledFrom([]string{"h", "H", "i"}).Draw(t, "host"),
			Port:    uint16(rapid.IntRange(1, 2).Draw(t, "port")),
		})
	}
})

var anyStatic = rapid.Custom(func(t *rapid.T) netip.Addr {
	a, _ := netip.ParseAddr(rapid.SampledFrom([]string{"", "", "", "240.0.0.9", "240.0.0.10", "fd00::9", "fd00::10"}).Draw(t, "address"))
	return a
})

func TestBatchesAddUpToWhatAFreshReadingGives(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sequence(t, nil, []string{"1", "2", "3"}, rapid.SliceOfN(anyResource, 0, 4))
	})
}

// sequence puts resources to places, one after the other, and compares the sum of
// the batches with what the places have in the end, read afresh. The places of
// full have some at the beginning.
func sequence(t *rapid.T, full, all []string, resources *rapid.Generator[[]watcher.Resource]) {
	d := watcher.NewDesired()
	places := map[string][]watcher.Resource{}
	got := table{}
	for _, at := range full {
		places[at] = resources.Draw(t, "resources")
		d.Put(at, places[at])
	}
	got.apply(t, d.All())
	for range rapid.IntRange(1, 30).Draw(t, "steps") {
		at := rapid.SampledFrom(all).Draw(t, "place")
		rs := resources.Draw(t, "resources")
		d.Put(at, rs)
		places[at] = rs
		switch rapid.IntRange(0, 3).Draw(t, "take") {
		case 0:
			continue
		case 1:
			got.apply(t, d.All())
		default:
			got.apply(t, d.Changes())
		}
		want := expected(places)
		if diff := cmp.Diff(want, got, byValue); diff != "" {
			t.Fatalf("want -, got +:\n%s", diff)
		}
		fresh := watcher.NewDesired()
		for name, rs := range places {
			fresh.Put(name, rs)
		}
		// Which place named a waiting mesh first is history.
		clean := func(ps []watcher.Problem) []string {
			var s []string
			for _, p := range ps {
				what, _, _ := strings.Cut(p.What, "(first seen in")
				s = append(s, p.Place+" "+what)
			}
			return s
		}
		if diff := cmp.Diff(clean(fresh.Problems()), clean(d.Problems())); diff != "" {
			t.Fatalf("problems, want -, got +:\n%s", diff)
		}
	}
}
