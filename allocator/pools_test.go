package allocator_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/big"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
)

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

// names returns n names in their order.
func names(n int) []string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("n-%03d", i))
	}
	return list
}

func TestWhatAPoolGivesOut(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		pool        string
		size        uint64
		first, last string // last is "" where the test does not go to the end
	}{
		{"10.0.0.0/29", 6, "10.0.0.1", "10.0.0.6"},
		{"10.0.0.4/30", 2, "10.0.0.5", "10.0.0.6"},
		{"10.0.0.4/31", 2, "10.0.0.4", "10.0.0.5"},
		{"10.0.0.4/32", 1, "10.0.0.4", "10.0.0.4"},
		{"0.0.0.0/0", 1<<32 - 2, "0.0.0.1", ""},
		{"255.255.255.248/29", 6, "255.255.255.249", "255.255.255.254"},
		{"255.255.255.255/32", 1, "255.255.255.255", "255.255.255.255"},
		{"fd00::/125", 8, "fd00::", "fd00::7"},
		{"fd00::8/128", 1, "fd00::8", "fd00::8"},
		{"fd00::/64", 1<<63 - 1, "fd00::", ""},
		{"::/0", 1<<63 - 1, "::", ""},
		{"fd00::/65", 1<<63 - 1, "fd00::", ""},
		{"fd00::/66", 1 << 62, "fd00::", ""},
		{"ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127", 2, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
	} {
		t.Run(tc.pool, func(t *testing.T) {
			t.Parallel()
			a := open(t, memstore.New(), nil, allocator.Config{Layout: layout(tc.pool)})
			n := 10
			r := apply(t, a, full(set("m", names(n)...)))
			var got []netip.Addr
			for _, row := range a.Rows() {
				got = append(got, row.Addrs()...)
			}
			want := int(min(tc.size, uint64(n)))
			if len(got) != want || len(r.Exhausted) != n-want || r.Allocated != want || a.Stats().Pools[0].Size != tc.size {
				t.Fatalf("got %v, %d of %d wait, size %d", got, len(r.Exhausted), n, a.Stats().Pools[0].Size)
			}
			if got[0] != addr(tc.first) || tc.last != "" && got[len(got)-1] != addr(tc.last) || !slices.IsSortedFunc(got, netip.Addr.Compare) {
				t.Errorf("got %v", got)
			}
		})
	}
}

// TestTheEndOfAWidePool: a /64 is walked to its end as a table that was taken
// over has it, and not beyond; then come those that were passed over.
func TestTheEndOfAWidePool(t *testing.T) {
	t.Parallel()
	store := memstore.New()
	web := &vip.Row{Entry: vip.Entry{Name: "web"}, V6: addr("fd00::ffff:ffff:ffff:fffe"), Listings: []vip.Listing{{Mesh: "m", Name: "web"}}}
	seed(t, store, allocator.Pool{Prefix: prefixes("fd00::/64")[0], Next: web.V6}, web)
	a := open(t, store, nil, allocator.Config{Layout: layout("fd00::/64")})
	apply(t, a, part(set("m", "last", "one-too-many")))
	wantTable(t, a, map[string]string{"web": "fd00::ffff:ffff:ffff:fffe", "last": "fd00::ffff:ffff:ffff:ffff", "one-too-many": "fd00::"})
}

// seed makes an empty store hold rows of mesh m in one pool.
func seed(t testing.TB, store allocator.Store, pool allocator.Pool, rows ...*vip.Row) {
	t.Helper()
	d := allocator.Delta{Meta: allocator.Meta{Revision: 1, Serial: 1, Pools: []allocator.Pool{pool}}, MeshesNew: []string{"m"}}
	for _, r := range rows {
		d.Rows = append(d.Rows, allocator.RowChange{Key: r.Key(), New: r})
		for _, a := range r.Addrs() {
			d.Addrs = append(d.Addrs, allocator.AddrChange{Addr: a, New: &allocator.Holding{Owner: r.Key()}})
		}
	}
	if err := store.Commit(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

func TestNetworkAndBroadcastAreKeptWhereATableHasThem(t *testing.T) {
	t.Parallel()
	store, c := &faulty{Store: memstore.New()}, &clock{}
	row := func(name, v4 string) *vip.Row {
		return &vip.Row{Entry: vip.Entry{Name: name}, V4: addr(v4), Listings: []vip.Listing{{Mesh: "m", Name: name}}}
	}
	seed(t, store, allocator.Pool{Prefix: prefixes("10.0.0.0/30")[0], Next: addr("10.0.0.1")}, row("net", "10.0.0.0"), row("cast", "10.0.0.3"))
	cfg := allocator.Config{Layout: layout("10.0.0.0/30"), Cooldown: time.Minute}
	a := open(t, store, c, cfg)
	apply(t, a, full(set("m", "net", "cast", "x", "y", "z")))
	want := map[string]string{"net": "10.0.0.0", "cast": "10.0.0.3", "x": "10.0.0.1", "y": "10.0.0.2", "z": ""}
	wantTable(t, a, want)
	// Released, they are their owners' only.
	apply(t, a, part(drop("m", "net", "cast")))
	c.running += time.Hour
	tick(t, a)
	delete(want, "net")
	delete(want, "cast")
	wantTable(t, a, want)
	a = restart(t, a, store, c, cfg)
	apply(t, a, part(set("m", "net", "cast")))
	want["net"], want["cast"] = "10.0.0.0", "10.0.0.3"
	wantTable(t, a, want)
}

// TestAPoolThatIsTakenAwayMovesNothing: its rows stay, who comes back gets its
// own, and it gives out no more, which is said; it is dropped when the last of
// them has cooled down.
func TestAPoolThatIsTakenAwayMovesNothing(t *testing.T) {
	t.Parallel()
	store, c := &faulty{Store: memstore.New()}, &clock{}
	var log bytes.Buffer
	cfg := allocator.Config{Layout: layout("10.0.0.0/29"), Cooldown: time.Minute, MaxRelease: anyRelease}
	a := open(t, store, c, cfg)
	apply(t, a, full(set("m", "a", "b", "c")))
	apply(t, a, part(drop("m", "c")))

	cfg.Layout, cfg.Logger = layout("10.1.0.0/29"), slog.New(slog.NewTextHandler(&log, nil))
	a = restart(t, a, store, c, cfg)
	if text := log.String(); !strings.Contains(text, "pool=10.0.0.0/29") || !strings.Contains(text, "entries=2") || !strings.Contains(text, "WARN") {
		t.Errorf("logged %q", text)
	}
	c.running += time.Hour
	apply(t, a, full(set("m", "a", "b", "c", "d")))
	want := map[string]string{"a": "10.0.0.1", "b": "10.0.0.2", "c": "10.0.0.3", "d": "10.1.0.1"}
	wantTable(t, a, want)
	if pools := fmt.Sprint(a.Pools()); pools != "[{10.1.0.0/29 10.1.0.2 false} {10.0.0.0/29 10.0.0.4 true}]" {
		t.Errorf("pools %s", pools)
	}

	apply(t, a, part(drop("m", "a")))
	if len(a.Pools()) != 2 {
		t.Errorf("the pool went with an entry in it: %v", a.Pools())
	}
	apply(t, a, part(drop("m", "b", "c")))
	tick(t, a)
	if len(a.Pools()) != 2 {
		t.Errorf("the pool went while its addresses cool down: %v", a.Pools())
	}
	c.running += cfg.Cooldown + time.Second
	tick(t, a)
	if pools := fmt.Sprint(a.Pools()); pools != "[{10.1.0.0/29 10.1.0.2 false}]" {
		t.Errorf("pools %s", pools)
	}
	delete(want, "a")
	delete(want, "b")
	delete(want, "c")
	log.Reset()
	a = restart(t, a, store, c, cfg)
	wantTable(t, a, want)
	if log.Len() > 0 {
		t.Errorf("logged %q", &log)
	}

	// It comes back: cooldowns went on, and owners get what was theirs.
	if err := a.Configure(allocator.Config{Layout: layout("10.1.0.0/29", "10.0.0.0/29"), Cooldown: cfg.Cooldown, MaxRelease: cfg.MaxRelease}); err != nil {
		t.Fatal(err)
	}
	apply(t, a, part(set("m", "b", "e")))
	want["b"], want["e"] = "10.0.0.2", "10.1.0.2"
	wantTable(t, a, want)
}

func TestAPoolThatComesBackGivesThoseWhoWaitTheirOwn(t *testing.T) {
	t.Parallel()
	a := open(t, memstore.New(), &clock{}, allocator.Config{Layout: layout("10.0.0.0/30"), Cooldown: time.Hour, MaxRelease: anyRelease})
	configure := func(pools ...string) {
		if err := a.Configure(allocator.Config{Layout: layout(pools...), Cooldown: time.Hour, MaxRelease: anyRelease}); err != nil {
			t.Fatal(err)
		}
	}
	apply(t, a, full(set("m", "a", "b")))
	apply(t, a, part(drop("m", "b")))
	hidden := layout("10.1.0.1/32", "10.0.0.0/30")
	hidden.Pools[1].Exclude = ranges("10.0.0.2-10.0.0.2")
	if err := a.Configure(allocator.Config{Layout: hidden, Cooldown: time.Hour, MaxRelease: anyRelease}); err != nil {
		t.Fatal(err)
	}
	apply(t, a, part(set("m", "b", "aa"))) // aa takes all that there is
	wantTable(t, a, map[string]string{"a": "10.0.0.1", "aa": "10.1.0.1", "b": ""})
	// b's own is still cooling, and there is no other.
	configure("10.1.0.1/32", "10.0.0.0/30")
	tick(t, a)
	wantTable(t, a, map[string]string{"a": "10.0.0.1", "aa": "10.1.0.1", "b": "10.0.0.2"})
}

func TestAPoolOfTheOtherFamilyServesEveryEntry(t *testing.T) {
	t.Parallel()
	a := open(t, memstore.New(), nil, allocator.Config{Layout: layout("10.0.0.0/29")})
	apply(t, a, full(set("m", "a", "b")))
	if err := a.Configure(allocator.Config{Layout: layout("10.0.0.0/29", "fd00::/127"), Cooldown: 0, MaxRelease: allocator.Limit{}}); err != nil {
		t.Fatal(err)
	}
	tick(t, a)
	wantTable(t, a, map[string]string{"a": "10.0.0.1 fd00::", "b": "10.0.0.2 fd00::1"})
	r := apply(t, a, part(set("m", "c")))
	wantTable(t, a, map[string]string{"a": "10.0.0.1 fd00::", "b": "10.0.0.2 fd00::1", "c": "10.0.0.3"})
	if fmt.Sprint(r.Exhausted) != "[0:c]" {
		t.Errorf("exhausted: %v", r.Exhausted)
	}
}

// TestACommitInDoubtDoesNotBringOldPoolsBack: the reply to a commit is lost,
// and the pools are others before its outcome is known.
func TestACommitInDoubtDoesNotBringOldPoolsBack(t *testing.T) {
	t.Parallel()
	store := &faulty{Store: memstore.New()}
	a := open(t, store, &clock{}, allocator.Config{Layout: layout("fd00::2/127"), Cooldown: time.Hour})
	configure := func(pools ...string) {
		if err := a.Configure(allocator.Config{Layout: layout(pools...), Cooldown: time.Hour, MaxRelease: allocator.Limit{}}); err != nil {
			t.Fatal(err)
		}
	}
	apply(t, a, full(set("m", "a", "b")))
	configure("10.0.0.0/30")
	store.after = true
	if _, err := a.Apply(t.Context(), part(set("m", "c"))); err == nil {
		t.Fatal("the reply was not lost")
	}
	configure("fd00::/125") // the rows' own pool is within it, and goes
	configure("10.0.0.0/29")
	apply(t, a, part(set("m", "d")))
	wantTable(t, a, map[string]string{"a": "10.0.0.1 fd00::2", "b": "10.0.0.2 fd00::3", "c": "10.0.0.3", "d": "10.0.0.4"})
}

func TestPoolsThatCannotBeAreNamed(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ pools, want string }{
		{"10.0.0.0/8 10.1.0.0/16", "10.1.0.0/16 overlaps pool 10.0.0.0/8"},
		{"10.1.0.0/16 10.0.0.0/8", "10.0.0.0/8 overlaps pool 10.1.0.0/16"},
		{"10.0.0.0/8 10.0.0.0/8", "overlaps"},
		{"10.0.0.1/8", "did you mean 10.0.0.0/8?"},
		{"::ffff:10.0.0.0/104", "write it as IPv4"},
		{"fd00::1/64", "did you mean fd00::/64?"},
		{"10.0.0.0/9 10.128.0.0/9 fd00::/64", ""},
		{"", ""},
	} {
		err := layout(strings.Fields(tc.pools)...).Check()
		if tc.want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.pools, err, tc.want)
		}
	}
	if err := allocator.Ranges(netip.Prefix{}).Check(); err == nil {
		t.Error("a prefix that is none was accepted")
	}
	a := open(t, memstore.New(), nil, allocator.Config{Layout: layout("10.0.0.0/29")})
	if err := a.Configure(allocator.Config{Layout: layout("10.0.0.1/29"), Cooldown: 0, MaxRelease: allocator.Limit{}}); err == nil || len(a.Pools()) != 1 {
		t.Errorf("Configure: %v, pools %v", err, a.Pools())
	}
}

// TestSizesAreExact compares the size of every prefix length with big numbers.
func TestSizesAreExact(t *testing.T) {
	t.Parallel()
	for _, zero := range []string{"0.0.0.0", "::"} {
		for bits := 0; bits <= addr(zero).BitLen(); bits++ {
			pool := netip.PrefixFrom(addr(zero), bits)
			want := new(big.Int).Lsh(big.NewInt(1), uint(addr(zero).BitLen()-bits))
			if pool.Addr().Is4() && bits <= 30 {
				want.Sub(want, big.NewInt(2))
			}
			if most := big.NewInt(1<<63 - 1); want.Cmp(most) > 0 {
				want = most
			}
			a := open(t, memstore.New(), nil, allocator.Config{Layout: allocator.Ranges(pool)})
			if got := a.Stats().Pools[0].Size; got != want.Uint64() {
				t.Errorf("%v has %d addresses, want %v", pool, got, want)
			}
		}
	}
}
