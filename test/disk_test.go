//go:build linux

package test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// smallDisk returns a directory on a file system of its own.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("not root: a file system of limited size cannot be mounted")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("a file system of limited size cannot be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmounting %s: %v", dir, err)
		}
	})
	return dir
}

// fillDisk writes a file that takes all the space there is.
func fillDisk(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, n := range []int{1 << 16, 1 << 12, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, n))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
}

func TestAFullDiskTakesNothingAwayAndIsGotOver(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, "4m") // before the site, so that it is there when the store is verified
	p := exampleSite(t)
	p.store = filepath.Join(disk, "meshvip.db")
	s := p.start()
	before := s.resolveAll(exampleNames()...)
	filler := filepath.Join(disk, "filler")
	fillDisk(t, filler)
	// Enough that it cannot go into pages that are free already.
	var services []string
	for i := range 500 {
		services = append(services, strings.Repeat("x", 30)+"-"+string(rune('a'+i%26))+strings.Repeat("y", i/26))
	}
	write(t, p.resources, "many.yaml", dataplane("default", "many", services...))
	s.logLine("[ERROR]", "the table cannot be written: addresses that were given stay, no new one is given", p.store, "no space left on device")
	s.measured("store_lost", 1)
	s.unmoved(before)
	for _, name := range []string{services[0], services[499]} {
		if rcode := s.rcode(name + ".mesh"); rcode != "NXDOMAIN" {
			t.Errorf("%s, which could not be stored: %s, want NXDOMAIN", name, rcode)
		}
	}
	if !s.isReady() {
		t.Error("no longer ready, although the table is served")
	}
	// Killed now, it starts from what is there.
	s.kill()
	verify(t, p.store)
	s = p.start()
	s.unmoved(before)
	s.measured("store_lost", 1)
	s.unmoved(before)

	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	s.resolves(services[0] + ".mesh") // of itself
	s.resolves(services[499] + ".mesh")
	s.measured("store_lost", 0)
	s.unmoved(before)
}

func TestAFirstStartOnAFullDiskIsGotOver(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, "4m")
	filler := filepath.Join(disk, "filler")
	fillDisk(t, filler)
	p := exampleSite(t)
	p.store = filepath.Join(disk, "meshvip.db")
	s := p.start()
	s.logLine("[ERROR]", p.store, "no space left on device")
	s.servesNothing()
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	before := s.resolveAll(exampleNames()...) // of itself
	s.measured("store_lost", 0)
	s.wait("it to be ready", s.isReady)
	if left, _ := filepath.Glob(p.store + ".*"); len(left) > 0 {
		t.Errorf("left beside the store: %v", left)
	}
	s.kill()
	s = p.start()
	s.unmoved(before)
}

func TestAFullDiskOfThePublishedTablesDelaysThemOnly(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, "4m")
	p := exampleSite(t)
	p.published = filepath.Join(disk, "published")
	s := p.start()
	before := s.resolveAll(exampleNames()...)
	s.wait("the published table", func() bool { return len(p.table("payments")) == len(exampleEntries["payments"]) })
	filler := filepath.Join(disk, "filler")
	fillDisk(t, filler)
	write(t, p.resources, "new.yaml", dataplane("payments", "new", strings.Repeat("n", 50), "escrow"))
	addr := s.resolves("escrow.mesh")
	s.logLine("[ERROR]", "tables are not published; trying again", p.published, "no space left on device")
	if rows := p.table("payments"); len(rows) != len(exampleEntries["payments"]) {
		t.Errorf("a published table was damaged: %v", rows)
	}
	s.unmoved(before)
	s.measured("store_lost", 0)
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	s.wait("the published table", func() bool { return p.table("payments")["0:escrow"] == addr.String() }) // of itself
	if left, _ := filepath.Glob(filepath.Join(p.published, ".*")); len(left) > 0 {
		t.Errorf("left beside the published tables: %v", left)
	}
}
