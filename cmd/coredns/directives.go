package main

import (
	"strings"

	"github.com/coredns/caddy"
)

// meshvip stands between these two in the order: a query for a VIP is answered
// from the table before any plugin that keeps records is asked, and after
// everything that guards, logs, caches, rewrites, signs or transfers.
const (
	meshvip = "meshvip"
	before  = "hosts"
)

// order returns the directives of this build in the order in which a query
// passes them: CoreDNS's own order, of which those stay whose plugin is linked,
// with meshvip in its place.
func order(coredns []string, linked map[string]bool) []string {
	var ds []string
	for _, d := range coredns {
		if d == before {
			ds = append(ds, meshvip)
		}
		if linked[d] {
			ds = append(ds, d)
		}
	}
	return ds
}

// linked returns the names under which the plugins of this build are
// registered.
func linked() map[string]bool {
	names := make(map[string]bool)
	for _, name := range caddy.ListPlugins()["others"] {
		// Caddy puts the type of server before the name.
		if name, ok := strings.CutPrefix(name, "dns."); ok {
			names[name] = true
		}
	}
	return names
}
