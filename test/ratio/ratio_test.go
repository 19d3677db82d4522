package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

const printed = `commit: abc1234
machine: Some Processor, 2 cores
round: 1
goos: linux
pkg: example.org/somewhere
BenchmarkServeDNS/names=10000/A-2   	 10	 0 ns/op	 90.5 meshvip-ns	 300 hosts-ns	 1 meshvip-allocs
BenchmarkOneEntry/store=memory 	 100	 5 B/op	 3000 1M-in-10000-ns	 2000 1M-in-10-ns
BenchmarkFirstSync/store=bolt/entries=1000000/meshes=10000-2 	 1	 24000000000 ns/op	 800 B/entry
BenchmarkStart/names=1000000/meshes=10000-2 	 1	 0 ns/op	 2 hosts-s	 6 meshvip-s
BenchmarkAgainstRebuilding/apply/meshes=500-2 	 1	 10000 ns/op
BenchmarkAgainstRebuilding/rebuild/meshes=500-2 	 1	 20000000 ns/op
BenchmarkBroken-2 is not a result
round: 2
BenchmarkServeDNS/names=10000/A-2   	 10	 0 ns/op	 100 meshvip-ns	 250 hosts-ns	 1 meshvip-allocs
BenchmarkFirstSync/store=bolt/entries=1000000/meshes=10000-2 	 1	 26000000000 ns/op	 800 B/entry
round: 3
BenchmarkServeDNS/names=10000/A-2   	 10	 0 ns/op	 180 meshvip-ns	 300 hosts-ns	 1 meshvip-allocs
PASS
`

// printedReport is the table of what is printed above.
func printedReport(t *testing.T) report {
	t.Helper()
	res, facts, err := parse(strings.NewReader(printed))
	if err != nil {
		t.Fatal(err)
	}
	return reportOf(rows, res, facts)
}

func TestRatiosAreTakenWithinARound(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	printedReport(t).print(&out)
	got := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"commit abc1234 machine Some Processor, 2 cores",
		// The median ratio is that of round 2, 0.4, not the quotient of the medians.
		"A, 10,000 names, beside hosts 100 ns 300 ns 0.40 0.30-0.60 ≤ 0.5 yes",
		"memory, 1M-in-10000 meshes, beside 1M-in-10 3.00 µs 2.00 µs 1.50 ≤ 1.2 NO",
		"500 meshes x 100, beside a rebuild 10.0 µs 20.0 ms 2000 ≥ 1000 yes",
		"first sync into bolt 25.0 s 24.0-26.0 s ≤ 30 s yes",
		"until it can answer 6.00 s ≤ 5 s NO",
		"beside a server with plugin hosts 6.00 s 2.00 s 3.00 ≤ 2 NO",
		"after the first sync 800 B ≤ 1024 B yes",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in:\n%s", want, out.String())
		}
	}
	if strings.Contains(got, "Docker") {
		t.Errorf("what was not run is in:\n%s", out.String())
	}
}

// A text that holds a value for every figure gives every row, and none is wider
// than a terminal.
func TestTheTableHasAHundredColumns(t *testing.T) {
	t.Parallel()
	res := make(results)
	for _, r := range rows { // each misses its goal by a little
		least := max(r.goal, 0.4)
		if r.times {
			least = 1 / r.goal
		}
		res[r.ours], res[r.peer] = map[int]float64{1: 1.1 * least, 2: 1.3 * least}, map[int]float64{1: 1, 2: 1}
	}
	rep := reportOf(rows, res, nil)
	if len(rep.Rows) != len(rows) {
		t.Errorf("%d lines of %d rows", len(rep.Rows), len(rows))
	}
	var out strings.Builder
	rep.print(&out)
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestTheTableIsJSONToo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bench.json")
	if err := printedReport(t).writeJSON(path); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got report
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if got.Facts["commit"] != "abc1234" || len(got.Rows) == 0 || got.Rows[0].Ratio.Median != 0.4 || !*got.Rows[0].Met || got.Rows[0].Rounds != 3 {
		t.Errorf("%s", data)
	}
}

// Each benchmark that a row needs is run by a unit, and stands in the package that
// the unit names.
func TestEveryRowIsMeasuredByAUnit(t *testing.T) {
	t.Parallel()
	for _, r := range rows {
		for _, f := range []figure{r.ours, r.peer} {
			if f.bench == "" {
				continue
			}
			if !measured(t, "Benchmark"+f.bench) {
				t.Errorf("%s, %s: no unit runs %s", r.group, r.what, f.bench)
			}
		}
	}
	for _, u := range units {
		name, _, _ := strings.Cut(strings.Trim(u.bench, "^$"), "$")
		found := false
		files, _ := filepath.Glob(filepath.Join("..", "..", u.dir, "*_test.go"))
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			found = found || strings.Contains(string(data), "func "+name+"(b *testing.B)")
		}
		if !found {
			t.Errorf("%s has no %s", u.dir, name)
		}
	}
}

// measured reports whether a unit runs a benchmark, as package testing matches
// names: element by element.
func measured(t *testing.T, bench string) bool {
	t.Helper()
	elements := strings.Split(bench, "/")
	for _, u := range units {
		runs := true
		for i, pattern := range strings.Split(u.bench, "/") {
			runs = runs && i < len(elements) && regexp.MustCompile(pattern).MatchString(elements[i])
		}
		if runs {
			return true
		}
	}
	return false
}

func TestNothingToCompareIsAnError(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bench.txt")
	if err := os.WriteFile(path, []byte("PASS\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := show(context.Background(), path, ""); err == nil {
		t.Error("no error")
	}
	if err := show(context.Background(), path+".not", ""); err == nil {
		t.Error("no error for a file that is not there")
	}
}
