package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/boltstore"
)

// tableOf returns a table of n services in format 2.
func tableOf(n int) []byte {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, ",\n\"0:service-%06d\":\"240.%d.%d.%d\"", i, i>>16, i>>8&255, i&255)
	}
	return []byte("{" + b.String()[1:] + "}")
}

func TestAStoreIsThereAsAWholeOrNotAtAllWheneverAnImportIsKilled(t *testing.T) {
	t.Parallel()
	const rows = 5_000
	dir := t.TempDir()
	tables := filepath.Join(dir, "default.json")
	if err := os.WriteFile(tables, tableOf(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	command := func(store string) *exec.Cmd {
		return exec.Command("meshvipctl", "import", "--pool", "240.0.0.0/8", "--store", store, tables)
	}
	whole := filepath.Join(dir, "whole.db")
	begin := time.Now()
	if out, err := command(whole).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	took := time.Since(begin)
	killed := 0
	for n := range 20 {
		store := filepath.Join(dir, fmt.Sprintf("killed-%d.db", n))
		c := command(store)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		kill := time.AfterFunc(rand.N(took), func() { c.Process.Kill() })
		if c.Wait() != nil {
			killed++
		}
		kill.Stop()
		if _, err := os.Stat(store); os.IsNotExist(err) {
			continue
		}
		if state := load(t, store); len(state.Rows) != rows || allocator.Check(state) != nil {
			t.Errorf("a store of %d entries is left, want %d: %v", len(state.Rows), rows, allocator.Check(state))
		}
	}
	if killed == 0 {
		t.Error("no import was killed")
	}
	// What the last one left is in nobody's way.
	if out, err := command(filepath.Join(dir, "killed-19.db")).CombinedOutput(); err != nil {
		t.Errorf("the import after it: %v: %s", err, out)
	}
}

func load(t *testing.T, path string) allocator.State {
	t.Helper()
	store, created, err := boltstore.Open(path, boltstore.Options{})
	if err != nil || created {
		t.Fatalf("created %v: %v", created, err)
	}
	defer store.Close()
	state, err := store.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return state
}
