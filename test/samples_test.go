package test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

// samplesVar names the directory with resources, tables and API answers that
// come from Kuma itself.
const samplesVar = "MESHVIP_KUMA_SAMPLES"

// sampleEntries is what the resources in the samples ask for, mesh by mesh,
// as read by eye. Meshes mesh-4 and mesh-5 are declared by the test.
var sampleEntries = map[string][]string{
	"default": {
		"0:mobile", "0:metrics", "0:web", "0:frontend", "0:backend", // inbounds, and two ExternalServices
		"0:service-in-zone-1", "0:service-in-zone-2", "0:external-service-in-zone-2", // ingresses of other zones
		"0:external-service-1", "1:host.com",
		"0:external-service-zone-1", "1:example.com",
	},
	"mesh-1": {
		"0:foo",                                    // an ingress that is itself of no mesh
		"0:service-1-zone-2", "0:service-2-zone-2", // another
		"0:externalservice-1", "1:kuma.io",
		"0:externalservice-2", "1:httpbin.io",
	},
	"mesh-2": {},
	"mesh-3": {"0:svc-2"},
	"mesh-4": {"0:svc-3"},
	"mesh-5": {"0:svc-4"},
	"mesh1":  {},
	"mesh2":  {},
}

// sampleNothing are names that the samples mention and that get no VIP.
var sampleNothing = []string{
	"svc-1.mesh",                        // only an ingress that names no zone lists it
	"postgres.mesh",                     // an outbound
	"service-1.mesh", "experiment.mesh", // Dataplanes' own names
	"zone-egress-1.mesh", "sample.mesh", // a ZoneEgress, a Secret
	"127.0.0.1.mesh", "one.one.one.mesh", // addresses
	"allow-all-traffic.mesh", "mesh1.mesh", // a policy, a Mesh
}

func TestKumasOwnResourcesAreServedAsTheyAre(t *testing.T) {
	t.Parallel()
	samples := os.Getenv(samplesVar)
	if samples == "" {
		t.Skipf("%s does not name the directory with Kuma's own files", samplesVar)
	}
	p := newSite(t)
	// The hosts of the samples answer as themselves where a zone covers them.
	p.zones = "mesh host.com example.com kuma.io httpbin.io 240.0.0.0/8"
	copyTree(t, filepath.Join(samples, "resources"), p.resources)
	s := p.start()
	for _, mesh := range []string{"mesh-4", "mesh-5"} {
		s.logLine("the mesh is not declared", "zone-ingresses.yaml:21", "name: "+mesh)
	}
	s.logLine(`ZoneIngress "ingress-zone-1" names no zone`, "zone-ingresses.yaml:1")
	s.resolves("mobile.mesh") // what is known to be missing is so from now on
	for _, waiting := range []string{"svc-3.mesh", "svc-4.mesh"} {
		if rcode := s.rcode(waiting); rcode != "NXDOMAIN" {
			t.Errorf("%s of a mesh that is not declared: %s, want NXDOMAIN", waiting, rcode)
		}
	}

	write(t, p.resources, "declared.yaml", "type: Mesh\nname: mesh-4\n---\ntype: Mesh\nname: mesh-5\n")
	got := s.resolveAll(nameable(sampleEntries)...)
	for name, addr := range got {
		if ptr := s.ptr(addr); ptr != name+"." {
			t.Errorf("the name of %v is %q, want that of %s", addr, ptr, name)
		}
		if upper := s.addr4(strings.ToUpper(name)); upper != addr {
			t.Errorf("%s in capitals has %v, want %v", name, upper, addr)
		}
	}
	for _, n := range sampleNothing {
		if r := s.ask(n, dns.TypeA); len(r.Answer) > 0 {
			t.Errorf("%s counts for nothing, but is answered: %v", n, r.Answer)
		}
	}
	for mesh, entries := range sampleEntries {
		s.wait("the table of "+mesh, func() bool {
			table := p.table(mesh)
			return table != nil && len(table) >= len(entries)
		})
		want := make(map[string]string, len(entries))
		for _, e := range entries {
			want[e] = got[nameOf(e)].String()
		}
		if table := p.table(mesh); !maps.Equal(table, want) {
			t.Errorf("the published table of %s is %v, want %v", mesh, table, want)
		}
	}
	p.stopAndCompare(s, got)
}

// nameOf returns the name in zone mesh, or its own, of an entry in Kuma's text
// form, in the spelling that its PTR has.
func nameOf(entry string) string {
	kind, name, _ := strings.Cut(entry, ":")
	if kind == "0" {
		return strings.ReplaceAll(name, "_", ".") + ".mesh"
	}
	return name
}

// nameable returns the names of all entries of some meshes, none twice.
func nameable(meshes map[string][]string) []string {
	var names []string
	for _, entries := range meshes {
		for _, e := range entries {
			names = append(names, nameOf(e))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// stopAndCompare ends the server and checks that the table it leaves has just
// the answers that it gave.
func (p *site) stopAndCompare(s *server, got answers) {
	p.t.Helper()
	s.stop()
	state := verify(p.t, p.store)
	for _, r := range state.Rows {
		if name := nameOf(r.Entry.String()); got[name] != r.V4 {
			p.t.Errorf("the table has %v for %s, which was answered with %v", r.V4, name, got[name])
		}
	}
	if len(state.Rows) != len(got) {
		p.t.Errorf("the table has %d entries, and %d names were answered", len(state.Rows), len(got))
	}
}
