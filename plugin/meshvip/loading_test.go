package meshvip

import (
	"path/filepath"
	"runtime/debug"
	"testing"
)

// TestLoadingLeavesTheCollectorAsItWas, however many tables are loaded at once, and
// whether they can be or not. It is not parallel: the setting is the process's.
func TestLoadingLeavesTheCollectorAsItWas(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	percent := func() int {
		now := debug.SetGCPercent(100)
		debug.SetGCPercent(now)
		return now
	}
	for _, before := range []int{100, 50, -1} {
		debug.SetGCPercent(before)
		during := max(-1, loadingGarbage*before)
		first, second := loading(), loading()
		if got := percent(); got != during {
			t.Errorf("%d while two are loaded, want %d", got, during)
		}
		first()
		first() // which changes nothing
		if got := percent(); got != during {
			t.Errorf("%d while one is loaded, want %d", got, during)
		}
		second()
		if got := percent(); got != before {
			t.Errorf("%d afterwards, want %d", got, before)
		}
	}
	debug.SetGCPercent(100)
	cfg := RuntimeConfig{}
	cfg.Store.Value = StoreConfig{Kind: "bolt", Path: filepath.Join(t.TempDir(), "missing", "dir", "table.db")}
	r := newRuntime("loading", cfg)
	defer r.close()
	if err := r.open(); err == nil {
		t.Fatal("opened")
	}
	if got := percent(); got != 100 {
		t.Errorf("%d after a store that cannot be opened", got)
	}
}
