package test

import (
	"strings"
	"testing"
)

// exampleEntries is what examples/resources ask for, mesh by mesh, as read by
// eye.
var exampleEntries = map[string][]string{
	"default": {
		"0:web", "0:backend", "0:backend-metrics", "0:catalogue", "0:search", "0:basket-cache", "0:reviews",
		"0:backend_kuma-demo_svc_5678", "0:frontend_kuma-demo_svc_8080", "0:frontend_kuma-demo_svc_9090",
		"0:postgres_kuma-demo_svc_5432",
		"0:maps", "1:tiles.mapwright.example", "0:newsletter", "0:recommendations",
	},
	"payments": {
		"0:backend", "0:ledger", "0:fraud-check", "0:refunds", "0:invoices",
		"0:card-charges", "0:card-webhooks", "1:api.cardworks.example", "0:bank-gateway", "0:exchange-rates",
	},
	"warehouse": {
		"0:stock", "0:stock-events", "0:picking", "0:packing", "0:label-printer", "0:carrier-rates",
		"0:returns", "0:stock_north-depot_svc_6000",
	},
}

// exampleNames are the names of all entries of the examples that lie in the
// zone mesh.
func exampleNames() []string {
	var names []string
	for _, n := range nameable(exampleEntries) {
		if strings.HasSuffix(n, ".mesh") {
			names = append(names, n)
		}
	}
	return names
}

func TestBothSpellingsOfANameHaveItsAddress(t *testing.T) {
	t.Parallel()
	p := exampleSite(t)
	p.zones = "mesh tiles.mapwright.example api.cardworks.example 240.0.0.0/8"
	s := p.start()
	got := s.resolveAll(nameable(exampleEntries)...)
	underscored := 0
	for _, entries := range exampleEntries {
		for _, e := range entries {
			name := nameOf(e)
			if ptr := s.ptr(got[name]); ptr != name+"." {
				t.Errorf("the name of %v is %q, want that of %s", got[name], ptr, name)
			}
			literal, isService := strings.CutPrefix(e, "0:")
			if !isService || !strings.Contains(literal, "_") {
				continue
			}
			underscored++
			if addr := s.addr4(literal + ".mesh"); addr != got[name] {
				t.Errorf("%s has %v, and %s has %v", literal, addr, name, got[name])
			}
		}
	}
	if underscored != 5 {
		t.Errorf("compared %d names in both spellings, want 5", underscored)
	}
	for _, n := range []string{"legacy-admin.mesh", "nightly-report_kuma-demo_svc.mesh", "gift-wrap.mesh"} {
		if rcode := s.rcode(n); rcode != "NXDOMAIN" {
			t.Errorf("%s counts for nothing: %s, want NXDOMAIN", n, rcode)
		}
	}
	p.stopAndCompare(s, got)
}
