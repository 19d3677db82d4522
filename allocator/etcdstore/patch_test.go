package etcdstore

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"pgregory.net/rapid"
)

// mirror is a table that is made of patches alone.
type mirror struct {
	meta   allocator.Meta
	rows   map[vip.Key]*vip.Row
	addrs  map[netip.Addr]allocator.Holding
	meshes map[string]bool
}

func newMirror(s allocator.State) *mirror {
	m := &mirror{meta: s.Meta, rows: make(map[vip.Key]*vip.Row), addrs: make(map[netip.Addr]allocator.Holding), meshes: make(map[string]bool)}
	for _, r := range s.Rows {
		m.rows[r.Key()] = r
	}
	for _, h := range s.Addrs {
		m.addrs[h.Addr] = h.Holding
	}
	for _, name := range s.Meshes {
		m.meshes[name] = true
	}
	return m
}

func (m *mirror) apply(t *rapid.T, p allocator.Patch) {
	if p.Base != m.meta.Revision || p.Meta.Revision != p.Base+1 {
		t.Fatalf("a patch of revision %d follows %d", p.Base, m.meta.Revision)
	}
	m.meta = p.Meta
	row := func(k vip.Key) *vip.Row {
		if m.rows[k] == nil {
			return &vip.Row{Entry: vip.Entry(k)}
		}
		c := *m.rows[k]
		return &c
	}
	for _, c := range p.Rows {
		r := row(c.Key)
		r.V4, r.V6 = c.V4, c.V6
		m.rows[c.Key] = r
	}
	for _, c := range p.Listings {
		if c.Listing == nil {
			m.rows[c.Key] = row(c.Key).WithoutListing(c.Mesh)
		} else {
			m.rows[c.Key] = row(c.Key).WithListing(*c.Listing)
		}
	}
	for _, c := range p.Rows {
		if c.Gone {
			delete(m.rows, c.Key)
		}
	}
	for _, c := range p.Addrs {
		if delete(m.addrs, c.Addr); c.Holding != nil {
			m.addrs[c.Addr] = *c.Holding
		}
	}
	for _, name := range p.MeshesNew {
		m.meshes[name] = true
	}
	for _, name := range p.MeshesGone {
		delete(m.meshes, name)
	}
}

func (m *mirror) state() allocator.State {
	s := allocator.State{Meta: m.meta}
	for _, r := range m.rows {
		s.Rows = append(s.Rows, r)
	}
	for a, h := range m.addrs {
		s.Addrs = append(s.Addrs, allocator.Held{Addr: a, Holding: h})
	}
	for name := range m.meshes {
		s.Meshes = append(s.Meshes, name)
	}
	return s
}

// delta draws a change of a table: meshes that come and go, entries that change
// what they are and have, and addresses that change hands.
func (m *mirror) delta(t *rapid.T) allocator.Delta {
	d := allocator.Delta{Base: m.meta.Revision, Meta: m.meta}
	d.Meta.Revision++
	d.Meta.Serial += uint32(rapid.IntRange(0, 2).Draw(t, "serial")) + 1
	d.Meta.Clock += time.Duration(rapid.IntRange(0, 100).Draw(t, "clock"))
	d.Meta.Synced = rapid.Bool().Draw(t, "synced")
	d.Meta.Pools = pools
	meshes := make(map[string]bool)
	for name := range m.meshes {
		meshes[name] = true
	}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b/%", "ä", "\xff"}), 0, 3, rapid.ID).Draw(t, "meshes") {
		if !meshes[name] {
			meshes[name] = true
			d.MeshesNew = append(d.MeshesNew, name)
		}
	}
	var listed []string
	for name := range meshes {
		listed = append(listed, name)
	}
	slices.Sort(listed)
	keys := rapid.SliceOfNDistinct(rapid.SampledFrom([]vip.Key{
		{Name: "web"}, {Name: "b_%/.\x00"}, {Kind: vip.Host, Name: "web"}, {Kind: vip.MeshService, Mesh: "a/b", Name: "web"},
	}), 0, 4, rapid.ID).Draw(t, "keys")
	taken := make(map[netip.Addr]bool)
	for _, k := range keys {
		c := allocator.RowChange{Key: k, Old: m.rows[k]}
		now := &vip.Row{Entry: vip.Entry(k)}
		for _, mesh := range listed {
			if rapid.Bool().Draw(t, "lists") {
				*now = *now.WithListing(listing(t, mesh, k.Name))
			}
		}
		var had []netip.Addr
		if c.Old != nil {
			had = c.Old.Addrs()
		}
		if len(now.Listings) > 0 {
			c.New = now
			if addr, old, ok := m.free(t, k, taken); ok {
				taken[addr] = true
				if now.V4 = addr; c.Old == nil || c.Old.V4 != addr {
					d.Addrs = append(d.Addrs, allocator.AddrChange{Addr: addr, Old: old, New: &allocator.Holding{Owner: k, Since: 7}})
				}
			}
		}
		for _, a := range had {
			if c.New == nil || c.New.V4 != a {
				old, since := m.addrs[a], int64(rapid.IntRange(0, 9).Draw(t, "since"))
				taken[a] = true
				d.Addrs = append(d.Addrs, allocator.AddrChange{Addr: a, Old: &old, New: &allocator.Holding{Owner: k, Released: true, At: d.Meta.Clock, Mesh: "\xff", Since: since}})
			}
		}
		if c.Old != nil || c.New != nil {
			d.Rows = append(d.Rows, c)
		}
	}
	for a, h := range m.addrs {
		if h.Released && !taken[a] && rapid.IntRange(0, 3).Draw(t, "forget") == 0 {
			d.Addrs = append(d.Addrs, allocator.AddrChange{Addr: a, Old: &h})
		}
	}
	for _, name := range listed {
		used := func(r *vip.Row) bool { _, ok := r.Listing(name); return ok }
		left := slices.ContainsFunc(d.Rows, func(c allocator.RowChange) bool { return c.New != nil && used(c.New) })
		for k, r := range m.rows {
			left = left || used(r) && !slices.ContainsFunc(d.Rows, func(c allocator.RowChange) bool { return c.Key == k })
		}
		if !left && m.meshes[name] && rapid.Bool().Draw(t, "goes") {
			d.MeshesGone = append(d.MeshesGone, name)
		}
	}
	return d
}

// free draws an address that k may have, and who had it.
func (m *mirror) free(t *rapid.T, k vip.Key, taken map[netip.Addr]bool) (netip.Addr, *allocator.Holding, bool) {
	addr := netip.AddrFrom4([4]byte{240, 0, 0, byte(rapid.IntRange(1, 9).Draw(t, "address"))})
	h, ok := m.addrs[addr]
	switch {
	case taken[addr] || ok && !h.Released && h.Owner != k:
		return addr, nil, false
	case ok:
		return addr, &h, true
	}
	return addr, nil, true
}

// listing draws what a mesh says of an entry.
func listing(t *rapid.T, mesh, name string) vip.Listing {
	l := vip.Listing{Mesh: mesh, Name: name}
	if rapid.Bool().Draw(t, "upper") {
		l.Name = strings.ToUpper(name)
	}
	if rapid.Bool().Draw(t, "outbound") {
		l.Outbounds = []vip.Outbound{{
			Port: uint16(rapid.IntRange(0, 65535).Draw(t, "port")), Origin: "<&>",
			Tags: []vip.Tag{{Key: "", Value: "\xfe"}, {Key: "k", Value: name}},
		}}
	}
	if rapid.Bool().Draw(t, "terms") {
		l.Terms = &vip.Terms{Hostnames: []string{"\u2028x"}, Follow: rapid.Bool().Draw(t, "follow")}
	}
	return l
}

// TestWhatAWatchTellsIsTheTable: the patches of all commits make what is loaded.
func TestWhatAWatchTellsIsTheTable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := must(Open(config()))
		defer s.Close()
		follower := must(Open(s.cfg))
		defer follower.Close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		lead(t, s)
		leader, follow := newMirror(must(s.Load(ctx))), newMirror(must(follower.Load(ctx)))
		events := follower.client.Watch(ctx, s.prefix, clientv3.WithPrefix(), clientv3.WithRev(follower.loadedAt()+1))
		for range rapid.IntRange(1, 6).Draw(rt, "commits") {
			d := leader.delta(rt)
			if err := s.Commit(ctx, d); err != nil {
				rt.Fatalf("%v\n%+v", err, d)
			}
			resp := <-events
			if resp.Err() != nil || len(resp.Events) == 0 {
				rt.Fatalf("the watch ended: %v", resp.Err())
			}
			before := follower.position()
			p, at, err := decodeTxn(s.prefix, resp.Events)
			if err != nil {
				rt.Fatal(err)
			}
			if at.after != before.commit || !must(follower.metaOf(at)).descends(before) || !s.owns(at) {
				rt.Fatalf("%+v follows %+v", at, before)
			}
			follower.adopted(at)
			leader.apply(rt, p)
			follow.apply(rt, p)
			if own := s.position(); own.commit != at.commit || own.modRev != at.modRev || string(own.meta) != string(at.meta) {
				rt.Fatalf("the leader is at %+v, and the follower at %+v", own, at)
			}
		}
		got := must(s.Load(ctx))
		if err := allocator.Check(got); err != nil {
			rt.Fatal(err)
		}
		if diff := unlike(got, follow.state()); diff != "" {
			rt.Fatalf("the follower has another table (-want +got):\n%s", diff)
		}
		lead(t, follower)
		if err := follower.Commit(ctx, follow.delta(rt)); err != nil {
			rt.Fatalf("the follower cannot lead: %v", err)
		}
		cancel()
		for range events { // until it has ended
		}
	})
}

// TestWhatIsNoCommitIsForeign: somebody has edited keys by hand.
func TestWhatIsNoCommitIsForeign(t *testing.T) {
	t.Parallel()
	const meta = `{"id":"x","revision":1,"commit":"y"}`
	put := func(key, value string) *clientv3.Event {
		return &clientv3.Event{Type: clientv3.EventTypePut, Kv: &mvccpb.KeyValue{Key: []byte(key), Value: []byte(value)}}
	}
	gone := func(key string) *clientv3.Event {
		return &clientv3.Event{Type: clientv3.EventTypeDelete, Kv: &mvccpb.KeyValue{Key: []byte(key)}}
	}
	whole := []*clientv3.Event{put("/p/meta", meta), put("/p/serial", `{"serial":1}`)}
	if p, at, err := decodeTxn("/p/", whole); err != nil || p.Meta.Revision != 1 || p.Meta.Serial != 1 || at.rev != 1 || at.id != "x" {
		t.Fatalf("%+v, %+v, %v", p, at, err)
	}
	for i, events := range [][]*clientv3.Event{
		nil,
		whole[:1],
		whole[1:],
		{nil},
		{put("/p/meta", `{"id":"x","commit":"y"}`), whole[1]},
		{put("/p/meta", `{`), whole[1]},
		{gone("/p/meta"), whole[1]},
		{whole[0], gone("/p/serial")},
		{whole[0], put("/p/serial", `{"serial":-1}`)},
		{put("/p/addresses/240.0.0.1", `{}`)},
	} {
		if _, _, err := decodeTxn("/p/", events); !errors.Is(err, errForeign) {
			t.Errorf("%d: %v", i, err)
		}
	}
	for _, e := range []*clientv3.Event{
		put("/q/meta", meta), put("/p/x", "x"), gone("/p/x"), put("/p/format", `{"format":1}`), gone("/p/format"), put("/p/import", "x"),
		put("/p/addresses/x", `{}`), put("/p/addresses/240.0.0.1", `{}`), put("/p/entries/0/web", `{"v6":"240.0.0.1"}`),
		put("/p/meshes/m", `{"mesh":"n"}`), put("/p/meshes/m/0/web", `{"name":"db"}`),
	} {
		if _, _, err := decodeTxn("/p/", append(slices.Clone(whole), e)); !errors.Is(err, errForeign) {
			t.Errorf("%s = %s: %v", e.Kv.Key, e.Kv.Value, err)
		}
	}
	if _, _, err := decodeTxn("/p/", append(slices.Clone(whole), put("/p/format", `{"format":2}`))); !errors.Is(err, allocator.ErrNewer) {
		t.Errorf("a newer format: %v", err)
	}
	if _, _, err := decodeTxn("/p/", []*clientv3.Event{put("/p/notes", "x")}); err == nil || !strings.Contains(err.Error(), "/p/notes") {
		t.Errorf("the error is %v, and does not name the key", err)
	}
}
