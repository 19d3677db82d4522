package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/test/etcdtest"
	"github.com/meshvip/coredns-meshvip/vip"
	"go4.org/netipx"
)

// patience bounds every wait. It is only reached when something is broken.
const patience = 60 * time.Second

// desire is what all sources of a test list, for whoever leads.
type desire struct {
	mu       sync.Mutex
	services map[string]bool
	changed  chan struct{} // closed at the next change
}

func newDesire(services ...string) *desire {
	d := &desire{services: make(map[string]bool), changed: make(chan struct{})}
	d.add(services...)
	return d
}

func (d *desire) add(services ...string) { d.set(true, services) }

func (d *desire) remove(services ...string) { d.set(false, services) }

func (d *desire) set(listed bool, services []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range services {
		if delete(d.services, s); listed {
			d.services[s] = true
		}
	}
	close(d.changed)
	d.changed = make(chan struct{})
}

// batch returns all that is listed, and what tells of the next change.
func (d *desire) batch() (vip.Batch, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	u := vip.MeshUpdate{Mesh: vip.DefaultMesh}
	for _, s := range slices.Sorted(maps.Keys(d.services)) {
		u.Set = append(u.Set, vip.Request{Entry: vip.Entry{Name: s}})
	}
	return vip.Batch{Full: true, Meshes: []vip.MeshUpdate{u}}, d.changed
}

func (d *desire) names() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.services))
}

// node is one replica in this process.
type node struct {
	t     testing.TB
	name  string
	store *Store
	alloc *allocator.Allocator
	*Replica
	stop  context.CancelFunc
	done  sync.WaitGroup
	watch chan struct{} // has one after each restart of the watch
	told  chan struct{} // has one after each commit
}

// cooldown is that of these tests' tables: long, so that what moves shows.
const cooldown = time.Hour

// join starts a replica that reaches etcd at addr. It is a candidate if want is
// not nil: what it allocates for then.
func join(t testing.TB, name, addr, prefix string, want *desire) *node {
	t.Helper()
	cfg := Config{
		Endpoints: []string{addr}, Prefix: prefix, Timeout: 2 * time.Second, Lease: 2 * time.Second,
		Name: name, Cooldown: cooldown, Logger: slog.New(slog.NewTextHandler(testWriter{t, name}, nil)),
	}
	n := &node{t: t, name: name, watch: make(chan struct{}, 1), told: make(chan struct{}, 1)}
	begun := time.Now()
	store, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	alloc, err := allocator.Open(t.Context(), store, allocator.Config{
		Layout:  allocator.Layout{Pools: []allocator.Range{{Prefix: netip.MustParsePrefix("240.0.0.0/16")}}},
		Follows: true, Cooldown: cooldown, MaxRelease: allocator.Limit{Stated: true, N: 1000}, Logger: cfg.Logger,
		OnCommit: func(allocator.Commit) { tell(n.told) },
	})
	if err != nil {
		t.Fatal(err)
	}
	n.store, n.alloc = store, alloc
	n.Replica = NewReplica(store, alloc, begun, Hooks{WatchRestarted: func() { tell(n.watch) }})
	ctx, stop := context.WithCancel(context.Background())
	n.stop = stop
	n.Stand(want != nil)
	n.done.Go(func() { n.Run(ctx) })
	n.done.Go(func() { n.work(ctx, want) })
	t.Cleanup(n.leave)
	return n
}

// tell lets whoever waits for c go on.
func tell(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// leave ends the replica as a server that is told to end.
func (n *node) leave() {
	n.stop()
	n.done.Wait() // a second time there is nothing to wait for
	if err := n.alloc.Close(); err != nil {
		n.t.Error(err)
	}
}

// work allocates what is listed, in the terms of n.
func (n *node) work(ctx context.Context, want *desire) {
	for {
		select {
		case <-ctx.Done():
			return
		case term := <-n.Terms():
			for term.Context().Err() == nil {
				batch, changed := want.batch()
				again := make(chan struct{})
				if _, err := n.alloc.Apply(term.Context(), batch); err != nil {
					n.t.Logf("%s: %v", n.name, err)
					if errors.Is(err, allocator.ErrConflict) {
						n.Doubt()
					}
					time.AfterFunc(50*time.Millisecond, func() { close(again) })
				}
				select {
				case <-term.Context().Done():
				case <-changed:
				case <-again:
				}
			}
			term.End()
		}
	}
}

// addrs returns who has which address by n's table.
func (n *node) addrs() map[string]netip.Addr {
	all := make(map[string]netip.Addr)
	for _, r := range n.alloc.Snapshot() {
		all[r.Entry.Name] = r.V4
	}
	return all
}

// has reports whether n's table has exactly the services that want lists, with
// an address each.
func (n *node) has(want *desire) bool {
	addrs := n.addrs()
	for _, a := range addrs {
		if !a.IsValid() {
			return false
		}
	}
	return slices.Equal(slices.Sorted(maps.Keys(addrs)), want.names())
}

// eventually waits until cond holds.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	end := time.Now().Add(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
		<-tick.C
	}
}

// agree waits until all nodes have what want lists, and checks that their tables
// are the same, sound, and what etcd has.
func agree(t testing.TB, want *desire, nodes ...*node) {
	t.Helper()
	for _, n := range nodes {
		eventually(t, n.name+" to have what is listed", func() bool { return n.has(want) })
	}
	var loaded allocator.State
	eventually(t, "all tables to be the store's", func() bool {
		state, err := nodes[0].read()
		if err != nil {
			return false
		}
		loaded = state
		return !slices.ContainsFunc(nodes, func(n *node) bool { return n.alloc.Stats().Meta.Revision != state.Meta.Revision })
	})
	if err := allocator.Check(loaded); err != nil {
		t.Errorf("what etcd has: %v", err)
	}
	for _, n := range nodes {
		state, err := n.alloc.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		// The clock goes on, and what was set aside may have been repaired since.
		state.Meta.Clock, state.Damaged = loaded.Meta.Clock, loaded.Damaged
		if diff := difference(loaded, state); diff != "" {
			t.Errorf("%s has another table than etcd (-etcd +%s):\n%s", n.name, n.name, diff)
		}
	}
}

// read reads the table from etcd by a store of its own.
func (n *node) read() (allocator.State, error) {
	cfg := n.store.cfg
	cfg.Logger = nil
	s, err := Open(cfg)
	if err != nil {
		return allocator.State{}, err
	}
	defer s.Close()
	return s.Load(context.Background())
}

// difference compares two states, whatever their order.
func difference(want, got allocator.State) string {
	return cmp.Diff(want, got, cmpopts.EquateEmpty(),
		cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
		cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
		cmp.Comparer(func(a, b netipx.IPRange) bool { return a == b }),
		cmpopts.SortSlices(func(a, b *vip.Row) bool { return a.Key().Compare(b.Key()) < 0 }),
		cmpopts.SortSlices(func(a, b allocator.Held) bool { return a.Addr.Less(b.Addr) }),
		cmpopts.SortSlices(func(a, b string) bool { return a < b }))
}

// leaderOf waits until one of nodes leads, and returns it.
func leaderOf(t testing.TB, nodes ...*node) (leader *node) {
	t.Helper()
	eventually(t, "a leader", func() bool {
		for _, n := range nodes {
			if !n.alloc.Follows() {
				leader = n
			}
		}
		return leader != nil
	})
	return leader
}

// numbered returns n names.
func numbered(name string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s-%03d", name, i)
	}
	return all
}

// testWriter logs to a test.
type testWriter struct {
	t    testing.TB
	name string
}

func (w testWriter) Write(b []byte) (int, error) {
	w.t.Logf("%s %s: %s", time.Now().Format("05.000"), w.name, b)
	return len(b), nil
}

// table starts an etcd of its own and returns a prefix.
func table(t testing.TB) (*etcdtest.Server, string) {
	t.Helper()
	return etcdtest.Start(t, etcdtest.WithUnsafeNoFsync()), "/meshvip/"
}
