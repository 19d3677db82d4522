package allocator_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
)

// failAt fails the nth commit.
type failAt struct {
	*faulty
	n int
}

func (s *failAt) Commit(ctx context.Context, d allocator.Delta) error {
	s.n--
	s.before = s.n == 0
	return s.faulty.Commit(ctx, d)
}

// TestALargeBatchThatStopsHalfWayIsCompletedByTheNext: nothing is lost of what
// was written, no address is passed over, and all get what they would have got.
func TestALargeBatchThatStopsHalfWayIsCompletedByTheNext(t *testing.T) {
	t.Parallel()
	const n, chunk = 2_500, 1_000 // three transactions
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("svc-%05d", i*7919%n))
	}
	cfg := allocator.Config{Layout: layout("240.0.0.0/16"), Cooldown: time.Hour, MaxRelease: anyRelease}
	whole := open(t, memstore.New(), nil, cfg)
	apply(t, whole, full(set("m", all...)))
	want := table(whole)
	for _, again := range []string{"same process", "restart"} {
		t.Run(again, func(t *testing.T) {
			t.Parallel()
			store := &failAt{faulty: &faulty{Store: memstore.New()}, n: 2}
			commits := 0
			cfg := cfg
			cfg.OnCommit = func(allocator.Commit) { commits++ }
			a, err := allocator.Open(t.Context(), store, cfg)
			if err != nil {
				t.Fatal(err)
			}
			a.SetChunk(chunk)
			if _, err := a.Apply(t.Context(), full(set("m", all...))); !errors.Is(err, errFault) {
				t.Fatal(err)
			}
			if got := len(a.Rows()); got != chunk || commits != 1 || a.Stats().Meta.Synced {
				t.Errorf("%d rows after %d commits, synced %v", got, commits, a.Stats().Meta.Synced)
			}
			if again == "restart" {
				a = open(t, store, nil, cfg)
				a.SetChunk(chunk)
			}
			// A newcomer of another mesh comes in between.
			apply(t, a, part(set("other", "newcomer")))
			newcomer := table(a)["newcomer"]
			apply(t, a, full(set("m", all...), set("other", "newcomer")))
			got := table(a)
			used := slices.Sorted(maps.Values(got))
			if len(slices.Compact(used)) != n+1 || !a.Stats().Meta.Synced || got["newcomer"] != newcomer {
				t.Errorf("%d different addresses, want %d; synced %v", len(used), n+1, a.Stats().Meta.Synced)
			}
			for _, name := range slices.Sorted(maps.Keys(want))[:chunk] {
				if got[name] != want[name] {
					t.Fatalf("%s moved from %s to %s", name, want[name], got[name])
				}
			}
			if next := a.Pools()[0].Next; next != addr("240.0.9.198") { // .1 + 2,501
				t.Errorf("the cursor is at %v: some address was passed over", next)
			}
			if err := a.Verify(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestALargeBatchThatIsCancelledStopsBetweenParts(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cfg := allocator.Config{Layout: layout("240.0.0.0/16"), OnCommit: func(allocator.Commit) { cancel() }}
	a := open(t, memstore.New(), nil, cfg)
	a.SetChunk(1_000)
	b := full(set("m"))
	for i := range 2_001 {
		b.Meshes[0].Set = append(b.Meshes[0].Set, requests(fmt.Sprintf("svc-%05d", i))...)
	}
	if _, err := a.Apply(ctx, b); !errors.Is(err, context.Canceled) || len(a.Rows()) != 1_000 {
		t.Errorf("%d rows, %v", len(a.Rows()), err)
	}
	apply(t, a, b)
	if len(a.Rows()) != 2_001 {
		t.Errorf("%d rows", len(a.Rows()))
	}
}

// TestAReleaseInPartsIsReusedInOneOrder: in memory and after a restart alike.
func TestAReleaseInPartsIsReusedInOneOrder(t *testing.T) {
	t.Parallel()
	c := &clock{}
	cfg := allocator.Config{Layout: layout("10.0.0.0/21"), Cooldown: time.Hour, MaxRelease: anyRelease}
	var results []map[string]string
	for _, again := range []bool{false, true} {
		store := &faulty{Store: memstore.New()}
		a := open(t, store, c, cfg)
		a.SetChunk(500)
		var old, batches []string
		for i := range 2_046 { // all that there is, in an order that is not the keys'
			old = append(old, fmt.Sprintf("old-%05d", i))
		}
		for i, name := range old {
			if batches = append(batches, old[len(old)-1-i]); len(batches) == 200 || name == old[len(old)-1] {
				apply(t, a, part(set("m", batches...)))
				batches = nil
			}
		}
		apply(t, a, part(drop("m", old...)))
		if again {
			a = restart(t, a, store, c, cfg)
		}
		c.running += 2 * time.Hour
		var fresh []string
		for i := range 900 {
			fresh = append(fresh, fmt.Sprintf("new-%05d", i))
		}
		apply(t, a, part(set("m", fresh...)))
		results = append(results, table(a))
	}
	if !maps.Equal(results[0], results[1]) {
		t.Error("after a restart released addresses are reused in another order")
	}
}
