package allocator_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
)

// TestRolesChangeUnderLoad: batches, ticks and questions go on while two replicas
// take the lead from each other. Every change is made by the one that leads, or
// refused; run it under the race detector.
func TestRolesChangeUnderLoad(t *testing.T) {
	t.Parallel()
	store := &watched{Store: memstore.New()}
	cfg := allocator.Config{Layout: layout("10.0.0.0/16"), Cooldown: time.Hour, MaxRelease: anyRelease, Follows: true}
	replicas := []*allocator.Allocator{open(t, store, nil, cfg), open(t, store, nil, cfg)}
	replicas[0].Lead()
	ctx := t.Context()
	done := make(chan struct{})
	var wg sync.WaitGroup
	for i, a := range replicas {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				_, err := a.Apply(ctx, part(set("m", fmt.Sprintf("%d-%d", i, n%50))))
				if err != nil && !errors.Is(err, allocator.ErrFollows) && !errors.Is(err, allocator.ErrConflict) {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if err := a.Tick(ctx); err != nil && !errors.Is(err, allocator.ErrFollows) && !errors.Is(err, allocator.ErrConflict) {
					t.Error(err)
				}
				a.Due()
				a.Stats()
				a.PoolStates()
				a.Page("", vip.Key{}, 10)
				a.Address(addr("10.0.0.1"))
				if _, err := a.PlanFor(layout("10.0.0.0/24")); err != nil {
					t.Error(err)
				}
				if err := a.Follow(allocator.Patch{}); err == nil {
					t.Error("it follows a patch of nothing")
				}
			}
		})
	}
	leads := 0
	for range 100 {
		replicas[leads].StandDown()
		leads = 1 - leads
		if err := replicas[leads].Reload(ctx); err != nil {
			t.Fatal(err)
		}
		replicas[leads].Lead()
	}
	close(done)
	wg.Wait()
	for _, a := range replicas {
		if err := a.Reload(ctx); err != nil {
			t.Fatal(err)
		}
	}
}
