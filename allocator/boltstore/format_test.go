package boltstore_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
	bolt "go.etcd.io/bbolt"
	"go4.org/netipx"
)

// formatOne is what testdata/format1.db.gz holds, which was written by the last
// version of format 1.
func formatOne() allocator.State {
	outbounds := func(name string, port uint16) []vip.Outbound {
		return []vip.Outbound{{Port: port, Tags: []vip.Tag{{Key: "kuma.io/service", Value: name}}, Origin: "service"}}
	}
	addr := netip.MustParseAddr
	released := func(name string, at time.Duration) allocator.Holding {
		return allocator.Holding{Owner: vip.Key{Name: name}, Released: true, At: at, Mesh: "blue"}
	}
	held := func(kind vip.Kind, mesh, name string) allocator.Holding {
		return allocator.Holding{Owner: vip.Key{Kind: kind, Mesh: mesh, Name: name}}
	}
	return allocator.State{
		Meta: allocator.Meta{
			Serial: 7, Revision: 1, Clock: time.Hour, Synced: true, Options: "options",
			Pools: []allocator.Pool{
				{Prefix: netip.MustParsePrefix("240.0.0.0/16"), Next: addr("240.0.0.9")},
				{Prefix: netip.MustParsePrefix("fd00::/64"), Next: addr("fd00::9"), Retired: true},
			},
		},
		Rows: []*vip.Row{
			{
				Entry: vip.Entry{Name: "Web"}, V4: addr("240.0.0.1"), V6: addr("fd00::1"),
				Listings: []vip.Listing{
					{Mesh: "blue", Name: "web", Outbounds: outbounds("web", 80)},
					{Mesh: "green", Name: "Web", Outbounds: append(outbounds("Web", 0), outbounds("web", 81)...)},
				},
			},
			{
				Entry: vip.Entry{Kind: vip.Host, Name: "httpbin.org"}, V4: addr("240.0.0.2"),
				Listings: []vip.Listing{{
					Mesh: "blue", Name: "httpbin.org", Terms: &vip.Terms{Static: []netip.Addr{addr("240.0.0.2")}},
					Outbounds: []vip.Outbound{{Port: 443, Origin: "external-service:httpbin"}},
				}},
			},
			{
				Entry: vip.Entry{Kind: vip.MeshService, Mesh: "green", Name: "api"},
				Listings: []vip.Listing{{Mesh: "green", Name: "api", Terms: &vip.Terms{
					Given: []netip.Addr{addr("241.0.0.7")}, Hostnames: []string{"api.mesh.local", "api.svc"},
				}}},
			},
		},
		Addrs: []allocator.Held{
			{Addr: addr("240.0.0.1"), Holding: held(vip.Service, "", "web")},
			{Addr: addr("240.0.0.2"), Holding: held(vip.Host, "", "httpbin.org")},
			{Addr: addr("240.0.0.3"), Holding: released("gone", time.Minute)},
			{Addr: addr("fd00::1"), Holding: held(vip.Service, "", "web")},
			{Addr: addr("fd00::3"), Holding: released("web", time.Second)},
		},
		Meshes: []string{"blue", "green", "idle"},
	}
}

// formatTwo is what testdata/format2.db.gz holds, which was written by the last
// version of format 2.
func formatTwo() allocator.State {
	s := formatOne()
	s.Meta.Generation = 4
	return s
}

// older are the formats before this one, with what their files hold.
var older = map[uint32]func() allocator.State{1: formatOne, 2: formatTwo}

// formatFile lays testdata/formatN.db.gz down as a store.
func formatFile(t *testing.T, format uint32) (path string, file []byte) {
	t.Helper()
	packed, err := os.Open(filepath.Join("testdata", fmt.Sprintf("format%d.db.gz", format)))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	r, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	if file, err = io.ReadAll(r); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "t.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, file
}

// holds fails the test unless the store at path holds want, whatever its ID.
func holds(t *testing.T, path string, want allocator.State) {
	t.Helper()
	s := mustOpen(t, path)
	defer s.Close()
	got := stateOf(t, s)
	if err := allocator.Check(got); err != nil {
		t.Error(err)
	}
	if got.Meta.ID == "" {
		t.Error("it has lost its ID")
	}
	got.Meta.ID = ""
	addrs := cmp.Comparer(func(a, b netip.Addr) bool { return a == b })
	prefixes := cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })
	ranges := cmp.Comparer(func(a, b netipx.IPRange) bool { return a == b })
	byKey := cmpopts.SortSlices(func(a, b *vip.Row) bool { return a.Key().Compare(b.Key()) < 0 })
	if diff := cmp.Diff(want, got, addrs, prefixes, ranges, byKey, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the state differs (-want +got):\n%s", diff)
	}
}

// formatOf returns the format that the store at path says it has.
func formatOf(t *testing.T, path string) (format uint32) {
	t.Helper()
	edit(t, path, func(tx *bolt.Tx) error {
		format = binary.BigEndian.Uint32(tx.Bucket([]byte("meshvip")).Get([]byte("format")))
		return nil
	})
	return format
}

func TestAStoreOfAnOlderFormatIsReadAndNotWritten(t *testing.T) {
	t.Parallel()
	for format, state := range older {
		path, file := formatFile(t, format)
		holds(t, path, state())
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, file) {
			t.Errorf("format %d: reading it changed the file, %v", format, err)
		}
	}
}

// TestAStoreOfAnOlderFormatBecomesThreeWithItsFirstCommit, which an older version
// refuses, and with no other. The commit has all that is new in format 3, and
// takes an address whose holding is of format 1.
func TestAStoreOfAnOlderFormatBecomesThreeWithItsFirstCommit(t *testing.T) {
	t.Parallel()
	for format, state := range older {
		t.Run(fmt.Sprint(format), func(t *testing.T) {
			t.Parallel()
			path, _ := formatFile(t, format)
			want := state()
			web := want.Rows[0].WithListing(vip.Listing{
				Mesh: "idle", Name: "WEB", Outbounds: want.Rows[0].Listings[0].Outbounds, Terms: &vip.Terms{Follow: true},
			})
			was := want.Addrs[2].Holding
			now := was
			now.Released, now.At, now.Mesh, now.Since = false, 0, "", 1_700_000_000
			gone := &vip.Row{Entry: vip.Entry{Name: "gone"}, V4: want.Addrs[2].Addr, Listings: []vip.Listing{{Mesh: "idle", Name: "gone"}}}
			d := allocator.Delta{
				Base: 1, Meta: want.Meta,
				Rows:  []allocator.RowChange{{Key: gone.Key(), New: gone}, {Key: web.Key(), Old: want.Rows[0], New: web}},
				Addrs: []allocator.AddrChange{{Addr: want.Addrs[2].Addr, Old: &was, New: &now}},
			}
			d.Meta.Revision, d.Meta.Generation = 2, 5
			d.Meta.Quarantine = []allocator.Quarantine{{Range: netipx.MustParseIPRange("240.0.1.0-240.0.2.0"), Until: 2 * time.Hour}}

			s := mustOpen(t, path)
			refused := d
			refused.Base = 7
			if err := s.Commit(context.Background(), refused); !errors.Is(err, allocator.ErrConflict) {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if got := formatOf(t, path); got != format {
				t.Errorf("after a commit that was refused it has format %d", got)
			}

			s = mustOpen(t, path)
			if err := errors.Join(s.Commit(context.Background(), d), s.Close()); err != nil {
				t.Fatal(err)
			}
			if got := formatOf(t, path); got != 3 {
				t.Errorf("after the first commit it has format %d", got)
			}
			want.Meta, want.Rows[0] = d.Meta, web
			want.Rows = append(want.Rows, gone)
			want.Addrs[2].Holding = now
			holds(t, path, want)
		})
	}
}
