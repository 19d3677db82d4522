package storetest

import (
	"context"
	"errors"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
	"go4.org/netipx"
)

var (
	v4a = netip.MustParseAddr("240.0.0.1")
	v4b = netip.MustParseAddr("240.0.0.2")
	v6a = netip.MustParseAddr("fd00::1")
)

func empty(t *testing.T, s Subject) {
	state := load(t, s.Store)
	if state.Meta.ID == "" {
		t.Error("the store has no ID")
	}
	if state.Meta.Revision != 0 || state.Meta.Synced || len(state.Rows)+len(state.Addrs)+len(state.Meshes)+len(state.Damaged) != 0 {
		t.Errorf("a new store holds %+v", state)
	}
	if rev := revision(t, s.Store); rev != 0 {
		t.Errorf("revision %d, want 0", rev)
	}
	if err := allocator.Check(state); err != nil {
		t.Error(err)
	}
	s.reopen(t)
	same(t, load(t, s.Store), state)
}

// everything commits every field of every type, with the bytes that give
// encodings trouble.
func everything(t *testing.T, s Subject) {
	odd := string([]byte{0, 1, 0x7f, 0x80, 0xff, '/', ':', '\n', '"'})
	long := strings.Repeat("x", vip.MaxName)
	row := &vip.Row{
		Entry: vip.Entry{Kind: vip.MeshService, Mesh: odd, Name: "A" + odd},
		V4:    v4a, V6: v6a,
		Listings: []vip.Listing{
			{Mesh: odd, Name: "A" + odd, Outbounds: []vip.Outbound{
				{Port: 0, Origin: vip.OriginService},
				{Port: 1, Tags: []vip.Tag{{Key: "", Value: odd}, {Key: vip.ServiceTag, Value: long}}, Origin: odd},
				{Port: math.MaxUint16, Origin: vip.OriginHostPrefix + "x"},
			}},
			{Mesh: "z", Name: "a" + odd, Terms: &vip.Terms{
				Static:    []netip.Addr{v4b, v6a},
				Given:     []netip.Addr{netip.MustParseAddr("0.0.0.0"), netip.MustParseAddr("ff::ff")},
				Hostnames: []string{odd, long},
				Follow:    true,
			}},
		},
	}
	m := newModel(t, s.Store)
	change, addrs := added(row)
	m.commit(t, s.Store, allocator.Delta{
		Meta: allocator.Meta{
			Serial: math.MaxUint32, Clock: math.MaxInt64, Synced: true, Options: odd,
			Pools: []allocator.Pool{
				{Prefix: netip.MustParsePrefix("240.0.0.0/4"), Next: v4b},
				{Prefix: netip.MustParsePrefix("fd00::/64"), Next: netip.MustParseAddr("fd00::ffff:ffff:ffff:ffff"), Retired: true},
				{Prefix: netip.MustParsePrefix("10.0.0.1/32")},
			},
			Quarantine: []allocator.Quarantine{
				{Range: netipx.MustParseIPRange("10.0.0.1-10.0.0.1"), Until: math.MaxInt64},
				{Range: netipx.MustParseIPRange("::-fd00::ffff")},
			},
		},
		Rows: []allocator.RowChange{change, {Key: vip.Key{Kind: vip.Host, Name: long}, New: &vip.Row{
			Entry: vip.Entry{Kind: vip.Host, Name: long}, Listings: []vip.Listing{{Mesh: long, Name: long}},
		}}},
		Addrs: append(addrs,
			allocator.AddrChange{Addr: v4b, New: released(vip.Key{Kind: vip.MeshExternalService, Mesh: odd, Name: odd}, math.MaxInt64, odd)},
			allocator.AddrChange{Addr: netip.MustParseAddr("::"), New: released(vip.Key{Name: "x"}, 0, "")},
			allocator.AddrChange{Addr: netip.MustParseAddr("::1"), New: &allocator.Holding{Owner: vip.Key{Name: "y"}, Released: true, Since: math.MaxInt64}}),
		MeshesNew: []string{odd, "empty", long, "z"},
	})
	s.reopen(t)
	same(t, load(t, s.Store), m.state())
	if rev := revision(t, s.Store); rev != 1 {
		t.Errorf("revision %d, want 1", rev)
	}
}

// changes takes one row through everything that can become of it.
func changes(t *testing.T, s Subject) {
	m := newModel(t, s.Store)
	web := service("web", v4a, "a")
	key := web.Key()
	change, addrs := added(web)
	m.commit(t, s.Store, allocator.Delta{Rows: []allocator.RowChange{change}, Addrs: addrs, MeshesNew: []string{"a", "b"}})

	// Another mesh lists it, in another spelling that is shown.
	both := web.WithListing(vip.Listing{Mesh: "b", Name: "Web", Outbounds: []vip.Outbound{{Port: 80}}})
	m.commit(t, s.Store, allocator.Delta{Rows: []allocator.RowChange{{Key: key, Old: web, New: both}}})

	// It gets an address of the other family.
	six := *both
	six.V6 = v6a
	m.commit(t, s.Store, allocator.Delta{
		Rows:  []allocator.RowChange{{Key: key, Old: both, New: &six}},
		Addrs: []allocator.AddrChange{{Addr: v6a, New: &allocator.Holding{Owner: key}, Fresh: true}},
	})

	// One mesh says something else, the other no longer lists it.
	ported := six.WithoutListing("a").WithListing(vip.Listing{Mesh: "b", Name: "web", Outbounds: []vip.Outbound{{Port: 81}}})
	m.commit(t, s.Store, allocator.Delta{Rows: []allocator.RowChange{{Key: key, Old: &six, New: ported}}})

	// It goes, and its addresses cool. Since when it had them is not looked at.
	live := &allocator.Holding{Owner: key, Since: 1_700_000_000}
	m.commit(t, s.Store, allocator.Delta{
		Rows: []allocator.RowChange{{Key: key, Old: ported}},
		Addrs: []allocator.AddrChange{
			{Addr: v4a, Old: live, New: released(key, time.Minute, "b")},
			{Addr: v6a, Old: live, New: released(key, time.Minute, "b")},
		},
	})

	// It returns, and somebody else takes what it does not take back.
	back, db := service("web", v4a, "a"), service("db", netip.Addr{}, "a")
	db.V6 = v6a
	m.commit(t, s.Store, allocator.Delta{
		Rows: []allocator.RowChange{{Key: db.Key(), New: db}, {Key: key, New: back}},
		Addrs: []allocator.AddrChange{
			{Addr: v4a, Old: released(key, time.Minute, "b"), New: live},
			{Addr: v6a, Old: released(key, time.Minute, "b"), New: &allocator.Holding{Owner: db.Key()}},
		},
	})
	s.reopen(t)
	same(t, load(t, s.Store), m.state())
}

func commitFirst(t *testing.T, s Subject) {
	change, addrs := added(service("web", v4a, "a"))
	commit(t, s.Store, allocator.Delta{
		Meta: allocator.Meta{Serial: 1, Revision: 1},
		Rows: []allocator.RowChange{change}, Addrs: addrs, MeshesNew: []string{"a"},
	})
	if state := load(t, s.Store); len(state.Rows) != 1 || state.Meta.Revision != 1 {
		t.Errorf("loaded %d rows at revision %d, want 1 at 1", len(state.Rows), state.Meta.Revision)
	}
}

func wrongBase(t *testing.T, s Subject) {
	m := newModel(t, s.Store)
	m.commit(t, s.Store, allocator.Delta{MeshesNew: []string{"a"}})
	m.commit(t, s.Store, allocator.Delta{})
	for _, base := range []uint64{0, 1, 3, math.MaxUint64} {
		change, addrs := added(service("web", v4a, "a"))
		d := m.next(allocator.Delta{Rows: []allocator.RowChange{change}, Addrs: addrs, MeshesNew: []string{"b"}, MeshesGone: []string{"a"}})
		d.Base, d.Meta.Revision = base, base+1
		refuse(t, s.Store, d)
	}
}

func wrongHolding(t *testing.T, s Subject) {
	m := newModel(t, s.Store)
	web := service("web", v4a, "a")
	change, addrs := added(web)
	m.commit(t, s.Store, allocator.Delta{
		Rows: []allocator.RowChange{change}, MeshesNew: []string{"a"},
		Addrs: append(addrs, allocator.AddrChange{Addr: v4b, New: released(web.Key(), 5, "a")}),
	})
	other := vip.Key{Name: "other"}
	for name, c := range map[string]allocator.AddrChange{
		"taken":            {Addr: v4a},
		"another's":        {Addr: v4a, Old: &allocator.Holding{Owner: other}},
		"released":         {Addr: v4a, Old: released(web.Key(), 5, "a")},
		"not released":     {Addr: v4b, Old: &allocator.Holding{Owner: web.Key()}},
		"released later":   {Addr: v4b, Old: released(web.Key(), 4, "a")},
		"of another mesh":  {Addr: v4b, Old: released(web.Key(), 5, "b")},
		"another kind's":   {Addr: v4a, Old: &allocator.Holding{Owner: vip.Key{Kind: vip.Host, Name: "web"}}},
		"cooling":          {Addr: v4b},
		"nobody ever's":    {Addr: v6a, Old: &allocator.Holding{Owner: web.Key()}},
		"nobody's release": {Addr: v6a, Old: released(web.Key(), 5, "a")},
	} {
		t.Run(name, func(t *testing.T) {
			c.New = &allocator.Holding{Owner: other}
			row := service("other", c.Addr, "a")
			if c.Addr.Is6() {
				row.V4, row.V6 = netip.Addr{}, c.Addr
			}
			// The conflict comes after changes that would be fine.
			fine := allocator.AddrChange{Addr: netip.MustParseAddr("240.0.0.77"), New: &allocator.Holding{Owner: other}, Fresh: true}
			refuse(t, s.Store, m.next(allocator.Delta{
				Rows:  []allocator.RowChange{{Key: other, New: row}},
				Addrs: []allocator.AddrChange{fine, c}, MeshesNew: []string{"b"},
			}))
		})
	}
}

func twoTakers(t *testing.T, s Subject) {
	m := newModel(t, s.Store)
	web, db := service("web", v4a, "a"), service("db", v4a, "a")
	_, first := added(web)
	_, second := added(db)
	m.commit(t, s.Store, allocator.Delta{Rows: []allocator.RowChange{{Key: web.Key(), New: web}}, Addrs: first, MeshesNew: []string{"a"}})
	refuse(t, s.Store, m.next(allocator.Delta{Rows: []allocator.RowChange{{Key: db.Key(), New: db}}, Addrs: second}))
}

func meshes(t *testing.T, s Subject) {
	m := newModel(t, s.Store)
	web := service("web", v4a, "a", "b")
	change, addrs := added(web)
	m.commit(t, s.Store, allocator.Delta{Rows: []allocator.RowChange{change}, Addrs: addrs, MeshesNew: []string{"a", "b"}})
	// One goes and the other stays; in the same commit a third comes.
	one := web.WithoutListing("a")
	m.commit(t, s.Store, allocator.Delta{
		Rows:      []allocator.RowChange{{Key: web.Key(), Old: web, New: one}},
		MeshesNew: []string{"c"}, MeshesGone: []string{"a"},
	})
	m.commit(t, s.Store, allocator.Delta{
		Rows:       []allocator.RowChange{{Key: web.Key(), Old: one}},
		Addrs:      []allocator.AddrChange{{Addr: v4a, Old: &allocator.Holding{Owner: web.Key()}, New: released(web.Key(), 1, "b")}},
		MeshesGone: []string{"b", "c"},
	})
	// A mesh that comes again is empty.
	m.commit(t, s.Store, allocator.Delta{MeshesNew: []string{"a"}})
	s.reopen(t)
	same(t, load(t, s.Store), m.state())
}

// aliasing changes the slices that it was given, which are its own.
func aliasing(t *testing.T, s Subject) {
	m := newModel(t, s.Store)
	change, addrs := added(service("web", v4a, "a"))
	pools := []allocator.Pool{{Prefix: netip.MustParsePrefix("240.0.0.0/4")}}
	d := m.next(allocator.Delta{
		Meta: allocator.Meta{Clock: 1, Serial: 1, Pools: pools},
		Rows: []allocator.RowChange{change}, Addrs: addrs, MeshesNew: []string{"a"},
	})
	commit(t, s.Store, d)
	want := load(t, s.Store)
	pools[0].Retired = true
	addrs[0].New.Released = true
	got := load(t, s.Store)
	same(t, got, want)
	got.Meta.Pools[0].Retired = true
	got.Addrs[0].Owner.Name = "somebody"
	got.Meshes[0] = "elsewhere"
	got.Rows[0] = nil
	same(t, load(t, s.Store), want)
}

func closed(t *testing.T, s Subject) {
	for range 2 {
		if err := s.Store.Close(); err != nil {
			t.Fatalf("closing: %v", err)
		}
	}
	_, loadErr := s.Store.Load(context.Background())
	_, revErr := s.Store.Revision(context.Background())
	commitErr := s.Store.Commit(context.Background(), allocator.Delta{Meta: allocator.Meta{Revision: 1}})
	for what, err := range map[string]error{"Load": loadErr, "Revision": revErr, "Commit": commitErr} {
		if !errors.Is(err, allocator.ErrClosed) {
			t.Errorf("%s of a closed store returns %v", what, err)
		}
	}
}
