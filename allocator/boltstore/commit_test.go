package boltstore

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"testing"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
)

// pagesPerCommit adds entries one by one to a table of n entries in so many
// meshes, and returns how many pages a commit writes on average.
func pagesPerCommit(t *testing.T, n, meshes int) float64 {
	t.Helper()
	s, _, err := Open(filepath.Join(t.TempDir(), "t.db"), Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	a, err := allocator.Open(t.Context(), s, allocator.Config{Layout: allocator.Ranges(netip.MustParsePrefix("240.0.0.0/8"))})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b := vip.Batch{Full: true, Meshes: make([]vip.MeshUpdate, meshes)}
	for i := range n {
		m := &b.Meshes[i%meshes]
		m.Mesh = fmt.Sprintf("mesh-%05d", i%meshes)
		m.Set = append(m.Set, vip.Request{Entry: vip.Entry{Name: fmt.Sprintf("svc-%07d_ns_svc_80", i)}})
	}
	if _, err := a.Apply(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	const commits = 100
	before := s.db.Stats()
	for i := range commits {
		one := vip.MeshUpdate{
			Mesh: fmt.Sprintf("mesh-%05d", i*7919%meshes),
			Set:  []vip.Request{{Entry: vip.Entry{Name: fmt.Sprintf("new-%07d_ns_svc_80", i)}}},
		}
		if _, err := a.Apply(t.Context(), vip.Batch{Meshes: []vip.MeshUpdate{one}}); err != nil {
			t.Fatal(err)
		}
	}
	after := s.db.Stats()
	return float64(after.TxStats.GetWrite()-before.TxStats.GetWrite()) / commits
}

// TestACommitWritesWhatItChanges: as many pages whatever the number of meshes,
// and of entries only as a tree grows with them. With a list of free pages, or
// a record of all meshes, it would be more by the hundred.
func TestACommitWritesWhatItChanges(t *testing.T) {
	t.Parallel()
	few, many, small := pagesPerCommit(t, 30_000, 10), pagesPerCommit(t, 30_000, 3_000), pagesPerCommit(t, 300, 10)
	t.Logf("%.1f pages with 10 meshes, %.1f with 3,000; %.1f at a hundredth of the entries", few, many, small)
	if many > 1.2*few || few > 2*small {
		t.Errorf("a commit writes %.1f pages with 10 meshes, %.1f with 3,000, %.1f at a hundredth of the entries", few, many, small)
	}
}

// TestAnAddressIsForgottenAsItStands: its key goes, if nobody has changed it,
// and whoever takes the address then takes one that nobody ever had.
func TestAnAddressIsForgottenAsItStands(t *testing.T) {
	t.Parallel()
	s, _, err := Open(filepath.Join(t.TempDir(), "t.db"), Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	base := uint64(0)
	commit := func(c allocator.AddrChange) error {
		d := allocator.Delta{Base: base, Meta: allocator.Meta{Serial: 1, Revision: base + 1, Clock: 9}, Addrs: []allocator.AddrChange{c}}
		err := s.Commit(t.Context(), d)
		if err == nil {
			base++
		}
		return err
	}
	known := func() string {
		state, err := s.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(state.Addrs)
	}
	addr := netip.MustParseAddr("240.0.0.1")
	was := &allocator.Holding{Owner: vip.Key{Name: "web"}, Released: true, At: 5, Mesh: "m"}
	if err := commit(allocator.AddrChange{Addr: addr, New: was}); err != nil {
		t.Fatal(err)
	}
	before := known()
	other := *was
	other.At = 6
	for _, old := range []*allocator.Holding{nil, &other} {
		if err := commit(allocator.AddrChange{Addr: addr, Old: old}); !errors.Is(err, allocator.ErrConflict) || known() != before {
			t.Errorf("forgetting it as %+v: %v, %s", old, err, known())
		}
	}
	if err := commit(allocator.AddrChange{Addr: addr, Old: was}); err != nil || known() != "[]" {
		t.Errorf("forgetting it: %v, %s", err, known())
	}
	if err := commit(allocator.AddrChange{Addr: addr, Old: was, New: &other}); !errors.Is(err, allocator.ErrConflict) {
		t.Errorf("taking it as it was: %v", err)
	}
	if err := commit(allocator.AddrChange{Addr: addr, New: &other}); err != nil {
		t.Errorf("taking it as new: %v", err)
	}
}
