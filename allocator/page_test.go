package allocator_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
)

// TestPagesFollowWhatChangesWhileTheirOrderIsMade: the order is made beside a
// table that goes on.
func TestPagesFollowWhatChangesWhileTheirOrderIsMade(t *testing.T) {
	t.Parallel()
	for range 20 {
		a := open(t, memstore.New(), nil, allocator.Config{Layout: layout("240.0.0.0/16"), MaxRelease: anyRelease})
		apply(t, a, full(set("m", names(500)...)))
		var asking sync.WaitGroup
		for range 2 {
			asking.Go(func() { a.Page("", vip.Key{}, 10) })
		}
		for i := range 30 {
			apply(t, a, part(set("n", fmt.Sprintf("n-%d", i)), drop("m", names(500)[i])))
		}
		asking.Wait()
		rows := a.Rows()
		p, ok := a.Page("", vip.Key{}, 1000)
		if !ok || p.More || len(p.Lines) != len(rows) {
			t.Fatalf("%d rows in a page, want %d; more: %v", len(p.Lines), len(rows), p.More)
		}
		for i, row := range rows {
			if p.Lines[i].Row != row {
				t.Fatalf("row %d is %v, want %v", i, p.Lines[i].Row.Key(), row.Key())
			}
		}
	}
}
