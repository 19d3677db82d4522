package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const printed = `goos: linux
cpu: Some Processor
BenchmarkServeDNS/names=10000/A-2   	 10	 0 ns/op	 90.5 meshvip-ns	 300 hosts-ns	 0.30 ratio	 2 meshvip-allocs
BenchmarkApplyOne/store=memory/entries=1000000/meshes=10000-2 	 100	 9000 ns/op	 5 B/op
BenchmarkApplyOne/store=memory/entries=1000000/meshes=10-2 	 100	 5000 ns/op	 5 B/op
BenchmarkApplyOne/store=memory/entries=1000000/meshes=10-2 	 100	 7000 ns/op	 5 B/op
BenchmarkFirstSync/store=bolt/entries=1000000/meshes=10000-2 	 1	 24000000000 ns/op	 800 B/entry
BenchmarkStart/names=1000000/meshes=10000-2 	 1	 0 ns/op	 2 hosts-s	 6 meshvip-s
BenchmarkBroken-2 is not a result
PASS
`

func TestRatiosAreTakenWithinARun(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bench.txt")
	if err := os.WriteFile(path, []byte(printed), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := run(path, &out); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"linux, Some Processor", "0.30 ≤ 0.5 yes A", "1.50 ≤ 1.2 NO one new entry", "24.00 ≤ 30 yes first sync",
		"12.00 ≤ 20 yes first sync", "6.00 ≤ 5 NO start a server", "800.00 ≤ 1024 yes live heap",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in:\n%s", want, out.String())
		}
	}
	if n := strings.Count(out.String(), "\n"); n != 9 {
		t.Errorf("%d lines, want 9: what was not run is left out:\n%s", n, out.String())
	}
}

func TestNothingToCompareIsAnError(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bench.txt")
	if err := os.WriteFile(path, []byte("PASS\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(path, new(strings.Builder)); err == nil {
		t.Error("no error")
	}
	if err := run(path+".not", new(strings.Builder)); err == nil {
		t.Error("no error for a file that is not there")
	}
}
