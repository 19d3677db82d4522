// Command coredns is CoreDNS with the meshvip plugin and a slim, useful set of
// CoreDNS's own plugins around it. plugins.go says which they are,
// directives.go in which order a query passes them.
package main

import (
	"log"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
)

// version is the version of this build, as git describes it. The Makefile sets
// it at link time; a bare go build leaves it.
var version = "dev"

func main() {
	// Both are process-wide and must stand before the server starts, so
	// before coremain.Run reads its flags.
	if err := dnsserver.SetDirectives(order(dnsserver.Directives, linked())); err != nil {
		log.Fatalf("setting the order of the plugins: %v", err)
	}
	caddy.AppVersion = appVersion(version)
	coremain.Run()
}

// appVersion returns what stands behind "CoreDNS-" in the first line of
// coredns -version, and in the answer of plugin chaos: CoreDNS's own version,
// then ours.
func appVersion(ours string) string {
	return coremain.CoreVersion + " meshvip-" + ours
}
