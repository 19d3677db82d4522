package names

import (
	"slices"
	"strings"
)

// apexHost is the name below a zone that its apex has: the name server's.
const apexHost = "ns.dns"

// zoneSet are the forward zones of all server blocks. It is immutable.
type zoneSet struct {
	names []string // sorted, none twice
	// longest is the number of octets that the longest zone adds to a name.
	longest int
	// first is the first of names that is not ".", empty if there is none.
	first string
}

func newZoneSet(zones []string) *zoneSet {
	z := &zoneSet{names: slices.Compact(slices.Sorted(slices.Values(zones)))}
	for _, zone := range z.names {
		z.longest = max(z.longest, octets(zone))
		if z.first == "" && zone != "." {
			z.first = zone
		}
	}
	return z
}

func (z *zoneSet) has(zone string) bool {
	_, ok := slices.BinarySearch(z.names, zone)
	return ok
}

// reserves reports whether name, relative or absolute, is the apex's.
func (z *zoneSet) reserves(name string) bool {
	rest, ok := strings.CutPrefix(name, apexHost)
	switch {
	case !ok:
		return false
	case rest == "":
		return true
	case rest == ".":
		return z.has(".")
	}
	return rest[0] == '.' && z.has(rest[1:])
}

// reserved returns the absolute names that are the apex's.
func (z *zoneSet) reserved() []string {
	names := make([]string, len(z.names))
	for i, zone := range z.names {
		names[i] = under(apexHost, zone)
	}
	return names
}

// under returns the relative name below zone.
func under(name, zone string) string {
	if zone == "." {
		return name + "."
	}
	return name + "." + zone
}

// relative returns what of the full name stands before zone, and whether the
// name lies below zone at all. The name "a.mesh." below "mesh." is "a"; below
// ".", "a.mesh".
func relative(name, zone string) (string, bool) {
	if zone == "." {
		return strings.TrimSuffix(name, "."), name != "."
	}
	i := len(name) - len(zone) - 1
	if i <= 0 || name[i] != '.' || name[i+1:] != zone {
		return "", false
	}
	return name[:i], true
}

// covers reports whether the full name is zone or lies below it.
func covers(zone, name string) bool {
	if name == zone {
		return true
	}
	_, ok := relative(name, zone)
	return ok
}

// longestCovering returns the longest of zones that covers name, "" if none.
func longestCovering(name string, zones []string) string {
	best := ""
	for _, zone := range zones {
		if len(zone) > len(best) && covers(zone, name) {
			best = zone
		}
	}
	return best
}

// isAbsolute tells the two sorts of names apart.
func isAbsolute(name string) bool { return name[len(name)-1] == '.' }
