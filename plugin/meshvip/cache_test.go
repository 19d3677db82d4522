package meshvip

import (
	"slices"
	"testing"
)

func TestTheCacheIsKeptFromZonesThatAreWhollyOurs(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		zones, lines string
		want         []string
	}{
		{"mesh example.org", "", []string{"240.in-addr.arpa.", "example.org.", "mesh."}},
		{"mesh example.org", "fallthrough", nil},
		{"mesh example.org", "fallthrough mesh", []string{"240.in-addr.arpa.", "example.org."}},
		{"mesh example.org", "fallthrough org", []string{"240.in-addr.arpa.", "mesh."}},
		{"mesh", "fallthrough 240.7.0.0/16", []string{"mesh."}}, // a part of the zone's subtree
		{"mesh sub.mesh", "fallthrough sub.mesh", []string{"240.in-addr.arpa."}},
		{". mesh", "", []string{"240.in-addr.arpa.", "mesh."}},
	} {
		h, _, _ := fixture{zones: tc.zones, lines: tc.lines, pools: []string{"240.0.0.0/8"}}.handler(t)
		got := h.CacheBypassZones()
		slices.Sort(got)
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s with %q: %v, want %v", tc.zones, tc.lines, got, tc.want)
		}
	}
}
