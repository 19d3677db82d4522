package meshvip

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/boltstore"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/miekg/dns"
)

// slowStore is a store whose commits wait until they are let through.
type slowStore struct {
	allocator.Store
	begun  chan struct{} // gets one for each commit
	let    chan struct{} // closed to let all through
	closed atomic.Bool
}

func newSlowStore() *slowStore {
	return &slowStore{Store: memstore.New(), begun: make(chan struct{}, 1000), let: make(chan struct{})}
}

func (s *slowStore) Commit(ctx context.Context, d allocator.Delta) error {
	s.begun <- struct{}{}
	<-s.let
	return s.Store.Commit(ctx, d)
}

func (s *slowStore) Close() error {
	s.closed.Store(true)
	return s.Store.Close()
}

// on returns a runtime on store, which follows nothing.
func on(t *testing.T, store allocator.Store, pool string) *runtime {
	t.Helper()
	r := newRuntime("bolt "+filepath.Join(t.TempDir(), "store.db"), RuntimeConfig{})
	alloc, err := allocator.Open(r.ctx, store, allocator.Config{
		Layout: allocator.Ranges(netip.MustParsePrefix(pool)), Cooldown: defaultCooldown, OnCommit: r.committed, Logger: r.log,
	})
	if err != nil {
		t.Fatal(err)
	}
	r.alloc, r.publish = alloc, newPublisher(PublishConfig{}, alloc, r.log)
	r.fill()
	return r
}

// batch lists n services.
func batch(n int) vip.Batch {
	m := vip.MeshUpdate{Mesh: "default"}
	for i := range n {
		m.Set = append(m.Set, vip.Request{Entry: vip.Entry{Kind: vip.Service, Name: fmt.Sprintf("s%06d", i)}})
	}
	return vip.Batch{Full: true, Meshes: []vip.MeshUpdate{m}}
}

// A batch that takes minutes is given up between two of its parts.
func TestClosingDoesNotWaitForAWholeBatch(t *testing.T) {
	t.Parallel()
	store := newSlowStore()
	r := on(t, store, "240.0.0.0/8")
	var err error
	r.done.Go(func() { err = r.apply(r.ctx, batch(100_000)) })
	<-store.begun
	var closing sync.WaitGroup
	closing.Go(r.close)
	<-r.ctx.Done()
	close(store.let)
	closing.Wait()
	if !errors.Is(err, context.Canceled) || len(store.begun) > 0 {
		t.Errorf("%v, and %d more parts were written", err, len(store.begun))
	}
	if !store.closed.Load() {
		t.Error("the store is open")
	}
	// What became durable is answered, and stays so.
	if n := r.index.Len(); n == 0 || n == 100_000 {
		t.Errorf("%d entries are answered, want those of one part", n)
	}
	if r.alloc.Stats().Entries != r.index.Len() {
		t.Errorf("%d entries, %d answered", r.alloc.Stats().Entries, r.index.Len())
	}
}

// Whatever a runtime is doing when it is closed: it ends, and the store is
// free.
func TestClosingEndsWhateverGoesOn(t *testing.T) {
	s := newSite(t)
	for n := range 40 {
		s.services(fmt.Sprintf("f%d.yaml", n), "default", fmt.Sprintf("s%d", n))
	}
	cfg, err := parseIn(s.dir, "meshvip mesh {\n pool 240.0.0.0/16\n source file "+s.dir+"/src\n store bolt "+s.dir+"/meshvip.db\n publish "+s.dir+"/pub\n}")
	if err != nil {
		t.Fatal(err)
	}
	for n := range 30 {
		r := newRuntime(cfg.Runtime.Store.Value.identity(), cfg.Runtime)
		// Every third is not open yet: run opens it, while it is closed.
		if n%3 > 0 {
			if err := r.open(); err != nil {
				t.Fatalf("the store was not closed: %v", err)
			}
		}
		if n%3 < 2 {
			r.use(settings{cfg: cfg.Runtime})
			other := cfg.Runtime
			other.Sources = []SourceConfig{{Kind: sourceFile, Dir: s.dir + "/other"}}
			r.use(settings{cfg: other, options: "other"})
		}
		r.close()
	}
	store, _, err := boltstore.Open(filepath.Join(s.dir, "meshvip.db"), boltstore.Options{})
	if err != nil {
		t.Fatalf("the store was not closed: %v", err)
	}
	store.Close()
}

// CoreDNS runs the shutdown callbacks before the listeners stop.
func TestAnswersGoOnAfterTheStoreIsClosed(t *testing.T) {
	s := newSite(t)
	s.services("a.yaml", "default", "a")
	s.start(good)
	a := s.resolves("a.mesh.")
	s.becomes("no.mesh.", dns.TypeA, "NXDOMAIN")
	if errs := s.inst.ShutdownCallbacks(); len(errs) > 0 {
		t.Error(errs)
	}
	store, _, err := boltstore.Open(filepath.Join(s.dir, "meshvip.db"), boltstore.Options{})
	if err != nil {
		t.Errorf("the store is not free: %v", err)
	} else {
		store.Close()
	}
	for q, want := range map[string]string{"a.mesh. A": a, "no.mesh. A": "NXDOMAIN", reverse(t, a) + " PTR": "a.mesh."} {
		var name, qtype string
		fmt.Sscan(q, &name, &qtype)
		if got := s.ask(name, dns.StringToType[qtype]); got != want {
			t.Errorf("%s: %s, want %s", q, got, want)
		}
	}
}

// brokenStore is a store whose commits fail while broken is true.
type brokenStore struct {
	allocator.Store
	broken atomic.Bool
}

func (s *brokenStore) Commit(ctx context.Context, d allocator.Delta) error {
	if s.broken.Load() {
		return errors.New("no space left on device")
	}
	return s.Store.Commit(ctx, d)
}

func TestAStoreThatCannotBeWrittenIsServedOn(t *testing.T) {
	out := logs(t)
	store := &brokenStore{Store: memstore.New()}
	r := on(t, store, "240.0.0.0/8")
	defer r.close()
	if err := r.apply(t.Context(), batch(3)); err != nil {
		t.Fatal(err)
	}
	store.broken.Store(true)
	if err := r.apply(t.Context(), batch(4)); err == nil || r.index.Len() != 3 {
		t.Errorf("%v, and %d entries are answered, want 3", err, r.index.Len())
	}
	if !out.has("[ERROR]", "cannot be written", "no space left") {
		t.Errorf("nothing says so:\n%s", out)
	}
	store.broken.Store(false)
	if err := r.apply(t.Context(), batch(4)); err != nil || r.index.Len() != 4 {
		t.Errorf("%v, and %d entries are answered, want 4", err, r.index.Len())
	}
}

// What an instance opens, and does not use, is not written to.
func TestOpeningWritesNothing(t *testing.T) {
	s := newSite(t)
	path := filepath.Join(s.dir, "meshvip.db")
	cfg, err := parseIn(s.dir, "meshvip mesh {\n pool 240.0.0.0/16\n source file src\n store bolt "+path+"\n}")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r := newRuntime("bolt "+path, cfg.Runtime)
		if err := r.open(); err != nil {
			t.Fatal(err)
		}
		if rev := r.alloc.Stats().Meta.Revision; rev != 0 || !r.Loaded() || r.Synced() || r.Serial() == 0 {
			t.Errorf("revision %d, loaded %v, synced %v, serial %d", rev, r.Loaded(), r.Synced(), r.Serial())
		}
		r.close()
	}
}

func TestQueriesSeeThePoolsOfTheTable(t *testing.T) {
	t.Parallel()
	r := on(t, memstore.New(), "240.2.0.0/24")
	defer r.close()
	if err := r.apply(t.Context(), batch(1)); err != nil {
		t.Fatal(err)
	}
	if err := r.alloc.Configure(allocator.Config{Layout: allocator.Ranges(prefixes("240.3.0.0/24", "240.1.0.0/24")...), Cooldown: time.Nanosecond, MaxRelease: allocator.Limit{Stated: true, N: 9}}); err != nil {
		t.Fatal(err)
	}
	r.showPools()
	if got, want := r.Pools(), prefixes("240.1.0.0/24", "240.2.0.0/24", "240.3.0.0/24"); !slices.Equal(got, want) {
		t.Errorf("%v, want %v: one is retired, and has an address", got, want)
	}
	if err := r.apply(t.Context(), vip.Batch{Full: true, Meshes: []vip.MeshUpdate{{Mesh: "default"}}}); err != nil {
		t.Fatal(err)
	}
	r.tick() // the last of its addresses has cooled down
	if got, want := r.Pools(), prefixes("240.1.0.0/24", "240.3.0.0/24"); !slices.Equal(got, want) {
		t.Errorf("%v, want %v: the retired one is gone", got, want)
	}
}
