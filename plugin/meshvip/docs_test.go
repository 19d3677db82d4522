package meshvip

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// syntax returns the README's section Syntax: the properties in its block, and
// what is said of each below it.
func syntax(t *testing.T) (names []string, said map[string]string) {
	t.Helper()
	data, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(data), "\n## Syntax\n")
	if !ok {
		t.Fatal("the README has no section Syntax")
	}
	text, _, _ = strings.Cut(text, "\n## ")
	parts := strings.Split(text, "~~~\n")
	if len(parts) != 3 {
		t.Fatalf("the section Syntax has %d lines of ~~~, want 2", len(parts)-1)
	}
	for line := range strings.Lines(parts[1]) {
		if property, ok := strings.CutPrefix(line, "    "); ok {
			names = append(names, strings.Fields(property)[0])
		}
	}
	said = make(map[string]string)
	for item := range strings.SplitSeq(parts[2], "\n* ") {
		if m := regexp.MustCompile("^`(\\w+)`").FindStringSubmatch(item); m != nil {
			said[m[1]] = strings.Join(strings.Fields(item), " ")
		}
	}
	return names, said
}

func TestREADMEHasThePropertiesThatTheParserKnows(t *testing.T) {
	t.Parallel()
	names, said := syntax(t)
	var known []string
	for _, p := range properties {
		known = append(known, p.name)
		if said[p.name] == "" {
			t.Errorf("property %s is in the block of Syntax and not in the list below it", p.name)
		}
	}
	if diff := cmp.Diff(known, names); diff != "" {
		t.Errorf("properties (-parser +README):\n%s", diff)
	}
	if len(said) != len(known) {
		t.Errorf("the list of Syntax has %d properties, the parser %d", len(said), len(known))
	}
}

func TestREADMEHasTheDefaultsOfTheCode(t *testing.T) {
	t.Parallel()
	_, said := syntax(t)
	for property, want := range map[string]string{
		"store":        fmt.Sprintf("The default is `%s` in the directory from the *root* plugin", defaultStoreFile),
		"ttl":          fmt.Sprintf("from 0 to %d. The default is %d.", maxTTL, defaultTTL),
		"negative_ttl": fmt.Sprintf("from 0 to %d. It is the minimum of the SOA. The default is %d,", maxTTL, defaultNegativeTTL),
		"cooldown":     fmt.Sprintf("The default is `%.0fh`.", defaultCooldown.Hours()),
		"kuma_zone":    fmt.Sprintf("The default is `%s`.", defaultKumaZone),
	} {
		if !strings.Contains(said[property], want) {
			t.Errorf("%s: the README says %q, want in it %q", property, said[property], want)
		}
	}
}
