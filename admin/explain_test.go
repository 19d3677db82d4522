package admin_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/admin"
	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
)

// explained is a rig in which all is there that can be explained.
func explained(t *testing.T) *rig {
	r := newRig(t, func(c *allocator.Config) {
		c.Layout.Pools[0].Exclude, c.Layout.Pools[0].Reserve = ranges("240.0.0.100-240.0.0.109"), ranges("240.0.0.200-240.0.0.209")
		c.Layout.Statics = []allocator.Static{{Key: vip.Key{Name: "db"}, Addr: addr("240.0.0.9")}, {Key: vip.Key{Name: "later"}, Addr: addr("240.0.0.10")}}
	})
	tagged := set("m", "0:tagged").Set[0]
	tagged.Terms = &vip.Terms{Static: []netip.Addr{addr("240.0.0.201")}}
	m := set("m", "0:db", "0:web", "0:a_b", "0:a.b", "2:a.b.mesh", "1:httpbin.org", "0:old")
	m.Set = append(m.Set, tagged, given("3:m/api", "api.vip.test", "241.0.0.1"), given("3:m/twin", "twin.vip.test", "241.0.0.1"))
	r.apply(full(m, set("n", "0:WEB")))
	r.apply(part(drop("m", "0:old")))
	return r
}

func TestAnAddressIsExplained(t *testing.T) {
	t.Parallel()
	r := explained(t)
	for q, want := range map[string]string{
		"240.0.0.9":               "live 240.0.0.0/24 of 0:db; entries 0:db",
		"9.0.0.240.in-addr.arpa.": "live 240.0.0.0/24 of 0:db; entries 0:db",
		"::ffff:240.0.0.9":        "live 240.0.0.0/24 of 0:db; entries 0:db",
		"fd00::1":                 "live fd00::/120 of 0:a_b; entries 0:a_b",
		"240.0.0.0":               "network 240.0.0.0/24",
		"240.0.0.255":             "broadcast 240.0.0.0/24",
		"240.0.0.105":             "excluded 240.0.0.0/24 in 240.0.0.100-240.0.0.109",
		"240.0.0.205":             "reserved 240.0.0.0/24 in 240.0.0.200-240.0.0.209",
		"240.0.0.10":              "free 240.0.0.0/24 kept for 0:later",
		"240.0.0.99":              "free 240.0.0.0/24",
		"241.0.0.1":               "given to 2; entries 3:m/api 3:m/twin",
		"192.0.2.1":               "outside",
		"f.f.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpa": "free fd00::/120",
	} {
		e := must[admin.Explanation](t)(r.Explain(t.Context(), q))
		a := e.Address
		if a == nil {
			t.Fatalf("%s is no address: %+v", q, e)
		}
		got := a.State
		if a.Pool.IsValid() {
			got += " " + a.Pool.String()
		}
		if a.Owner != "" {
			got += " of " + a.Owner
		}
		if a.Range != "" {
			got += " in " + a.Range
		}
		if a.StaticOf != "" && a.State != admin.Live {
			got += " kept for " + a.StaticOf
		}
		if a.GivenTo > 0 {
			got += fmt.Sprint(" to ", a.GivenTo)
		}
		if len(e.Entries) > 0 {
			got += "; entries"
		}
		for _, entry := range e.Entries {
			got += " " + entry.Row.Entry
		}
		if got != want {
			t.Errorf("%s is %q, want %q", q, got, want)
		}
	}
}

func TestACoolingAddressTellsItsLastOwnerAndHowLong(t *testing.T) {
	t.Parallel()
	r := explained(t)
	old := must[admin.Explanation](t)(r.Explain(t.Context(), "0:old")).Entries[0]
	if len(old.Held) != 0 || len(old.Past) != 2 || len(old.Row.Listings) != 0 {
		t.Fatalf("old is %+v", old)
	}
	r.later(20 * time.Minute)
	a := must[admin.Explanation](t)(r.Explain(t.Context(), old.Past[0].Address.String())).Address
	if a.State != admin.Cooling || a.Owner != "0:old" || a.LastMesh != "m" || a.CooldownSeconds > 40*60+1 || a.CooldownSeconds < 39*60 || a.Until.IsZero() || a.Since.IsZero() || !a.Until.After(a.Since) {
		t.Errorf("the address is %+v", a)
	}
	r.later(time.Hour)
	if a := must[admin.Explanation](t)(r.Explain(t.Context(), a.Address.String())).Address; a.State != admin.Past || a.CooldownSeconds != 0 || !a.Until.IsZero() {
		t.Errorf("the address is %+v", a)
	}
}

func TestAnEntryIsExplained(t *testing.T) {
	t.Parallel()
	r := explained(t)
	web := must[admin.Explanation](t)(r.Explain(t.Context(), "0:WeB")).Entries[0]
	if web.Row.Entry != "0:WEB" || len(web.Row.Listings) != 2 || len(web.Held) != 2 || web.Held[0].How != admin.Automatic ||
		web.Held[0].Pool.String() != "240.0.0.0/24" || web.Held[0].PTR != "web.mesh." || len(web.Resources) != 1 || web.Resources[0].Name != "web-01" {
		t.Errorf("web is %+v", web)
	}
	if want := []string{"web.mesh.", "web.vip.test."}; !slices.Equal(web.Row.Names, want) {
		t.Errorf("web answers to %q, want %q", web.Row.Names, want)
	}
	for entry, how := range map[string]string{"0:db": admin.ByCorefile, "0:tagged": admin.ByTag, "3:m/api": admin.ByKuma} {
		if e := must[admin.Explanation](t)(r.Explain(t.Context(), entry)).Entries[0]; e.Held[0].How != how {
			t.Errorf("%s has %+v, want %s", entry, e.Held, how)
		}
	}
	r.apply(part(drop("n", "0:WEB"), vip.MeshUpdate{Mesh: "m", Gone: true}))
	r.configure(func(c *allocator.Config) { c.Layout.Pools[0].Exclude = ranges("240.0.0.4-240.0.0.4") })
	web = must[admin.Explanation](t)(r.Explain(t.Context(), "0:web")).Entries[0]
	if len(web.Holds) != 1 || web.Holds[0].Mesh != "m" || web.Holds[0].Name == "" || len(web.Holds[0].Entries) != 0 {
		t.Errorf("web is held: %+v", web.Holds)
	}
	if len(web.Moves) != 1 || web.Plan != r.alloc.Moves().Name || web.Plan == "" || !strings.Contains(web.Held[0].Misplaced, "excluded") {
		t.Errorf("web moves %+v by plan %q: %+v", web.Moves, web.Plan, web.Held)
	}
	_, err := r.Explain(t.Context(), "0:nobody")
	wantCode(t, err, http.StatusNotFound, admin.NotFound, "0:nobody")
}

func TestANameIsExplained(t *testing.T) {
	t.Parallel()
	r := explained(t)
	for q, want := range map[string]string{
		"a.b.mesh":      "a.b.mesh.: 2:a.b.mesh has (an fqdn), 0:a.b (a literal name), 0:a_b (a dotted spelling)",
		"A.B.Mesh.":     "a.b.mesh.: 2:a.b.mesh has (an fqdn), 0:a.b (a literal name), 0:a_b (a dotted spelling)",
		"a.b.vip.test":  "a.b.vip.test.: 0:a.b has (a literal name), 0:a_b (a dotted spelling)",
		"a_b":           "a_b.mesh.: 0:a_b has (a literal name); a_b.vip.test.: 0:a_b has (a literal name)",
		"web":           "web.mesh.: 0:WEB has (a literal name); web.vip.test.: 0:WEB has (a literal name)",
		"httpbin.org":   "httpbin.org.: 1:httpbin.org (a host)",
		"api.vip.test.": "api.vip.test.: 3:m/api has (a hostname)",
		"ns.dns.mesh":   "ns.dns.mesh.:  has (the zone's name server)",
	} {
		e := must[admin.Explanation](t)(r.Explain(t.Context(), q))
		var texts []string
		for _, n := range e.Names {
			var claims []string
			for _, c := range n.Claims {
				text := c.Entry
				if c.Has {
					text += " has"
				} else if c.Reason == "" {
					t.Errorf("%s: %s has not %s for no reason", q, c.Entry, n.Name)
				}
				claims = append(claims, text+" ("+c.How+")")
			}
			texts = append(texts, n.Name+": "+strings.Join(claims, ", "))
		}
		if got := strings.Join(texts, "; "); got != want {
			t.Errorf("%s is %q, want %q", q, got, want)
		}
		if q != "ns.dns.mesh" && len(e.Entries) == 0 {
			t.Errorf("%s has no entry", q)
		}
	}
	_, err := r.Explain(t.Context(), "nobody.mesh")
	wantCode(t, err, http.StatusNotFound, admin.NotFound, "nobody.mesh")
	// Names that are no name at all are no harm.
	for _, q := range []string{".", "..", "mesh.", "\x00", strings.Repeat("a.", 900), "*", "%"} {
		if _, err := r.Explain(t.Context(), q); err != nil {
			wantCode(t, err, http.StatusNotFound, admin.NotFound, "")
		}
	}
}

func TestTheNamesOfAnEntryTellWhoHasThoseThatItLost(t *testing.T) {
	t.Parallel()
	r := explained(t)
	names := func(entry string) (texts []string) {
		for _, n := range must[admin.Explanation](t)(r.Explain(t.Context(), entry)).Entries[0].Names {
			text := n.Name
			if !n.Has {
				text += " is " + n.Owner + "'s: " + n.Reason
			}
			texts = append(texts, text)
		}
		return texts
	}
	for entry, want := range map[string][]string{
		"0:a.b":         {"a.b.mesh. is 2:a.b.mesh's: a host or an fqdn comes before a service", "a.b.vip.test."},
		"0:a_b":         {"a_b.mesh.", "a_b.vip.test.", "a.b.mesh. is 0:a.b's: a literal name comes before a dotted spelling"},
		"1:httpbin.org": {"httpbin.org. is 's: no zone that is served covers it"},
		"3:m/api":       {"api.vip.test."},
	} {
		if got := names(entry); !slices.Equal(got, want) {
			t.Errorf("%s has the names %q, want %q", entry, got, want)
		}
	}
}
