package names

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/meshvip/coredns-meshvip/vip"
)

func TestAnEntryTellsWhatBecameOfEachName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 64)
	service := row(t, "0:a_b", "240.0.0.1")
	host := row(t, "1:a.b.mesh", "240.0.0.2")
	fqdn := row(t, "2:a.b.mesh", "240.0.0.3")
	literal := row(t, "0:a.b", "240.0.0.4")
	east, west := told(t, "3:east/s", "s.mesh s.east.mesh", "10.0.0.1"), told(t, "3:west/s", "s.mesh "+long+".mesh", "10.0.0.2")
	other := told(t, "4:west/s", "s.mesh", "10.0.0.3")
	reserved := row(t, "2:ns.dns.mesh", "240.0.0.5")
	waits := row(t, "0:a_b_c", "")
	unknown := row(t, "0:new", "240.0.0.9")
	x, _ := indexOf(t, service, host, fqdn, literal, east, west, other, reserved)
	x.SetZones([]string{"mesh.", "other.", "."})
	const meshes = "where the meshes of both are shown, the smaller key comes first"
	for _, c := range []struct {
		row  *vip.Row
		want []Name
	}{
		{service, []Name{
			{Name: "a_b", Relative: true, Has: true},
			{Name: "a.b", Relative: true, Winner: literal.Entry, Why: "a literal name comes before a dotted spelling"},
		}},
		{literal, []Name{
			{Name: "a.b", Relative: true, Has: true},
			{Name: "a.b.mesh.", Winner: fqdn.Entry, Why: "a host or an fqdn comes before a service"},
		}},
		{host, []Name{{Name: "a.b.mesh.", Winner: fqdn.Entry, Why: "an fqdn comes before a host"}}},
		{fqdn, []Name{{Name: "a.b.mesh.", Has: true}}},
		{east, []Name{{Name: "s.mesh.", Has: true}, {Name: "s.east.mesh.", Has: true}}},
		{west, []Name{
			{Name: "s.mesh.", Winner: east.Entry, Local: true, Why: meshes},
			{Name: long + ".mesh", Why: "DNS cannot carry the name: it has a label of 64 octets, and DNS carries 63"},
		}},
		{other, []Name{{Name: "s.mesh.", Winner: east.Entry, Why: meshes}}},
		{reserved, []Name{{Name: "ns.dns.mesh.", Why: "the name is reserved for the zone's name server"}}},
		{waits, []Name{
			{Name: "a_b_c", Relative: true, Why: "the entry has no address yet, and claims no name without one"},
			{Name: "a.b.c", Relative: true, Why: "the entry has no address yet, and claims no name without one"},
		}},
		{unknown, []Name{{Name: "new", Relative: true, Why: "the index does not have the entry"}}},
	} {
		if diff := cmp.Diff(c.want, x.Names(c.row)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.row.Entry, diff)
		}
	}
}

func TestANameTellsWhoClaimsIt(t *testing.T) {
	t.Parallel()
	service, literal := row(t, "0:s_t", "240.0.0.1"), row(t, "0:s.t", "240.0.0.2")
	east, west := told(t, "3:east/s", "s.t.mesh", "10.0.0.1"), told(t, "3:west/s", "s.t.mesh", "10.0.0.2")
	ns := row(t, "0:ns_dns", "240.0.0.3")
	x, _ := indexOf(t, service, literal, east, west, ns)
	x.SetZones([]string{"mesh.", "other."})
	const absolute = "a host or an fqdn comes before a service"
	for _, c := range []struct {
		name, zone string
		want       []Claimant
	}{
		{"s.t.mesh.", "", []Claimant{
			{Entry: east.Entry, Has: true},
			{Entry: west.Entry, Local: true, Why: "where the meshes of both are shown, the smaller key comes first"},
			{Entry: literal.Entry, Why: absolute},
			{Entry: service.Entry, Why: absolute},
		}},
		{"s.t.other.", "other.", []Claimant{
			{Entry: literal.Entry, Has: true},
			{Entry: service.Entry, Why: "a literal name comes before a dotted spelling"},
		}},
		{"ns.dns.mesh.", "mesh.", []Claimant{{Has: true}, {Entry: ns.Entry, Why: "the name is reserved for the zone's name server"}}},
		{"mesh.", "mesh.", nil},
		{"nobody.mesh.", "mesh.", nil},
		{"s.t.elsewhere.", "", nil},
	} {
		if diff := cmp.Diff(c.want, x.Claimants(c.name, c.zone)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// checkExplained compares what the index explains with the oracle.
func (m *model) checkExplained(t *rapid.T) {
	claims := m.o.claims()
	for _, row := range m.o.rows {
		want := m.o.claimsBy(row)
		for _, n := range m.x.Names(row) {
			c, claimed := want[n.Name]
			switch {
			case !claimed:
				if n.Has || n.Why == "" {
					t.Fatalf("%v does not claim %+v", row.Entry, n)
				}
				continue
			case n.Has != (m.owners[n.Name] == row), n.Has == (n.Why != ""), n.Relative == strings.HasSuffix(n.Name, "."):
				t.Fatalf("%v: %+v, and the owner is %v", row.Entry, n, m.owners[n.Name])
			case !n.Has && m.owners[n.Name] != nil && n.Winner != m.owners[n.Name].Entry:
				t.Fatalf("%v: %+v, and the winner is %v", row.Entry, n, m.owners[n.Name].Entry)
			case n.Local != (!n.Has && c.order == 0 && row.Entry.Kind.OfMesh() && m.o.ownersFor([]string{row.Entry.Mesh})[n.Name] == row):
				t.Fatalf("%v: %+v in the view of its mesh", row.Entry, n)
			}
			delete(want, n.Name)
		}
		if len(want) > 0 {
			t.Fatalf("%v does not tell of %v", row.Entry, want)
		}
	}
	for _, zone := range m.o.zones {
		for _, name := range inZone(m.owners, zone) {
			var got, want []string
			if m.o.reserved(name) {
				want = append(want, "0:")
			}
			all := claims[name]
			if rel, ok := strings.CutSuffix(name, "."+zone); ok && zone != "." {
				all = append(slices.Clone(all), claims[rel]...)
			}
			for _, c := range all {
				want = append(want, c.row.Entry.String())
			}
			for i, c := range m.x.Claimants(name, zone) {
				got = append(got, c.Entry.String())
				if c.Has != (i == 0) || c.Has == (c.Why != "") {
					t.Fatalf("claimant %d of %s: %+v", i, name, c)
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%s in %s is claimed by %q, want %q", name, zone, got, want)
			}
		}
	}
}
