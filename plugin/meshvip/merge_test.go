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
	all := "pool 240.0.0.0/8\nsource file r\nstore memory\ncooldown 1h\nkuma_zone z\nmax_release 5\npublish p"
	whole := mustParse(t, all)
	for _, lines := range []string{
		"", all, "store memory", "pool 240.0.0.0/8", "ttl 5\nmeshes x",
		"publish /data/p\nkuma_zone z\ncooldown 60m\nsource file ./r",
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
		"source":      {"source file a", "ttl 5\nsource file b"},
		"store":       {"store memory", "ttl 5\nstore bolt x"},
		"cooldown":    {"cooldown 1h", "ttl 5\ncooldown 2h"},
		"kuma_zone":   {"kuma_zone a", "ttl 5\nkuma_zone b"},
		"max_release": {"max_release 5", "ttl 5\nmax_release 5%"},
		"publish":     {"publish a", "ttl 5\npublish b"},
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
