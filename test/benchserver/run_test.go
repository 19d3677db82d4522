package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator/boltstore"
)

// build builds our CoreDNS, which has the plugins of the peers too.
func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "coredns")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", path, "../../cmd/coredns").CombinedOutput(); err != nil {
		t.Fatalf("building cmd/coredns: %v\n%s", err, out)
	}
	return path
}

func TestTheQuickRunGivesATableWithAllRows(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("most of a minute is too long for -short")
	}
	if _, err := findDNSPerf(); err != nil {
		t.Skip(err)
	}
	coredns, json := build(t), filepath.Join(t.TempDir(), "report.json")
	s, err := parse([]string{"-quick", "-ours", coredns, "-stock", coredns, "-json", json, "-variant", "gogc,env=GOGC=400"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var table bytes.Buffer
	if err := run(t.Context(), s, &table, t.Output()); err != nil {
		t.Fatal(err)
	}
	checkRows(t, table.String(), []string{ours, hosts, file, whoami, "gogc"})
	if _, err := os.Stat(json); err != nil {
		t.Error(err)
	}
}

func TestAServerEndsWithTheRunThatStartedIt(t *testing.T) {
	t.Parallel()
	coredns := build(t)
	s, err := newSite(t.TempDir(), 10)
	if err != nil {
		t.Fatal(err)
	}
	set := settings{Ours: coredns, Servers: []string{ours}}
	kinds, err := set.kinds(t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	p, err := start(t.Context(), kinds[0], s, s.lastName())
	if err != nil {
		t.Fatal(err)
	}
	if n, err := p.resident(); err != nil || n < 1<<20 {
		t.Errorf("resident are %d bytes, %v", n, err)
	}
	p.stop()
	if err := syscall.Kill(p.cmd.Process.Pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the process is still there: %v", err)
	}

	// One that never answers, as on Ctrl-C.
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := start(ctx, kinds[0], s, "never.mesh."); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a server that does not answer: %v", err)
	}
	// Its store is free again: it has ended.
	store, _, err := boltstore.Open(s.path("meshvip.db"), boltstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}
