package test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// bomb is a document whose aliases would expand to some ten billion texts.
func bomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), i-1)
	}
	return b.String()
}

// badFiles are contents of a file that cannot be used, with what the log says
// of them: where in the file it is, and what to do about it.
var badFiles = []struct{ name, content, place, remedy string }{
	{"half-written", dataplane("default", "x", "one", "two")[:120] + "\n  \"", "line 10", "correct the document that begins in line 1"},
	{"binary", "\x7fELF\x02\x01\x01\x00\x00\x00", "line 1", "a NUL byte: the file is binary, or was cut short by a crash; write it again as UTF-8 text"},
	{"emptied", "", "", "write its resources again, or a comment"},
	// In quotes that are never closed: half a comment would be a whole one.
	{"huge", "\"" + strings.Repeat("x", 17<<20), "", "is larger than 16777216 bytes: split it into several files"},
	{"bomb", bomb(), "line 1", "correct the document that begins in line 1"},
	{"latin-1", "# caf\xe9\n" + dataplane("default", "x", "one"), "line 1", "byte 0xe9 is not UTF-8: save the file as UTF-8 text"},
	{"nameless", "type: Dataplane\nmesh: default\nnetworking:\n  inbound: []\n", ".yaml:1", "the Dataplane has no name: add one"},
	{"no-service", "type: ExternalService\nmesh: default\nname: x\nnetworking:\n  address: a.example:80\n", ".yaml:1", "tags has no kuma.io/service, which names the service: add it"},
	{"no-mapping", "just a line\n", "line 1", "not a mapping of keys to values"},
}

func TestABrokenFileChangesNothing(t *testing.T) {
	t.Parallel()
	p := exampleSite(t)
	var victims []string
	for _, bad := range badFiles {
		write(t, p.resources, "victims/"+bad.name+".yaml", dataplane("default", "victim-"+bad.name, "of-"+bad.name))
		victims = append(victims, "of-"+bad.name+".mesh")
	}
	s := p.start()
	before := s.resolveAll(append(exampleNames(), victims...)...)
	serial := s.soaSerial()
	for _, bad := range badFiles {
		path := filepath.Join(p.resources, "victims", bad.name+".yaml")
		// In place: also the moment in which the file is empty is seen.
		if err := os.WriteFile(path, []byte(bad.content), 0o644); err != nil {
			t.Fatal(err)
		}
		s.logLine("[WARNING]", path, bad.place, bad.remedy)
		s.unmoved(before)
	}
	s.wait("the errors to be counted", func() bool { return s.metric("source_errors_total") >= float64(len(badFiles)) })
	// Others go on: a new service comes, and nothing was written but for it.
	if now := s.soaSerial(); now != serial {
		t.Errorf("the serial went from %d to %d although nothing changed", serial, now)
	}
	write(t, p.resources, "shop/new.yaml", dataplane("default", "new", "new"))
	s.resolves("new.mesh")
	// Whoever mends them finds everything in its place.
	for _, bad := range badFiles {
		write(t, p.resources, "victims/"+bad.name+".yaml", dataplane("default", "victim-"+bad.name, "of-"+bad.name, "mended-"+bad.name))
		s.resolves("mended-" + bad.name + ".mesh")
		s.logLine("no longer a problem", "victims/"+bad.name+".yaml")
	}
	s.unmoved(before)
}

func TestAStartWithBrokenFilesReleasesNothing(t *testing.T) {
	t.Parallel()
	p := exampleSite(t)
	s := p.start()
	before := s.resolveAll(exampleNames()...)
	s.kill()
	write(t, p.resources, "shop/dataplanes.yaml", "type: Dataplane\nname: [")
	write(t, p.resources, "warehouse/floor.yaml", "")
	// A service that is gone for good, but not known to be, as there is no
	// telling what the broken files held.
	p.remove("payments/external-services.yaml")
	s = p.start()
	s.logLine("releases are held", "never read well", "shop/dataplanes.yaml")
	s.unmoved(before)
	copyTree(t, filepath.Join(top, "examples", "resources", "shop"), filepath.Join(p.resources, "shop"))
	copyTree(t, filepath.Join(top, "examples", "resources", "warehouse"), filepath.Join(p.resources, "warehouse"))
	gone := []string{"card-charges.mesh", "card-webhooks.mesh", "bank-gateway.mesh"}
	for _, n := range gone {
		s.goes(n)
	}
	s.unmoved(before.without(gone...))
}

func TestAnEntryThatDNSCannotCarryTroublesNoOther(t *testing.T) {
	t.Parallel()
	p := exampleSite(t)
	long := strings.Repeat("a", 64)
	half := strings.Repeat("b", 61) + "_cc" // 64 octets as one label, 61 and 2 as two
	write(t, p.resources, "long.yaml", dataplane("default", "long", long, half, "neighbour"))
	s := p.start()
	before := s.resolveAll(append(exampleNames(), "neighbour.mesh", strings.ReplaceAll(half, "_", ".")+".mesh")...)
	s.logLine("name "+long+" of 0:"+long+" is not served", "it has a label of 64 octets, and DNS carries 63")
	s.logLine("name "+half+" of 0:"+half+" is not served", "it has a label of 64 octets")
	s.wait("a row of the published table", func() bool { return p.table("default")["0:"+long] != "" })
	if ptr := s.ptr(before["neighbour.mesh"]); ptr != "neighbour.mesh." {
		t.Errorf("the name of the neighbour's address is %q", ptr)
	}
}
