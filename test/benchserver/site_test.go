package main

import (
	"bufio"
	"context"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/boltstore"
	"github.com/miekg/dns"
)

// records returns what a zone file says: the data by name and type.
func records(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := make(map[string]string)
	p := dns.NewZoneParser(f, ".", path)
	for rr, ok := p.Next(); ok; rr, ok = p.Next() {
		if typ := rr.Header().Rrtype; typ == dns.TypeA || typ == dns.TypePTR {
			all[rr.Header().Name+" "+dns.TypeToString[typ]] = strings.TrimPrefix(rr.String(), rr.Header().String())
		}
	}
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestAllServersAreGivenTheSameNames(t *testing.T) {
	t.Parallel()
	const n = 300
	s, err := newSite(t.TempDir(), n)
	if err != nil {
		t.Fatal(err)
	}
	store, _, err := boltstore.Open(s.path("meshvip.db"), boltstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	table, err := store.Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := allocator.Check(table); err != nil {
		t.Error(err)
	}
	forward, reverse := make(map[string]string), make(map[string]string)
	for _, row := range table.Rows {
		for _, name := range []string{row.Entry.Name, dotted(row.Entry.Name)} {
			forward[name+".mesh. A"] = row.V4.String()
		}
		name, err := dns.ReverseAddr(row.V4.String())
		if err != nil {
			t.Fatal(err)
		}
		reverse[name+" PTR"] = dotted(row.Entry.Name) + ".mesh."
	}
	if len(forward) != 2*n || len(reverse) != n {
		t.Fatalf("the store has %d names and %d addresses, want %d and %d", len(forward), len(reverse), 2*n, n)
	}
	zone := records(t, s.path("mesh.zone"))
	delete(zone, "ns.dns.mesh. A")
	if !maps.Equal(zone, forward) {
		t.Error("the zone differs from the store")
	}
	if !maps.Equal(records(t, s.path("reverse.zone")), reverse) {
		t.Error("the reverse zone differs from the store")
	}
	hosts := make(map[string]string)
	for _, line := range lines(t, s.path("hosts")) {
		f := strings.Fields(line)
		for _, name := range f[1:] {
			hosts[name+" A"] = f[0]
		}
	}
	if !maps.Equal(hosts, forward) {
		t.Error("the hosts file differs from the store")
	}
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []string
	for s := bufio.NewScanner(f); s.Scan(); {
		all = append(all, s.Text())
	}
	return all
}

func TestQuestionsAreMixedAsTheTableSays(t *testing.T) {
	t.Parallel()
	const n, asked = 50, 20_000
	s, err := newSite(t.TempDir(), n)
	if err != nil {
		t.Fatal(err)
	}
	zone, reverse := records(t, s.path("mesh.zone")), records(t, s.path("reverse.zone"))
	counts := make(map[string]int)
	r := rand.New(rand.NewPCG(1, 2))
	for range asked {
		q := question(r, n)
		name, typ, _ := strings.Cut(q, " ")
		_, isName := zone[name+" A"]
		_, isAddr := reverse[name+" PTR"]
		switch {
		case typ == "PTR" && isAddr:
			counts["PTR"]++
		case typ == "AAAA" && isName:
			counts["AAAA"]++
		case typ == "A" && isName && strings.Contains(name, "_"):
			counts["literal"]++
		case typ == "A" && isName:
			counts["dotted"]++
		case typ == "A":
			counts["unknown"]++
		default:
			t.Fatalf("question %q", q)
		}
	}
	want := map[string]int{"literal": shareLiteral, "dotted": shareDotted, "AAAA": shareAAAA, "PTR": sharePTR, "unknown": shareUnknown}
	for _, what := range slices.Sorted(maps.Keys(want)) {
		if got := 100 * float64(counts[what]) / asked; got < float64(want[what])-2 || got > float64(want[what])+2 {
			t.Errorf("%s: %.1f %%, want %d %%", what, got, want[what])
		}
	}
}
