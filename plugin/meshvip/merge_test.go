package meshvip

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mustParse parses the properties of a block whose lines are numbered from 2.
func mustParse(t *testing.T, lines string) Config {
	t.Helper()
	c, err := parseIn("/data", "meshvip mesh {\n"+lines+"\n}")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestBlocksShareWhatOneOfThemStates(t *testing.T) {
	t.Parallel()
	all := "pool 240.0.0.0/8 {\nexclude 240.0.0.1\n}\nstatic a 240.0.0.9\nstatic 1:b 240.0.0.8\nconfirm 1-a\nrepair\nsource file r\nstore memory\ncooldown 1h\nkuma_zone z\nkuma_domain d.e\nmax_release 5\npublish p backendRef\nadmin unix:s\nsource kuma http://cp"
	whole := mustParse(t, all)
	for _, lines := range []string{
		"", all, "store memory", "pool 240.0.0.0/8 {\nexclude 240.0.0.1/32\n}",
		"static 1:B 240.0.0.8\nstatic 0:a 240.0.0.9", "repair", "confirm 1-a", "ttl 5\nmeshes x",
		"publish /data/p backendRef\nkuma_zone z\ncooldown 60m\nsource file ./r\nsource kuma http://cp/ {\ninterval 10s\n}", "admin unix:/data/s\nkuma_domain D.E.",
	} {
		part := mustParse(t, lines)
		for _, order := range [][2]RuntimeConfig{{whole.Runtime, part.Runtime}, {part.Runtime, whole.Runtime}} {
			got, err := merge(order[0], order[1])
			if err != nil {
				t.Errorf("with %q: %v", lines, err)
				continue
			}
			ignorePlaces := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Place" }, cmp.Ignore())
			if diff := cmp.Diff(whole.Runtime, got, byValue, ignorePlaces); diff != "" {
				t.Errorf("with %q (-want +got):\n%s", lines, diff)
			}
			if err := complete(got); err != nil {
				t.Errorf("with %q: %v", lines, err)
			}
		}
	}
}

func TestBlocksThatDifferAreAnErrorThatNamesBothLines(t *testing.T) {
	t.Parallel()
	for property, lines := range map[string][2]string{
		"pool":        {"pool 240.0.0.0/8", "ttl 5\npool 240.0.0.0/9"},
		"static":      {"static a 240.0.0.1", "ttl 5\nstatic a 240.0.0.2"},
		"confirm":     {"confirm 1-a", "ttl 5\nconfirm 1-b"},
		"repair":      {"repair", "ttl 5\nrepair report"},
		"source":      {"source file a", "ttl 5\nsource file b"},
		"store":       {"store memory", "ttl 5\nstore bolt x"},
		"cooldown":    {"cooldown 1h", "ttl 5\ncooldown 2h"},
		"kuma_zone":   {"kuma_zone a", "ttl 5\nkuma_zone b"},
		"max_release": {"max_release 5", "ttl 5\nmax_release 5%"},
		"publish":     {"publish a", "ttl 5\npublish b"},
		"kuma_domain": {"kuma_domain a", "ttl 5\nkuma_domain b"},
		"admin":       {"admin", "ttl 5\nadmin 127.0.0.1:1"},
	} {
		a, b := mustParse(t, lines[0]), mustParse(t, lines[1])
		_, err := merge(a.Runtime, b.Runtime)
		if err == nil {
			t.Errorf("%s: no error", property)
			continue
		}
		for _, want := range []string{"Testfile:3: " + property + " is ", "Testfile:2 has ", "the same in both"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: the error lacks %q: %v", property, want, err)
			}
		}
	}
}

func TestWhatARuntimeLacksIsSaidWithTheLineToAdd(t *testing.T) {
	t.Parallel()
	for lines, want := range map[string]string{
		"":                                "neither a pool nor a source",
		"pool 240.0.0.0/8":                `"source file resources"`,
		"source file r":                   `"pool 240.0.0.0/8"`,
		"store memory":                    `"pool 240.0.0.0/8"`,
		"pool 240.0.0.0/8\nstore bolt db": `"source file resources"`,
	} {
		err := complete(mustParse(t, lines).Runtime)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "Testfile:1: ") {
			t.Errorf("%q: %v, want %s", lines, err, want)
		}
	}
}

func TestABlockThatOutlivesTheCooldownDoesNotFit(t *testing.T) {
	t.Parallel()
	r := mustParse(t, "ttl 5\ncooldown 10s").Runtime
	if err := fits(r, mustParse(t, "ttl 10")); err != nil {
		t.Errorf("ttl equal to the cooldown: %v", err)
	}
	err := fits(r, mustParse(t, "meshes a\nttl 11"))
	if err == nil || !strings.Contains(err.Error(), "Testfile:3: cooldown is 10s") || !strings.Contains(err.Error(), "ttl of 11 s (Testfile:3)") {
		t.Errorf("ttl over the cooldown: %v", err)
	}
}

func TestAPoolIsTheSameHoweverItsBlockIsWritten(t *testing.T) {
	t.Parallel()
	a := mustParse(t, "pool 240.0.0.0/8 241.0.0.0/8 {\nexclude 240.0.0.1-240.0.0.3 241.0.0.1\nreserve 240.9.0.0/16\n}")
	b := mustParse(t, "pool 241.0.0.0/8 {\nexclude 241.0.0.1\n}\npool 240.0.0.0/8 {\nreserve 240.9.128.0/17 240.9.0.0/17\nexclude 240.0.0.2/31 240.0.0.1\n}")
	if _, err := merge(a.Runtime, b.Runtime); err != nil {
		t.Error(err)
	}
}

func TestStaticsThatTheSharedPoolsCannotGiveAreAnError(t *testing.T) {
	t.Parallel()
	pools, statics := mustParse(t, "pool 240.0.0.0/8\nsource file r\nstore memory"), mustParse(t, "ttl 5\nstatic a 241.0.0.9")
	_, err := group([]Config{pools, statics})
	if err == nil || !strings.Contains(err.Error(), "Testfile:3: static 0:a 241.0.0.9: ") || !strings.Contains(err.Error(), `"pool 241.0.0.9/32"`) {
		t.Errorf("%v", err)
	}
	if _, err := group([]Config{pools, mustParse(t, "ttl 5\nstatic a 240.0.0.9")}); err != nil {
		t.Error(err)
	}
}

func TestWhatDiffersInPoolsAndStaticsIsShown(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ a, b, want string }{
		{
			"pool 240.0.0.0/8 241.0.0.0/8", "ttl 5\npool 240.0.0.0/8\npool 241.0.0.0/8 {\nexclude 241.0.0.1-241.0.0.9\nreserve 241.1.0.0/16\ndrain\n}",
			"Testfile:4: pool is 241.0.0.0/8 (exclude 241.0.0.1-241.0.0.9, reserve 241.1.0.0/16, drain), but Testfile:2 has 241.0.0.0/8: ",
		},
		{
			"pool 240.0.0.0/8 241.0.0.0/8", "ttl 5\npool 240.0.0.0/8",
			"Testfile:3: pool is 240.0.0.0/8, but Testfile:2 has 240.0.0.0/8 241.0.0.0/8: ",
		},
		{
			"static a 240.0.0.1\nstatic b 240.0.0.2", "ttl 5\nstatic b 240.0.0.2\nstatic a 240.0.0.3",
			"Testfile:4: static is 0:a 240.0.0.3, but Testfile:2 has 0:a 240.0.0.1: ",
		},
		{
			"static a 240.0.0.1\nstatic b 240.0.0.2", "ttl 5\nstatic a 240.0.0.1\nstatic c 240.0.0.2",
			"Testfile:4: static is 0:c 240.0.0.2, but Testfile:3 has 0:b 240.0.0.2: ",
		},
		{
			"static a 240.0.0.1", "ttl 5\nstatic a 240.0.0.1\nstatic b 240.0.0.2",
			"Testfile:4: static is 0:b 240.0.0.2, but Testfile:2 has none such: ",
		},
		{
			"static a 240.0.0.1\nstatic b 240.0.0.2", "ttl 5\nstatic a 240.0.0.1",
			"Testfile:3: static is 0:b 240.0.0.2, but Testfile:3 has none such: ",
		},
	} {
		_, err := merge(mustParse(t, tc.a).Runtime, mustParse(t, tc.b).Runtime)
		if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%q and %q: %v, want %s", tc.a, tc.b, err, tc.want)
		}
	}
}
