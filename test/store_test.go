package test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	bolt "go.etcd.io/bbolt"
)

// servesNothing checks that the zones of meshvip, and only these, are answered
// with SERVFAIL, and that the server does not call itself ready.
func (s *server) servesNothing() {
	s.t.Helper()
	s.servesOther()
	for name, qtype := range map[string]uint16{
		"backend.mesh": dns.TypeA, "nope.mesh": dns.TypeA, "mesh": dns.TypeSOA, "1.0.0.240.in-addr.arpa": dns.TypePTR,
	} {
		if r := s.ask(name, qtype); r.Rcode != dns.RcodeServerFailure {
			s.t.Errorf("%s without a table: %s, want SERVFAIL", name, dns.RcodeToString[r.Rcode])
		}
	}
	if s.isReady() {
		s.t.Error("ready without a table")
	}
}

// filled returns a site whose store a server has filled, and what it answered.
func filled(t testing.TB) (*site, answers) {
	t.Helper()
	p := exampleSite(t)
	s := p.start()
	got := s.resolveAll(exampleNames()...)
	s.kill()
	return p, got
}

func TestALockedStoreIsTakenOverWhenItIsFree(t *testing.T) {
	t.Parallel()
	p := exampleSite(t)
	first := p.start()
	before := first.resolveAll(exampleNames()...)
	other := exampleSite(t)
	other.store = "" // the other's
	second := other.start("store bolt " + p.store)
	second.logLine("[ERROR]", p.store, "the store is in use by another process", "stop the other process, or give each its own store")
	second.servesNothing()
	first.unmoved(before)
	first.kill()
	second.wait("the table", func() bool { return second.rcode("backend.mesh") == "NOERROR" })
	second.unmoved(before)
	second.wait("it to be ready", second.isReady)
	// It writes too.
	write(t, other.resources, "shop/new.yaml", dataplane("default", "new", "new"))
	second.resolves("new.mesh")
}

// damages are what may befall a store's file, with what the log says of it
// beside the file's name.
var damages = []struct {
	name   string
	do     func(t *testing.T, path string)
	remedy string
}{
	{"emptied", func(t *testing.T, path string) { rewriteFile(t, path, func([]byte) []byte { return nil }) }, restore},
	{"cut short", func(t *testing.T, path string) {
		rewriteFile(t, path, func(b []byte) []byte { return b[:3*os.Getpagesize()+100] })
	}, restore},
	{"cut to its first page", func(t *testing.T, path string) { rewriteFile(t, path, func(b []byte) []byte { return b[:4096] }) }, restore},
	{"head zeroed", func(t *testing.T, path string) {
		rewriteFile(t, path, func(b []byte) []byte { clear(b[:2*os.Getpagesize()]); return b })
	}, restore},
	{"all but the head zeroed", func(t *testing.T, path string) {
		rewriteFile(t, path, func(b []byte) []byte { clear(b[2*os.Getpagesize():]); return b })
	}, restore},
	{"something else", func(t *testing.T, path string) {
		rewriteFile(t, path, func([]byte) []byte { return bytes.Repeat([]byte("not a store\n"), 4096) })
	}, restore},
	{"newer format", func(t *testing.T, path string) {
		db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := db.Update(func(tx *bolt.Tx) error {
			return tx.Bucket([]byte("meshvip")).Put([]byte("format"), []byte{0, 1, 0, 0})
		}); err != nil {
			t.Fatal(err)
		}
	}, "run the version that wrote it, or a newer one; it was not touched"},
}

const restore = "restore it from a backup; it was not touched. To start over with new addresses, move it away"

func rewriteFile(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, change(b), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestADamagedStoreIsNeitherServedNorTouched(t *testing.T) {
	t.Parallel()
	for _, d := range damages {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			p, before := filled(t)
			path := p.store
			whole, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			d.do(t, path)
			damaged, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			s := p.start()
			s.logLine("[ERROR]", path, d.remedy)
			s.servesNothing()
			if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, damaged) {
				t.Errorf("the damaged file was changed (%v)", err)
			}
			if rest, _ := filepath.Glob(path + ".*"); len(rest) > 0 {
				t.Errorf("left beside the store: %v", rest)
			}
			// The backup comes back while the server runs.
			if err := os.WriteFile(path+".backup", whole, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(path+".backup", path); err != nil {
				t.Fatal(err)
			}
			s.wait("the table", func() bool { return s.rcode("backend.mesh") == "NOERROR" })
			s.unmoved(before)
			s.wait("it to be ready", s.isReady)
		})
	}
}

func TestAStoreThatCannotBeMadeLeavesOtherZonesServed(t *testing.T) {
	t.Parallel()
	p := exampleSite(t)
	write(t, p.dir, "file", "no directory")
	p.store = filepath.Join(p.dir, "file", "meshvip.db")
	s := p.start()
	s.logLine("[ERROR]", p.store, "name another path in the Corefile")
	s.servesNothing()
	// As soon as it can be made, it is.
	if err := os.Remove(filepath.Join(p.dir, "file")); err != nil {
		t.Fatal(err)
	}
	s.wait("the table", func() bool { return s.rcode("backend.mesh") == "NOERROR" })
	s.wait("it to be ready", s.isReady)
}

func TestALostStoreIsTakenUpFromWhatWasPublished(t *testing.T) {
	t.Parallel()
	p := exampleSite(t)
	s := p.start()
	first := s.resolveAll(exampleNames()...)
	// Addresses in another order than that of names.
	write(t, p.resources, "shop/new.yaml", dataplane("default", "new", "aardvark", "Zebra_shop_svc_80"))
	more := s.resolveAll("aardvark.mesh", "zebra.shop.svc.80.mesh")
	s.wait("the published table", func() bool { return len(p.table("default")) == len(exampleEntries["default"])+2 })
	for _, mesh := range []string{"payments", "warehouse"} {
		s.wait("the published table of "+mesh, func() bool { return len(p.table(mesh)) == len(exampleEntries[mesh]) })
	}
	s.kill()
	if err := os.Remove(p.store); err != nil {
		t.Fatal(err)
	}
	s = p.start()
	s.logLine("took up the published addresses", "entries=34")
	s.unmoved(first)
	s.unmoved(more)
	for name, addr := range first {
		if ptr := s.ptr(addr); ptr != name+"." {
			t.Errorf("the name of %v is %q, want that of %s", addr, ptr, name)
		}
	}
	// What comes later gets an address that nobody has.
	write(t, p.resources, "shop/newer.yaml", dataplane("default", "newer", "newer"))
	addr := s.resolves("newer.mesh")
	for name, taken := range first {
		if addr == taken {
			t.Errorf("%v of %s was given again", addr, name)
		}
	}
}

func TestAFilledTableIsServedWithoutItsSource(t *testing.T) {
	t.Parallel()
	p, before := filled(t)
	p.remove("")
	s := p.start()
	s.unmoved(before)
	if rcode := s.rcode("nope.mesh"); rcode != "NXDOMAIN" {
		t.Errorf("a name that is not in a table which was synced once: %s, want NXDOMAIN", rcode)
	}
	s.wait("it to be ready", s.isReady)
	s.logLine("the directory does not exist", p.resources, "create the directory, or correct its path or permissions")
	s.wait("the error to be counted", func() bool { return s.metric("source_errors_total") >= 1 })
	copyTree(t, filepath.Join(top, "examples", "resources"), p.resources)
	write(t, p.resources, "shop/new.yaml", dataplane("default", "new", "new"))
	s.resolves("new.mesh")
	s.unmoved(before)
}

func TestAnEmptyTableWithoutItsSourceKnowsNothing(t *testing.T) {
	t.Parallel()
	p := newSite(t)
	p.remove("")
	s := p.start()
	s.logLine("the directory does not exist", p.resources, "create the directory, or correct its path or permissions")
	s.servesOther()
	for _, name := range []string{"backend.mesh", "nope.mesh"} {
		if rcode := s.rcode(name); rcode != "SERVFAIL" {
			t.Errorf("%s before the source was read: %s, want SERVFAIL", name, rcode)
		}
	}
	if s.isReady() {
		t.Error("ready although nothing is known")
	}
	copyTree(t, filepath.Join(top, "examples", "resources"), p.resources)
	s.resolveAll(exampleNames()...)
	s.wait("it to be ready", s.isReady)
	s.wait("unknown names to be known as such", func() bool { return s.rcode("nope.mesh") == "NXDOMAIN" })
}

func TestAStoreIsReadableByItsOwnerAlone(t *testing.T) {
	t.Parallel()
	p, _ := filled(t)
	info, err := os.Stat(p.store)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 {
		t.Errorf("mode %v, want 0600", mode)
	}
	rest, err := filepath.Glob(p.store + "*")
	if err != nil || len(rest) != 1 || strings.Contains(rest[0], ".new-") {
		t.Errorf("beside the store: %v, %v", rest, err)
	}
}
