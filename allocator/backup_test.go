package allocator_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
	"go4.org/netipx"
	"pgregory.net/rapid"
)

// backup returns a state as it is backed up.
func backup(t testing.TB, s allocator.State) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := allocator.WriteBackup(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// stateDiff compares all that states hold, whatever their order.
func stateDiff(want, got allocator.State) string {
	return cmp.Diff(want, got,
		cmpopts.SortSlices(func(a, b *vip.Row) bool { return a.Key().Compare(b.Key()) < 0 }),
		cmpopts.SortSlices(func(a, b allocator.Held) bool { return a.Addr.Less(b.Addr) }),
		cmpopts.SortSlices(func(a, b allocator.Damage) bool { return a.Place < b.Place }),
		cmpopts.SortSlices(strings.Compare),
		cmp.Comparer(func(a, b netip.Addr) bool { return a == b }), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
		cmp.Comparer(func(a, b netipx.IPRange) bool { return a == b }), cmp.Comparer(func(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) }),
		cmpopts.EquateEmpty())
}

// someWord draws a text, which need not be UTF-8.
func someWord() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		if rapid.Bool().Draw(t, "plain") {
			return rapid.SampledFrom([]string{"a", "kuma.io/service", `"\<>` + "\u2028\n", "{}"}).Draw(t, "word")
		}
		return string(rapid.SliceOfN(rapid.Byte(), 1, 8).Draw(t, "bytes"))
	})
}

// someOddState draws a state of the oddest content, which need not be sound.
func someOddState() *rapid.Generator[allocator.State] {
	return rapid.Custom(func(t *rapid.T) allocator.State {
		key := rapid.Custom(func(t *rapid.T) vip.Key {
			e := vip.Entry{Kind: vip.Kind(rapid.IntRange(0, 5).Draw(t, "kind")), Name: someWord().Draw(t, "name")}
			if e.Kind.OfMesh() {
				e.Mesh = someWord().Draw(t, "of")
			}
			return e.Key()
		})
		s := allocator.State{Meta: allocator.Meta{
			ID: someWord().Draw(t, "id"), Serial: rapid.Uint32().Draw(t, "serial"), Revision: rapid.Uint64().Draw(t, "revision"),
			Clock: time.Duration(rapid.Int64Min(0).Draw(t, "clock")), Generation: rapid.Uint64().Draw(t, "generation"),
			Synced: rapid.Bool().Draw(t, "synced"), Options: someWord().Draw(t, "options"),
		}}
		for _, p := range somePools().Draw(t, "pools") {
			s.Meta.Pools = append(s.Meta.Pools, allocator.Pool{Prefix: p, Next: rapid.SampledFrom([]netip.Addr{{}, p.Addr()}).Draw(t, "next"), Retired: rapid.Bool().Draw(t, "retired")})
			s.Meta.Quarantine = append(s.Meta.Quarantine, allocator.Quarantine{Range: netipx.RangeOfPrefix(p), Until: time.Duration(rapid.Int64Min(0).Draw(t, "until"))})
		}
		s.Meshes = rapid.SliceOfNDistinct(someWord(), 0, 3, rapid.ID[string]).Draw(t, "meshes")
		for _, k := range rapid.SliceOfNDistinct(key, 0, 4, rapid.ID[vip.Key]).Draw(t, "keys") {
			r := &vip.Row{Entry: vip.Entry(k), V4: somePlace().Draw(t, "v4")}
			for _, mesh := range s.Meshes {
				l := vip.Listing{Mesh: mesh, Name: rapid.SampledFrom([]string{k.Name, strings.ToUpper(k.Name)}).Draw(t, "spelling")}
				for range rapid.IntRange(0, 2).Draw(t, "outbounds") {
					o := vip.Outbound{Port: rapid.Uint16().Draw(t, "port"), Origin: someWord().Draw(t, "origin")}
					for range rapid.IntRange(0, 2).Draw(t, "tags") {
						o.Tags = append(o.Tags, vip.Tag{Key: someWord().Draw(t, "key"), Value: rapid.SampledFrom([]string{k.Name, "x"}).Draw(t, "value")})
					}
					l.Outbounds = append(l.Outbounds, o)
				}
				if rapid.Bool().Draw(t, "asks") {
					l.Terms = &vip.Terms{
						Static: []netip.Addr{somePlace().Draw(t, "static")}, Given: []netip.Addr{somePlace().Draw(t, "given")},
						Hostnames: []string{someWord().Draw(t, "hostname")}, Follow: rapid.Bool().Draw(t, "follow"),
					}
				}
				r.Listings = append(r.Listings, l)
			}
			s.Rows = append(s.Rows, r)
		}
		for _, a := range rapid.SliceOfNDistinct(somePlace(), 0, 6, rapid.ID[netip.Addr]).Draw(t, "addresses") {
			h := allocator.Holding{Owner: key.Draw(t, "owner"), Since: rapid.Int64().Draw(t, "since")}
			if h.Released = rapid.Bool().Draw(t, "released"); h.Released {
				h.At, h.Mesh = time.Duration(rapid.Int64Min(0).Draw(t, "at")), someWord().Draw(t, "last mesh")
			}
			s.Addrs = append(s.Addrs, allocator.Held{Addr: a, Holding: h})
		}
		if rapid.Bool().Draw(t, "damaged") {
			s.Damaged = []allocator.Damage{{Place: someWord().Draw(t, "place"), Err: errFault, Addr: somePlace().Draw(t, "where")}, {Place: "z"}}
		}
		return s
	})
}

// TestABackupHoldsAllThatAStoreHas, and is the same for the same state in any
// order.
func TestABackupHoldsAllThatAStoreHas(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := someOddState().Draw(t, "state")
		var b, again bytes.Buffer
		if err := allocator.WriteBackup(&b, s); err != nil {
			t.Fatal(err)
		}
		shuffled := s
		shuffled.Rows, shuffled.Addrs = slices.Clone(s.Rows), slices.Clone(s.Addrs)
		slices.Reverse(shuffled.Rows)
		slices.Reverse(shuffled.Addrs)
		if err := allocator.WriteBackup(&again, shuffled); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
			t.Fatalf("%v, in another order:\n%s\n%s", err, b.Bytes(), again.Bytes())
		}
		got, err := allocator.ReadBackup(iotest.OneByteReader(&b))
		if err != nil {
			t.Fatalf("%v:\n%s", err, again.Bytes())
		}
		if diff := stateDiff(s, got); diff != "" {
			t.Fatalf("it differs (-want +got):\n%s", diff)
		}
	})
}

// TestABackupThatIsNotWholeIsRefused, wherever it is cut, and whichever bit is
// another.
func TestABackupThatIsNotWholeIsRefused(t *testing.T) {
	t.Parallel()
	whole := backup(t, goodState())
	if got, err := allocator.ReadBackup(bytes.NewReader(whole)); err != nil || stateDiff(goodState(), got) != "" {
		t.Fatal(err, stateDiff(goodState(), got))
	}
	refused := func(what string, file []byte) {
		if _, err := allocator.ReadBackup(bytes.NewReader(file)); !errors.Is(err, allocator.ErrBackup) && !errors.Is(err, allocator.ErrNewer) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for n := range whole {
		refused(fmt.Sprintf("cut to %d bytes", n), whole[:n])
		for bit := range 8 {
			flipped := bytes.Clone(whole)
			flipped[n] ^= 1 << bit
			refused(fmt.Sprintf("bit %d of byte %d", bit, n), flipped)
		}
	}
	refused("something follows", append(bytes.Clone(whole), '\n'))
	refused("two backups", append(bytes.Clone(whole), whole...))
	lines := bytes.SplitAfter(whole, []byte("\n"))
	for i := range lines[:len(lines)-1] {
		refused(fmt.Sprintf("without line %d", i+1), bytes.Join(slices.Delete(slices.Clone(lines), i, i+1), nil))
	}
}

// TestABackupThatCannotBeReadSaysWhy.
func TestABackupThatCannotBeReadSaysWhy(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"":                     "line 1: it ends here, and is cut short",
		"[]\n":                 "it is no backup of meshvip",
		`{"version":1}` + "\n": "it is no backup of meshvip",
		"\x00\x00garbage\n":    "it is no backup of meshvip",
		`{"meshvip":"backup","version":2,"new":[]}` + "\n":                                                                     "version 2, this version knows 1",
		`{"meshvip":"backup","version":1,"meshes":1,"rows":0,"addresses":0,"damaged":0}` + "\n":                                "line 2: it ends here",
		`{"meshvip":"backup","version":1,"meshes":-1}` + "\n":                                                                  "less than none",
		`{"meshvip":"backup","version":1,"addresses":1}` + "\n" + `{"address":"1.2.3.4","owner":{"kind":9,"name":"x"}}` + "\n": "line 2: 1.2.3.4 has an owner that is no entry",
		`{"meshvip":"backup","version":1}` + "\n" + `{"sha256":"00"}` + "\n":                                                   "line 2: the lines before it do not match",
	} {
		_, err := allocator.ReadBackup(strings.NewReader(file))
		wantErr(t, err, want)
	}
	disk := errors.New("the disk is gone")
	if _, err := allocator.ReadBackup(iotest.ErrReader(disk)); !errors.Is(err, disk) || errors.Is(err, allocator.ErrBackup) {
		t.Errorf("a reader that fails: %v", err)
	}
	if err := allocator.WriteBackup(failing{}, goodState()); !errors.Is(err, errFault) {
		t.Errorf("a writer that fails: %v", err)
	}
}

// failing is a writer on a disk that is full.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFault }

// TestAnAllocatorsStateIsItsStores, with the clock of now, and nobody else's.
func TestAnAllocatorsStateIsItsStores(t *testing.T) {
	t.Parallel()
	store, c := quarantined(t), &clock{wall: time.Unix(1e9, 0)}
	cfg := allocator.Config{Layout: layout("10.0.0.0/28"), Cooldown: time.Hour, MaxRelease: anyRelease}
	a := open(t, store, c, cfg)
	apply(t, a, full(set("m", "web", "gone")))
	apply(t, a, part(drop("m", "gone")))
	c.running = time.Minute
	got, err := a.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want, err := store.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want.Meta.Clock = time.Minute
	if diff := stateDiff(want, got); diff != "" {
		t.Errorf("it differs (-want +got):\n%s", diff)
	}
	got.Meta.Pools[0].Next, got.Meta.Quarantine[0].Until = netip.Addr{}, 0
	tick(t, a)
	if err := a.Verify(t.Context()); err != nil || a.Stats().Meta.Quarantine[0].Until == 0 || !a.Pools()[0].Next.IsValid() {
		t.Errorf("the caller changed the table: %v", err)
	}
}

// FuzzReadBackup: whatever is read as a backup is written as it was.
func FuzzReadBackup(f *testing.F) {
	f.Add(backup(f, goodState()))
	f.Add([]byte(`{"meshvip":"backup","version":1}` + "\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		s, err := allocator.ReadBackup(bytes.NewReader(file))
		if err != nil {
			return
		}
		again, err := allocator.ReadBackup(bytes.NewReader(backup(t, s)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := stateDiff(s, again); diff != "" {
			t.Fatal(diff)
		}
	})
}
