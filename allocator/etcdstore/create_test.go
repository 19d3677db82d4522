package etcdstore

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/test/etcdtest"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// TestAWholeTableIsMade with all that it says of itself, and can be led from there.
func TestAWholeTableIsMade(t *testing.T) {
	t.Parallel()
	cfg, want := config(), numberedState(300, 7)
	want.Addrs = append(want.Addrs, allocator.Held{Addr: pools[0].Prefix.Addr().Prev(), Holding: allocator.Holding{
		Owner: want.Rows[0].Key(), Released: true, At: time.Minute, Mesh: "gone", Since: 5,
	}})
	if err := Create(t.Context(), cfg, want); err != nil {
		t.Fatal(err)
	}
	s := elected(t, cfg)
	if diff := unlike(want, loaded(t, s)); diff != "" {
		t.Errorf("it has another table (-want +got):\n%s", diff)
	}
	if d := s.position(); d.term != "" || !must(s.metaOf(d)).descends(d) {
		t.Errorf("it is at %+v", d)
	}
	d := gives(want.Meta.Revision, "web", "240.9.0.1")
	d.MeshesNew, d.Meta.Clock = []string{"m"}, want.Meta.Clock
	committed(t, s, d)
	loaded(t, s)
}

// metaOf returns the meta of a position.
func (s *Store) metaOf(p position) (metaRecord, error) {
	m, _, err := decodeMeta(p.meta, p.modRev)
	return m, err
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestATableThatIsThereIsNotReplaced, unless nothing was ever written to it.
func TestATableThatIsThereIsNotReplaced(t *testing.T) {
	t.Parallel()
	cfg, state := config(), numberedState(3, 1)
	empty := opened(t, cfg)
	loaded(t, empty)
	if err := Create(t.Context(), cfg, state); err != nil {
		t.Fatal(err)
	}
	if got := loaded(t, opened(t, cfg)); got.Meta.ID != state.Meta.ID || len(got.Rows) != 3 {
		t.Errorf("loaded %+v", got)
	}
	before := dump(t, empty)
	err := Create(t.Context(), cfg, state)
	if !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second returned %v", err)
	}
	says(t, err, cfg.Prefix, "revision 9")
	if after := dump(t, empty); !slices.Equal(before, after) {
		t.Errorf("it was\n%s\nand is\n%s", before, after)
	}

	strange := opened(t, config())
	put(t, strange, "entries/0/web", `{}`)
	if err := Create(t.Context(), strange.cfg, state); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over keys of something else: %v", err)
	}
	damaged := opened(t, config())
	put(t, damaged, "meta", `x`)
	put(t, damaged, "format", `{"format":1}`)
	if err := Create(t.Context(), damaged.cfg, state); !errors.Is(err, allocator.ErrDamaged) {
		t.Errorf("over a damaged table: %v", err)
	}
	put(t, damaged, "format", `{"format":2}`)
	if err := Create(t.Context(), damaged.cfg, state); !errors.Is(err, allocator.ErrNewer) {
		t.Errorf("over a newer table: %v", err)
	}
}

// TestATableIsNotMadeUnderALeader.
func TestATableIsNotMadeUnderALeader(t *testing.T) {
	t.Parallel()
	s := elected(t, config())
	err := Create(t.Context(), s.cfg, numberedState(3, 1))
	if !errors.Is(err, allocator.ErrLocked) {
		t.Errorf("it returned %v", err)
	}
	says(t, err, "stop all replicas")
}

// TestAStateThatIsNotSoundIsNotMade.
func TestAStateThatIsNotSoundIsNotMade(t *testing.T) {
	t.Parallel()
	cfg, twice := config(), numberedState(3, 1)
	twice.Addrs = append(twice.Addrs, twice.Addrs[0])
	if err := Create(t.Context(), cfg, twice); err == nil {
		t.Error("an address with two keys is made")
	}
	aside := numberedState(3, 1)
	aside.Damaged = []allocator.Damage{{Place: "x"}}
	if err := Create(t.Context(), cfg, aside); err == nil {
		t.Error("a state with records set aside is made")
	}
	if keys := dump(t, opened(t, cfg)); len(keys) != 0 {
		t.Errorf("there are keys: %s", keys)
	}
}

// TestAnImportThatWasCutShortIsBegunAnew: nobody reads half a table.
func TestAnImportThatWasCutShortIsBegunAnew(t *testing.T) {
	t.Parallel()
	proxy := etcdtest.NewProxy(t, etcd.Addr())
	through, direct := config(), config()
	direct.Prefix = through.Prefix
	through.Endpoints, through.Timeout = []string{"http://" + proxy.Addr()}, 5*time.Second
	before, err := Open(direct)
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	loaded(t, before)

	// Cut once it has begun to write.
	watch := etcd.Client(t).Watch(t.Context(), direct.Prefix+keyAddresses, clientv3.WithPrefix())
	begun := make(chan struct{})
	go func() {
		defer close(begun)
		<-watch
		proxy.Cut()
	}()
	if err := Create(t.Context(), through, numberedState(20_000, 7)); err == nil {
		t.Fatal("it was not cut short")
	}
	<-begun
	s := opened(t, direct)
	for what, do := range map[string]func() error{
		"loading": func() error { _, err := s.Load(t.Context()); return err },
		"asking":  func() error { _, err := before.Revision(t.Context()); return err },
		"committing": func() error {
			s.setFence(&fence{key: "x", rev: 1, term: "x"})
			return s.Commit(t.Context(), gives(0, "web", "240.0.0.1"))
		},
	} {
		t.Log(what)
		says(t, do(), "run the import again")
	}

	want := numberedState(200, 3)
	if err := Create(t.Context(), direct, want); err != nil {
		t.Fatal(err)
	}
	if diff := unlike(want, loaded(t, s)); diff != "" {
		t.Errorf("it has another table (-want +got):\n%s", diff)
	}
}

// TestOfTwoImportsOneIsWhole, and what the other wrote is not in it.
func TestOfTwoImportsOneIsWhole(t *testing.T) {
	t.Parallel()
	cfg := config()
	done := make(chan error)
	states := []allocator.State{numberedState(400, 3), numberedState(500, 5)}
	for _, s := range states {
		go func() { done <- Create(context.Background(), cfg, s) }()
	}
	var failed int
	for range states {
		if err := <-done; err != nil {
			failed++
			t.Logf("one of two: %v", err)
		}
	}
	if failed > 1 {
		// Each got in the other's way; nobody reads what they left.
		if _, err := opened(t, cfg).Load(t.Context()); !errors.Is(err, ErrImport) {
			t.Fatalf("loading what two have left returned %v", err)
		}
		if err := Create(t.Context(), cfg, states[0]); err != nil {
			t.Fatal(err)
		}
	}
	got := loaded(t, opened(t, cfg))
	if !slices.ContainsFunc(states, func(s allocator.State) bool { return unlike(s, got) == "" }) {
		t.Errorf("it has %d rows, and is neither", len(got.Rows))
	}
}
