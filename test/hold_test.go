package test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestDeletingMostReleasesNothingUntilItIsConfirmed(t *testing.T) {
	t.Parallel()
	p := exampleSite(t)
	s := p.start()
	before := s.resolveAll(exampleNames()...)
	serial := s.soaSerial()
	p.remove("shop", "payments", "warehouse")
	s.logLine("releases are held", "max_release in the Corefile", "mesh=default", "entries=13")
	s.measured("held_releases", 13+9+6)
	s.unmoved(before)
	if now := s.soaSerial(); now != serial {
		t.Errorf("the serial went from %d to %d although nothing was released", serial, now)
	}

	// A restart does not confirm it.
	s.kill()
	s = p.start()
	s.logLine("releases are held", "mesh=default")
	s.unmoved(before)

	p.reload(s, "max_release 100%")
	left := []string{"recommendations.mesh", "search.mesh", "exchange-rates.mesh", "returns.mesh", "stock.north-depot.svc.6000.mesh"}
	for n := range before.without(left...) {
		s.goes(n)
	}
	for _, n := range left {
		if addr := s.addr4(n); addr != before[n] {
			t.Errorf("%s is still listed, and has moved from %v to %v", n, before[n], addr)
		}
	}
	s.measured("held_releases", 0)
	s.logLine("releases are no longer held", "mesh=default")
	s.wait("the published table", func() bool { return len(p.table("default")) == 2 })

	// The addresses are kept for those that had them.
	copyTree(t, filepath.Join(top, "examples", "resources"), p.resources)
	s.resolveAll(exampleNames()...)
	s.unmoved(before)
}

func TestFilesThatComeBackFindTheirAddresses(t *testing.T) {
	t.Parallel()
	p := exampleSite(t)
	s := p.start()
	before := s.resolveAll(exampleNames()...)
	p.remove("shop", "payments", "warehouse")
	s.measured("held_releases", 13+9+6)
	copyTree(t, filepath.Join(top, "examples", "resources"), p.resources)
	s.measured("held_releases", 0)
	s.unmoved(before)
	if n := s.metric("releases_total"); n != 0 {
		t.Errorf("%v addresses were released", n)
	}
}

func TestAnEmptiedDirectoryReleasesNothing(t *testing.T) {
	t.Parallel()
	p := exampleSite(t)
	// Not even where so much may go: that nothing is left is no list of
	// what there should be.
	s := p.start("max_release 100%")
	before := s.resolveAll(exampleNames()...)
	p.remove("meshes.yaml", "shop", "payments", "warehouse", "zones")
	emptied := time.Now()
	s.logLine("the directory holds no resource file", "put the files back, or a file with only a comment")
	// Nothing tells that the grace of the files is over when nothing goes, so
	// go on asking until it must be.
	s.wait("the grace of removed files to be over", func() bool {
		s.unmoved(before)
		return t.Failed() || time.Since(emptied) > 3*time.Second
	})

	p.remove("") // and now the directory itself
	s.logLine("the directory does not exist", "put the directory back")
	s.unmoved(before)

	// With the directory away and back, a restart in between.
	s.kill()
	s = p.start("max_release 100%")
	s.logLine("the directory does not exist", "create the directory")
	s.unmoved(before)

	// This says that it is meant.
	write(t, p.resources, "none.yaml", "# all services have moved away\n")
	for n := range before {
		s.goes(n)
	}
	s.wait("the published tables", func() bool { return p.table("payments") == nil && p.table("warehouse") == nil })
}

func TestAMeshThatIsNoLongerDeclaredIsHeld(t *testing.T) {
	t.Parallel()
	p := exampleSite(t)
	s := p.start()
	before := s.resolveAll(exampleNames()...)
	p.rewrite("meshes.yaml", "type: Mesh\nname: warehouse\n", "")
	s.logLine("releases are held", "mesh=warehouse", "entries=8", "would go with its 8 entries")
	s.measured("held_releases", 8)
	s.unmoved(before)
	write(t, p.resources, "warehouse/mesh.yaml", "type: Mesh\nname: warehouse\n")
	s.measured("held_releases", 0)
	s.unmoved(before)
	// The mesh is as alive as before.
	write(t, p.resources, "warehouse/more.yaml", dataplane("warehouse", "pallets-1", "pallets"))
	s.resolves("pallets.mesh")

	p.remove("warehouse/mesh.yaml")
	s.measured("held_releases", 9)
	p.reload(s, "max_release 100%")
	for _, e := range exampleEntries["warehouse"] {
		s.goes(nameOf(e))
		delete(before, nameOf(e))
	}
	s.unmoved(before)
	s.wait("the published files of the mesh to go", func() bool { return p.table("warehouse") == nil && p.outbounds("warehouse") == "" })
	if strings.Contains(s.log.String(), "[ERROR]") {
		t.Error("an error was logged")
	}
}
