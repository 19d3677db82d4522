package main

import (
	"slices"
	"testing"

	"github.com/coredns/coredns/core/dnsserver"
	"github.com/google/go-cmp/cmp"
)

// pinned is the order that users of this build may rely on. It changes when
// somebody means it to, and not because a new CoreDNS came with another.
var pinned = []string{
	"root",
	"metadata",
	"multisocket",
	"reload",
	"bufsize",
	"bind",
	"debug",
	"ready",
	"health",
	"pprof",
	"prometheus",
	"errors",
	"log",
	"dnstap",
	"any",
	"chaos",
	"loadbalance",
	"rewrite",
	"acl",
	"cache",
	"header",
	"dnssec",
	"tls",
	"minimal",
	"template",
	"transfer",
	"meshvip",
	"hosts",
	"file",
	"auto",
	"secondary",
	"loop",
	"forward",
	"whoami",
	"view",
}

func TestOrderIsPinned(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(pinned, order(dnsserver.Directives, linked())); diff != "" {
		t.Errorf("the order of the plugins changed (-pinned +built):\n%s", diff)
	}
}

func TestEveryDirectiveHasItsPlugin(t *testing.T) {
	t.Parallel()
	plugins := linked()
	for _, d := range pinned {
		if !plugins[d] {
			t.Errorf("directive %q has no plugin in this build: import it in plugins.go", d)
		}
	}
}

func TestEveryPluginHasItsDirective(t *testing.T) {
	t.Parallel()
	for name := range linked() {
		if !slices.Contains(pinned, name) {
			t.Errorf("plugin %q is in this build but not in the order: no Corefile could name it", name)
		}
	}
}
