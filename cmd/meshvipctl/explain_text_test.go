package main

import (
	"net/netip"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/meshvip/coredns-meshvip/admin"
)

// noon is when these tests look at things.
var noon = time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC)

func ip(s string) netip.Addr { return netip.MustParseAddr(s) }

// explained is a page of an explanation as a pipe has it.
func explained(e admin.Explanation) string {
	p := wide()
	explainText(p, e, noon)
	return p.String()
}

// same compares a page with what it should be, which begins after a newline.
func same(t *testing.T, got, want string) {
	t.Helper()
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), got); diff != "" {
		t.Errorf("the page differs (-want +got):\n%s", diff)
	}
}

// backend is an entry about which there is much to say.
func backend() admin.Explained {
	return admin.Explained{
		Row: admin.Row{
			Entry: "0:backend", Kind: "service",
			Listings: []admin.Listing{
				{Mesh: "default", Name: "backend", Outbounds: []admin.Outbound{
					{Port: 80, Tags: map[string]string{"kuma.io/service": "backend"}},
					{Port: 8080, Tags: map[string]string{"kuma.io/service": "backend", "version": "v2"}},
				}},
				{Mesh: "prod", Name: "Backend", Static: []netip.Addr{ip("240.0.0.9")}, Outbounds: []admin.Outbound{{}}},
			},
		},
		Held: []admin.HeldAddress{{
			Address: ip("240.0.0.7"), How: admin.Automatic, Since: noon.Add(-26 * time.Hour),
			Pool: netip.MustParsePrefix("240.0.0.0/8"), PTR: "backend.mesh.",
		}},
		Names: []admin.EntryName{
			{Name: "backend.mesh.", Has: true, How: "a literal name"},
			{Name: "backend.corp.", How: "a literal name", Owner: "2:backend.corp", Reason: "a full name comes before a service"},
		},
		Resources: []admin.Resource{
			{Mesh: "default", Type: "Dataplane", ResourceMesh: "default", Name: "backend-1", Place: "web.yaml:12"},
			{Mesh: "prod", Type: "ZoneIngress", Name: "east", Place: "zones.yaml:3"},
		},
		Refused: []admin.Refused{{Entry: "0:backend", Address: ip("240.0.0.9"), Reason: "0:web has it"}},
		Plan:    "3-9f2a61c0",
		Moves:   []admin.Move{{Entry: "0:backend", From: ip("240.0.0.7"), To: ip("241.0.0.1"), Why: "its pool is retired"}},
		Holds:   []admin.Hold{{Name: "5d41402a", Mesh: "prod", Reason: `mesh "prod" would go with its 3 entries`}},
		Past:    []admin.AddressState{{Address: ip("240.0.0.3"), Since: noon.Add(-time.Hour), Until: noon.Add(23 * time.Hour)}},
	}
}

func TestAnEntryIsExplainedWithAllThatIsKnown(t *testing.T) {
	t.Parallel()
	e := admin.Explanation{
		Query: "backend.corp",
		Names: []admin.NameState{{Name: "backend.corp.", Claims: []admin.NameClaim{
			{Entry: "2:backend.corp", Has: true, How: "an fqdn"},
			{Entry: "0:backend", How: "a literal name", Reason: "a full name comes before a service"},
		}}},
		Entries: []admin.Explained{backend()},
	}
	same(t, explained(e), `
backend.corp. is 2:backend.corp
  has it      2:backend.corp: an fqdn
  has it not  0:backend: a literal name; a full name comes before a service

0:backend (service)
  address     240.0.0.7, automatic, pool 240.0.0.0/8, since 2026-11-01 10:00:00 UTC (1d2h ago)
  refused     static address 240.0.0.9: 0:web has it
  would move  from 240.0.0.7 to 241.0.0.1 by plan 3-9f2a61c0, which waits: its pool is retired
  held        mesh prod no longer lists it; kept by hold 5d41402a: mesh "prod" would go with its 3 entries
  PTR         240.0.0.7 is backend.mesh.
  names       backend.mesh., a literal name
              backend.corp., which 2:backend.corp has: a full name comes before a service
  mesh        default, port 80, port 8080 (version=v2)
  mesh        prod, spelled Backend, port 80 by default, asks for 240.0.0.9
  asked by    Dataplane default/backend-1, web.yaml:12
              ZoneIngress east in mesh prod, zones.yaml:3
  had         240.0.0.3, given up 2026-11-02 11:00:00 UTC (1h0m ago), kept for it until 2026-11-03 11:00:00 UTC (in 23h0m)
`)
}

func TestAnEntryWithoutAnAddressSaysWhy(t *testing.T) {
	t.Parallel()
	e := admin.Explanation{
		Entries: []admin.Explained{
			{
				Row:     admin.Row{Entry: "0:late", Kind: "service", Waiting: true},
				Waiting: []admin.Waiting{{Entry: "0:late", Family: "v4", Reason: "the pools are exhausted"}},
			},
			{Row: admin.Row{Entry: "3:default/web", Kind: "MeshService", Follows: true}},
		},
		Unknown: []string{"names", "resources"},
	}
	same(t, explained(e), `
0:late (service)
  address     none
  waiting     for an address of family v4: the pools are exhausted

3:default/web (MeshService)
  address     none
              only Kuma gives it addresses, and has given none yet

Not known here: names, resources.
`)
}

func TestEveryStateOfAnAddressIsExplainedInWords(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]string{
		admin.Live:          "240.0.0.7: 0:backend has it\n  since       2026-11-02 11:59:00 UTC (1m0s ago)\n",
		admin.Cooling:       "240.0.0.7: cooling down, nobody else gets it yet\n  last owner  0:backend in mesh default\n  given up    2026-11-02 11:59:00 UTC (1m0s ago)\n  kept for    1h0m more of the server's running time\n",
		admin.Quarantined:   "240.0.0.7: in quarantine since the table was restored: nobody knows who had it, and nobody gets it yet\n  kept for    1h0m more of the server's running time\n",
		admin.Past:          "240.0.0.7: free; its last owner gets it back if nobody else has it by then\n  last owner  0:backend in mesh default\n  given up    2026-11-02 11:59:00 UTC (1m0s ago)\n",
		admin.Aside:         "240.0.0.7: its entry's record cannot be read, and it stays reserved\n",
		admin.Unreadable:    "240.0.0.7: it cannot be read who has it, and it stays reserved\n",
		admin.Free:          "240.0.0.7: free, nobody is remembered to have had it\n",
		admin.Excluded:      "240.0.0.7: excluded from its pool, nobody gets it\n",
		admin.ReservedRange: "240.0.0.7: reserved for static addresses\n",
		admin.Network:       "240.0.0.7: the network address of its pool, nobody gets it\n",
		admin.Broadcast:     "240.0.0.7: the broadcast address of its pool, nobody gets it\n",
		admin.Given:         "240.0.0.7: given by Kuma, not from the table\n",
		admin.Outside:       "240.0.0.7: outside all pools, not an address of this table\n",
		"of-a-newer-server": "240.0.0.7: of-a-newer-server\n",
	} {
		a := admin.AddressState{
			Address: ip("240.0.0.7"), State: state, Owner: "0:backend", LastMesh: "default", Since: noon.Add(-time.Minute), CooldownSeconds: 3600,
		}
		if got := explained(admin.Explanation{Address: &a}); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", state, got, want)
		}
	}
}

func TestAnAddressIsExplainedWithItsPool(t *testing.T) {
	t.Parallel()
	a := admin.AddressState{
		Address: ip("240.0.0.7"), State: admin.Cooling, Pool: netip.MustParsePrefix("240.0.0.0/8"), Retired: true,
		Range: "240.0.0.1-240.0.0.9", StaticOf: "0:web", Owner: "0:backend", GivenTo: 2, PTR: "x.mesh.",
		Until: noon.Add(time.Hour), CooldownSeconds: 3600,
	}
	same(t, explained(admin.Explanation{Address: &a}), `
240.0.0.7: cooling down, nobody else gets it yet
  pool        240.0.0.0/8, retired: it is no longer configured, and gives out nothing
  range       240.0.0.1-240.0.0.9
  static of   0:web, by the Corefile
  last owner  0:backend
  kept until  2026-11-02 13:00:00 UTC (in 1h0m), if the server keeps running
  given to    2 entries by Kuma
  PTR         x.mesh.
`)
}

func TestANameIsToldWithAllWhoClaimIt(t *testing.T) {
	t.Parallel()
	e := admin.Explanation{Names: []admin.NameState{
		{Name: "nope.mesh."},
		{Name: "web.mesh.", Claims: []admin.NameClaim{
			{Entry: "3:a/web", Has: true, How: "a hostname"},
			{Entry: "3:b/web", How: "a hostname", Reason: "the smaller key comes first", Local: true},
		}},
		{Name: "ns.dns.mesh.", Claims: []admin.NameClaim{{Has: true}, {Entry: "2:ns.dns.mesh", How: "an fqdn", Reason: "the apex comes first"}}},
	}}
	same(t, explained(e), `
nope.mesh.: nobody claims it

web.mesh. is 3:a/web
  has it      3:a/web: a hostname
  has it not  3:b/web: a hostname; the smaller key comes first; has it all the same in server blocks that show its mesh, and none before it

ns.dns.mesh. is the zone's name server
  has it      the zone's name server
  has it not  2:ns.dns.mesh: an fqdn; the apex comes first
`)
}

// constants returns the values of the constants of package admin that stand in
// one file between two comments or such.
func constants(t *testing.T, file, from, to string) []string {
	t.Helper()
	b, err := os.ReadFile("../../admin/" + file)
	if err != nil {
		t.Fatal(err)
	}
	_, block, ok := strings.Cut(string(b), from)
	block, _, end := strings.Cut(block, to)
	if !ok || !end {
		t.Fatalf("%s does not have %q and then %q any more", file, from, to)
	}
	var values []string
	for _, m := range regexp.MustCompile(`(?m)^\t\w+ += "(.+?)"`).FindAllStringSubmatch(block, -1) {
		values = append(values, m[1])
	}
	if len(values) < 5 {
		t.Fatalf("%s has only %q", file, values)
	}
	return values
}

func TestWhatTheInterfaceKnowsHasWords(t *testing.T) {
	t.Parallel()
	for _, state := range constants(t, "api_explain.go", "// The states of an address.", "\n)") {
		if stateWords(admin.AddressState{State: state}) == state {
			t.Errorf("the state %q of an address has no words", state)
		}
	}
	for _, what := range constants(t, "api_changes.go", "// What happened, in an [Event].", "\n)") {
		if eventWords(admin.Event{What: what}) == what {
			t.Errorf("the event %q has no words", what)
		}
	}
}
