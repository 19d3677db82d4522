package main

import (
	"bytes"
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meshvip/coredns-meshvip/admin"
	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/boltstore"
	"github.com/meshvip/coredns-meshvip/vip"
)

// broken writes a store in which two entries have one address, and returns its
// path.
func broken(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "meshvip.db")
	store, _, err := boltstore.Open(path, boltstore.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	state, err := store.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	addr := ip("240.0.0.1")
	d := allocator.Delta{Base: state.Meta.Revision, Meta: state.Meta, MeshesNew: []string{"default"}}
	d.Meta.Revision++
	d.Meta.Serial = 7
	d.Meta.Pools = []allocator.Pool{{Prefix: netip.MustParsePrefix("240.0.0.0/24"), Next: ip("240.0.0.2")}}
	for _, name := range []string{"a", "b"} {
		row := &vip.Row{Entry: vip.Entry{Name: name}, V4: addr, Listings: []vip.Listing{{Mesh: "default", Name: name}}}
		d.Rows = append(d.Rows, allocator.RowChange{Key: row.Key(), New: row})
	}
	d.Addrs = []allocator.AddrChange{{Addr: addr, New: &allocator.Holding{Owner: d.Rows[0].Key}}}
	if err := store.Commit(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestABrokenStoreIsShownAndNotRepaired(t *testing.T) {
	t.Parallel()
	path := broken(t)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	s := newSession(strings.NewReader(""), &out, &bytes.Buffer{}, func(string) string { return "" })
	s.store = path
	c, err := s.connect(t.Context(), toRead)
	if err != nil {
		t.Fatal(err)
	}
	v, err := c.Verify(t.Context())
	if err != nil || v.OK || len(v.Breaches) == 0 {
		t.Errorf("verified: %+v, %v", v, err)
	}
	page, err := c.Table(t.Context(), admin.TableQuery{})
	if err != nil || len(page.Rows) != 2 || page.Rows[0].Addresses[0] != page.Rows[1].Addresses[0] {
		t.Errorf("the table is not as the store has it: %+v, %v", page, err)
	}
	for name, ask := range map[string]func(context.Context) error{
		"explain":   func(ctx context.Context) error { _, err := c.Explain(ctx, "0:b"); return err },
		"conflicts": func(ctx context.Context) error { _, err := c.Conflicts(ctx, 0); return err },
		"pools":     func(ctx context.Context) error { _, err := c.Pools(ctx); return err },
	} {
		if err := ask(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := c.ConfirmMoves(t.Context(), "0-12345678"); err == nil {
		t.Error("moves were made in a store that was opened to be read")
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the store was written to (%v)", err)
	}
}

func TestAStoreThatIsReadIsNotHeld(t *testing.T) {
	t.Parallel()
	path := broken(t)
	s := newSession(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}, func(string) string { return "" })
	s.store = path
	if _, err := s.connect(t.Context(), toRead); err != nil {
		t.Fatal(err)
	}
	defer s.close()
	store, _, err := boltstore.Open(path, boltstore.Options{})
	if err != nil {
		t.Fatalf("a server could not open it meanwhile: %v", err)
	}
	store.Close()
}
