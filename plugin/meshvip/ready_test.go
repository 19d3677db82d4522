package meshvip

import (
	"testing"

	"github.com/coredns/caddy"
	"github.com/meshvip/coredns-meshvip/vip"
)

func TestReadinessNeedsATableWithEntriesOrASourceThatWasRead(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		what             string
		loading, syncing bool
		rows             []*vip.Row
		want             bool
	}{
		{"nothing yet", true, true, []*vip.Row{}, false},
		{"not loaded, whatever the rest", true, false, world, false},
		{"an empty table, its source not read", false, true, []*vip.Row{}, false},
		{"an empty table, its source read", false, false, []*vip.Row{}, true},
		{"a table with entries, its source not read", false, true, world, true},
	} {
		h, _, _ := fixture{loading: tc.loading, syncing: tc.syncing, rows: tc.rows}.handler(t)
		if got := h.Ready(); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.what, got, tc.want)
		}
	}
}

func TestOnceReadyStaysReady(t *testing.T) {
	t.Parallel()
	h, tab, _ := fixture{}.handler(t)
	if !h.Ready() {
		t.Fatal("not ready at first")
	}
	tab.loading.Store(true)
	tab.syncing.Store(true)
	if !h.Ready() {
		t.Error("not ready any more")
	}
}

func TestReadinessCoversEveryBlockOfTheInstance(t *testing.T) {
	t.Parallel()
	c := caddy.NewTestController("dns", "meshvip")
	late, lateTable, _ := fixture{syncing: true, rows: []*vip.Row{}}.handler(t)
	last, _, _ := fixture{}.handler(t)
	blocksOf(c).add(late)
	blocksOf(c).add(last)
	if last.Ready() || late.Ready() {
		t.Error("ready before every block is")
	}
	lateTable.syncing.Store(false)
	if !last.Ready() || !late.Ready() {
		t.Error("not ready when every block is")
	}
}

// An instance that fails to start is told nothing: its handlers stay as they
// are for ever.
func TestAFailedReloadDoesNotTakeReadinessAway(t *testing.T) {
	t.Parallel()
	running, _, _ := fixture{}.handler(t)
	failed, _, _ := fixture{loading: true}.handler(t)
	blocksOf(caddy.NewTestController("dns", "meshvip")).add(running)
	blocksOf(caddy.NewTestController("dns", "meshvip")).add(failed)
	if !running.Ready() {
		t.Error("the running instance waits for one that never started")
	}
}
