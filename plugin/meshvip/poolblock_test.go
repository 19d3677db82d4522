package meshvip

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go4.org/netipx"
	"pgregory.net/rapid"
)

// Each case is lines inside the block of meshvip, from line 2 on.
func TestErrorsOfAPoolsBlockSayWhereWhatAndWhatInstead(t *testing.T) {
	t.Parallel()
	// in returns the property inside the block of two pools, on line 3.
	in := func(lines string) string { return "pool 240.0.0.0/16 fd00::/64 {\n" + lines + "\n}" }
	for _, tc := range []struct {
		lines string
		want  []string
	}{
		{in("exlude 240.0.0.1"), []string{"Testfile:3", "unknown property 'exlude' in the block of pool", "exclude, reserve, drain"}},
		{in("source file a"), []string{"Testfile:3", "unknown property 'source' in the block of pool"}},
		{in("exclude"), []string{"Testfile:3", `"exclude 240.0.0.1-240.0.255.254"`}},
		{in("reserve"), []string{"Testfile:3", `"reserve 240.0.0.1-240.0.255.254"`}},
		{in("exclude 240.0.0.1 nonsense"), []string{"Testfile:3", "exclude 'nonsense' is not a range", "ADDRESS/BITS", "FIRST-LAST", "240.0.0.1-240.0.0.9"}},
		{in("exclude 240.0.0.1-"), []string{"'240.0.0.1-' is not a range"}},
		{in("exclude 240.0.0.1-9"), []string{"'240.0.0.1-9' is not a range"}},
		{in("exclude 240.0.0.1-240.0.0.2-240.0.0.3"), []string{"is not a range"}},
		{in("exclude 240.0.0.0/16-240.0.0.9"), []string{"'240.0.0.0/16-240.0.0.9'", "ADDRESS/BITS"}},
		{in("exclude fd00::1%eth0"), []string{"'fd00::1%eth0' is not a range"}},
		{in("exclude ::ffff:240.0.0.1"), []string{"'::ffff:240.0.0.1' is not a range"}},
		{in("exclude 240.0.0.1/24"), []string{"'240.0.0.1/24' has bits beyond its mask", `write "240.0.0.0/24"`}},
		{in("reserve 240.0.0.9-240.0.0.1"), []string{"reserve '240.0.0.9-240.0.0.1' ends before it begins", `write "240.0.0.1-240.0.0.9"`}},
		{in("reserve 240.0.0.9-fd00::1"), []string{"one family", "both as IPv4, or both as IPv6"}},
		{in("ttl 5\n"), []string{"unknown property 'ttl' in the block of pool"}},
		{in("drain\nreserve 240.9.0.0/24"), []string{"Testfile:4", "reserve 240.9.0.0/24 lies in no pool of its line", `"pool 240.0.0.0/16 fd00::/64" (Testfile:2)`, "move the line"}},
		{in("exclude 240.0.255.0-240.1.0.9"), []string{"Testfile:3", "exclude 240.0.255.0-240.1.0.9 reaches beyond pool 240.0.0.0/16 (Testfile:2)", `write "exclude 240.0.255.0/24"`}},
		{in("exclude 239.0.0.0-240.0.0.2"), []string{`write "exclude 240.0.0.0-240.0.0.2"`}},
		{in("exclude fcff::-fd01::"), []string{"reaches beyond pool fd00::/64", `write "exclude fd00::/64"`}},
		{"pool 240.0.0.0/24\npool 240.0.1.0/24 {\nexclude 240.0.0.9\n}", []string{"Testfile:4", "exclude 240.0.0.9 lies in no pool of its line", `"pool 240.0.1.0/24" (Testfile:3)`}},
		{in("exclude 240.0.0.1-240.0.0.9\n\nreserve 240.0.0.9"), []string{"Testfile:5", `reserve 240.0.0.9 overlaps "exclude 240.0.0.1-240.0.0.9" (Testfile:3)`, "narrow or remove one"}},
		{in("reserve fd00::/72\nexclude fd00::1"), []string{"Testfile:4", `exclude fd00::1 overlaps "reserve fd00::/72" (Testfile:3)`}},
		{in("exclude 240.0.0.0/16"), []string{"Testfile:3", "exclude 240.0.0.0/16 leaves nothing of pool 240.0.0.0/16", "narrow the range", `"drain"`}},
		{in("exclude 240.0.128.0-240.0.255.254\nexclude 240.0.0.1-240.0.127.255"), []string{"Testfile:4", "leaves nothing of pool 240.0.0.0/16"}},
		{"pool 240.0.0.0/31 {\nexclude 240.0.0.0\nexclude 240.0.0.1\n}", []string{"Testfile:4", "leaves nothing of pool 240.0.0.0/31"}},
		{in("drain now"), []string{"Testfile:3", "drain takes no argument", "(Testfile:2)", `write "drain" alone`}},
		{in("drain\ndrain"), []string{"Testfile:4", "property 'drain' is stated twice, first at Testfile:3"}},
		{in("drain {\n}"), []string{"Testfile:3", "property 'drain' takes no block"}},
		{in("exclude 240.0.0.1 {\n}"), []string{"Testfile:3", "property 'exclude' takes no block"}},
		{in("drain }"), []string{"Testfile:3", "'drain' has a brace among its arguments", "the line of pool"}},
		{in("drain ;"), []string{"drain takes no argument"}},
		{"pool 240.0.0.0/16 { drain }", []string{"Testfile:2", "brace", `the line of pool with " {"`}},
		{"pool 240.0.0.0/16 {}", []string{"Testfile:2", "brace"}},
		{"pool 240.0.0.0/16{\ndrain\n}", []string{"Testfile:2", "brace"}},
		{"pool 240.0.0.0/16\n{\ndrain\n}", []string{"Testfile:2", "a { stands on a line of its own", "end of the line above"}},
		{"pool 240.0.0.0/16 {\n{\ndrain\n}\n}", []string{"a { stands on a line of its own"}},
		{in("drain\n{\n}"), []string{"Testfile:3", "a { stands on a line of its own"}},
		{"pool {\ndrain\n}", []string{"Testfile:2", "pool needs one or more address ranges"}},
		{in("drain") + " ttl 5", []string{"Testfile:4", "'ttl' follows the } of pool"}},
		{in("drain") + " {\ndrain\n}", []string{"Testfile:4", "'{' follows the } of pool"}},
		{in("") + " }", []string{"Testfile:4", "'}' follows the } of pool"}},
	} {
		_, err := parseIn("", "meshvip {\n"+tc.lines+"\nnegative_ttl 9\n}", "mesh.")
		if err == nil {
			t.Errorf("%q is accepted", tc.lines)
			continue
		}
		for _, want := range tc.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q: the error lacks %q:\n%v", tc.lines, want, err)
			}
		}
	}
}

func TestABlockThatDoesNotEndIsNamed(t *testing.T) {
	t.Parallel()
	for lines, want := range map[string]string{
		"meshvip {\npool 240.0.0.0/8 {":                            "Testfile:2*the block of pool has no end",
		"meshvip {\npool 240.0.0.0/8 {\ndrain":                     "Testfile:3*the block of pool has no end",
		"meshvip {\npool 240.0.0.0/8 {\ndrain\n}":                  "Testfile:4*the block of meshvip has no end",
		"meshvip {\npool 240.0.0.0/8 {\n}":                         "Testfile:3*the block of meshvip has no end",
		"meshvip {":                                                "Testfile:1*the block of meshvip has no end",
		"meshvip mesh\n{\nttl 5\n}":                                "Testfile:1*a { stands on a line of its own",
		"meshvip {\nttl 5\n} x":                                    "Testfile:3*'x' follows the } of meshvip",
		"meshvip {\npool 240.0.0.0/8 {\ndrain\nexclude 240.0.0.1":  "Testfile:4*the block of pool has no end",
		"meshvip {\npool 240.0.0.0/8 {\ndrain\n}\nsource file a\n": "Testfile:5*the block of meshvip has no end",
	} {
		_, err := parseIn("", lines, "mesh.")
		place, message, _ := strings.Cut(want, "*")
		if err == nil || !strings.Contains(err.Error(), place) || !strings.Contains(err.Error(), message) {
			t.Errorf("%q: %v, want %s", lines, err, want)
		}
	}
}

// A block must not take the properties that follow it, nor leave some of its
// own.
func TestPropertiesAroundAPoolsBlockAreRead(t *testing.T) {
	t.Parallel()
	for _, lines := range []string{
		"pool 240.0.0.0/8\nttl 5",
		"ttl 5\npool 240.0.0.0/8",
		"pool 240.0.0.0/8 {\n}\nttl 5",
		"pool 240.0.0.0/8 {\n\n\ndrain\n\n}\n\nttl 5",
		"pool 240.0.0.0/8 {\ndrain\n}\nttl 5\npool 241.0.0.0/8",
		"pool 240.0.0.0/8 {\ndrain\n}\npool 241.0.0.0/8 {\nreserve 241.0.0.1\n}\nttl 5",
	} {
		cfg, err := parseIn("", "meshvip {\n"+lines+"\n}", "mesh.")
		if err != nil {
			t.Errorf("%q: %v", lines, err)
			continue
		}
		if n := strings.Count(lines, "pool"); len(cfg.Runtime.Pools) != n || cfg.Block.TTL.Value != 5 {
			t.Errorf("%q: %d pools, want %d, and the ttl %d", lines, len(cfg.Runtime.Pools), n, cfg.Block.TTL.Value)
		}
		if drained := strings.Contains(lines, "drain"); cfg.Runtime.Pools[0].Drain != drained {
			t.Errorf("%q: the first pool is drained: %v", lines, !drained)
		}
	}
}

// drawPool draws a pool with a block, and the lines that state it: ranges that
// overlap and touch, in any order, in each form.
func drawPool(t *rapid.T, n int) (PoolConfig, []string) {
	pool := PoolConfig{Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{240, byte(n)}), 16)}
	at := func(i uint8) netip.Addr { return netip.AddrFrom4([4]byte{240, byte(n), 7, i}) }
	// Each address has one of three uses, and what is used is stated in pieces.
	uses := rapid.SliceOfN(rapid.SampledFrom([]string{"", "exclude", "reserve"}), 24, 24).Draw(t, "uses")
	var lines []string
	for i := 0; i < len(uses); i++ {
		if uses[i] == "" {
			continue
		}
		last := i
		for last+1 < len(uses) && uses[last+1] == uses[i] && rapid.Bool().Draw(t, "longer") {
			last++
		}
		r := netipx.IPRangeFrom(at(uint8(i)), at(uint8(last)))
		forms := []string{r.String()}
		if i == last {
			forms = append(forms, at(uint8(i)).String(), at(uint8(i)).String()+"/32")
		}
		lines = append(lines, uses[i]+" "+rapid.SampledFrom(forms).Draw(t, "form"))
		i = rapid.IntRange(i, last).Draw(t, "again from") // what follows may overlap
	}
	lines = rapid.Permutation(lines).Draw(t, "lines")
	for i := 0; i < len(uses); {
		j := i
		for j < len(uses) && uses[j] == uses[i] {
			j++
		}
		r := netipx.IPRangeFrom(at(uint8(i)), at(uint8(j-1)))
		switch uses[i] {
		case "exclude":
			pool.Exclude = append(pool.Exclude, r)
		case "reserve":
			pool.Reserve = append(pool.Reserve, r)
		}
		i = j
	}
	return pool, lines
}

// However a set of ranges is written down, it is the same set: so two server
// blocks may state it in two ways.
func TestAPoolsBlockMeansASetOfAddresses(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		drain := rapid.Bool().Draw(t, "drain")
		var want []PoolConfig
		var lines, prefixes []string
		for n := range rapid.IntRange(1, 3).Draw(t, "pools") {
			pool, stated := drawPool(t, n)
			pool.Drain = drain
			want = append(want, pool)
			lines = append(lines, stated...)
			prefixes = append(prefixes, pool.Prefix.String())
		}
		if drain {
			lines = append(lines, "drain")
		}
		lines = rapid.Permutation(lines).Draw(t, "order")
		prefixes = rapid.Permutation(prefixes).Draw(t, "pools in order")
		text := fmt.Sprintf("meshvip {\npool %s {\n%s\n}\n}", strings.Join(prefixes, " "), strings.Join(lines, "\n"))
		cfg, err := parseIn("", text, "mesh.")
		if err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
		got := slices.Clone(cfg.Runtime.Pools)
		for i := range got {
			got[i].Place = ""
		}
		if diff := cmp.Diff(want, got, byValue); diff != "" {
			t.Fatalf("pools (-want +got):\n%s\n%s", diff, text)
		}
		if err := cfg.Runtime.layout().Check(); err != nil {
			t.Fatal(err)
		}
	})
}
