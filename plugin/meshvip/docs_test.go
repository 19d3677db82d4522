package meshvip

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// syntax returns the README's section Syntax: the properties in its block, those
// in the block of each, and what is said of each below it.
func syntax(t *testing.T) (names []string, nested map[string][]string, said map[string]string) {
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
	nested = make(map[string][]string)
	for line := range strings.Lines(parts[1]) {
		property, ok := strings.CutPrefix(line, "    ")
		switch inner, of := strings.CutPrefix(property, "    "); {
		case of:
			around := names[len(names)-1]
			nested[around] = append(nested[around], strings.Fields(inner)[0])
		case ok && property != "}\n":
			names = append(names, strings.Fields(property)[0])
		}
	}
	names = slices.Compact(names) // a source and a store have two forms
	said = make(map[string]string)
	for item := range strings.SplitSeq(strings.ReplaceAll(parts[2], "\n  * ", "\n* "), "\n* ") {
		if m := regexp.MustCompile("^`(\\w+)`").FindStringSubmatch(item); m != nil {
			said[m[1]] = strings.Join(strings.Fields(item), " ")
		}
	}
	return names, nested, said
}

func TestREADMEHasThePropertiesThatTheParserKnows(t *testing.T) {
	t.Parallel()
	names, nested, said := syntax(t)
	for _, p := range slices.Concat(propertyNames(), poolProperties, sourceProperties, etcdProperties) {
		if said[p] == "" {
			t.Errorf("property %s is not in the list below the block of Syntax", p)
		}
	}
	if diff := cmp.Diff(propertyNames(), names); diff != "" {
		t.Errorf("properties (-parser +README):\n%s", diff)
	}
	if diff := cmp.Diff(map[string][]string{"pool": poolProperties, "source": sourceProperties, "store": etcdProperties}, nested); diff != "" {
		t.Errorf("properties in blocks (-parser +README):\n%s", diff)
	}
	if known := len(properties) + len(poolProperties) + len(sourceProperties) + len(etcdProperties); len(said) != known {
		t.Errorf("the list of Syntax has %d properties, the parser %d", len(said), known)
	}
}

func TestREADMEHasTheDefaultsOfTheCode(t *testing.T) {
	t.Parallel()
	_, _, said := syntax(t)
	for property, want := range map[string]string{
		"store":        fmt.Sprintf("The default is `%s` in the directory from the *root* plugin", defaultStoreFile),
		"ttl":          fmt.Sprintf("from 0 to %d. The default is %d.", maxTTL, defaultTTL),
		"negative_ttl": fmt.Sprintf("from 0 to %d. It is the minimum of the SOA. The default is %d,", maxTTL, defaultNegativeTTL),
		"cooldown":     fmt.Sprintf("The default is `%.0fh`.", defaultCooldown.Hours()),
		"kuma_domain":  fmt.Sprintf("The default is `%s`", defaultKumaDomain),
		"prefix":       fmt.Sprintf("The default is `%s`.", defaultEtcdPrefix),
		"timeout":      fmt.Sprintf("The default is `%v`.", defaultEtcdTimeout),
		"lease":        fmt.Sprintf("whole seconds, from `%v` to `%.0fh`. When it dies, another takes over after that. The default is `%v`.", minLease, maxLease.Hours(), defaultEtcdLease),
		"interval":     fmt.Sprintf("The default is `%.0fs`", defaultInterval.Seconds()),
		"kuma_zone":    fmt.Sprintf("The default is `%s`.", defaultKumaZone),
	} {
		if !strings.Contains(said[property], want) {
			t.Errorf("%s: the README says %q, want in it %q", property, said[property], want)
		}
	}
}
