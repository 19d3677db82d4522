package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// samplesOf are measurements with so many answers in a second each, of 10 µs.
func samplesOf(qps ...float64) []sample {
	var all []sample
	for _, q := range qps {
		all = append(all, sample{
			answers: answers{Completed: int(q), QPS: q, Took: time.Second, P50: 1e-4, P99: 1e-3},
			CPU:     time.Duration(q) * 10 * time.Microsecond,
		})
	}
	return all
}

// reported is a report of ours and two others.
func reported() report {
	full := map[string][]sample{ours: samplesOf(100, 300, 200), hosts: samplesOf(100, 150, 400), file: samplesOf(200, 200, 200)}
	r := report{
		Machine:  machine{CPU: "a processor", Versions: map[string]string{ours: "1", hosts: "2", file: "3", "dnsperf": "4"}},
		Sizes:    []sized{{Services: 10_000, Rate: 50, Full: full, Fixed: full}},
		Changes:  &changed{Services: 10_000, While: samplesOf(96), Without: samplesOf(100)},
		Reloads:  map[string]sample{ours: {answers: answers{Completed: 99, Lost: 1}, Reloads: 10}},
		Settings: settings{Rounds: 3},
	}
	r.Goals = r.goals()
	return r
}

func TestAGoalIsMetByTheMedianOfTheRatiosOfRounds(t *testing.T) {
	t.Parallel()
	met := make(map[string]bool)
	for _, g := range reported().Goals {
		met[g.What] = g.Met
		if g.What == "questions a second, 10,000 services, to hosts" {
			if want := (spread{0.75, 1, 1.5}); g.Ratio != want || *g.ByCPU != (spread{1, 1, 1}) {
				t.Errorf("%+v, by processor time %+v, want %+v and 1", g.Ratio, *g.ByCPU, want)
			}
		}
	}
	want := map[string]bool{
		"questions a second, 10,000 services, to hosts":                                   true,
		"questions a second, 10,000 services, to file":                                    false,
		"questions a second, 10,000 services, with 100 changes of files a second to none": true,
		"answers lost over 10 reloads, of 100 questions":                                  false,
	}
	for what, is := range want {
		if got, ok := met[what]; !ok || got != is {
			t.Errorf("%s: met is %v (there: %v), want %v", what, got, ok, is)
		}
	}
	if len(met) != len(want) {
		t.Errorf("goals %v, want %v", met, want)
	}
}

func TestTheTableHasARowOfEachValueAndOfEachGoal(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	r := reported()
	r.print(&b)
	checkRows(t, b.String(), r.names())
	for _, want := range []string{"ours: 1", "hosts: 2", "file: 3", "dnsperf: 4", "a processor", "NO", "yes", "1 of 100 lost", "10 reloads of ours"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// checkRows checks that a table has all rows, with a value for each server.
func checkRows(t *testing.T, table string, names []string) {
	t.Helper()
	for _, row := range []string{
		"questions a second ", "processor time of one, µs", "processors busy", "p50, µs, at ", "p99, µs, at ",
		"resident, MiB", "start to first answer, s", "lost ",
	} {
		if !slices.ContainsFunc(strings.Split(table, "\n"), func(line string) bool { return strings.HasPrefix(line, row) }) {
			t.Errorf("no row %q", row)
		}
	}
	for _, name := range names {
		if !strings.Contains(table, name) {
			t.Errorf("no column %q", name)
		}
	}
	if t.Failed() {
		t.Log(table)
	}
}

func TestTheReportIsWrittenAsJSON(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "below", "report.json")
	if err := reported().write(path); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var back report
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if got := back.Sizes[0].Full[hosts][1].QPS; got != 150 || len(back.Goals) != 4 {
		t.Errorf("%v questions a second and %d goals, want 150 and 4", got, len(back.Goals))
	}
}

func TestTheMedianLiesInTheMiddle(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1}, 5}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 9, 2}, 3}} {
		if got := median(tc.values); got != tc.want {
			t.Errorf("%v: %v, want %v", tc.values, got, tc.want)
		}
	}
}

func TestHalfOfTheRoundsLieBetweenTheQuartiles(t *testing.T) {
	t.Parallel()
	for want, values := range map[spread][]float64{
		{3, 3, 3}: {3}, {2, 3, 4}: {5, 1, 4, 2, 3}, {1.25, 1.5, 1.75}: {2, 1}, {2, 3, 4.25}: {1000, 4, 3, 2, 1, 5, 2, 3},
	} {
		if got := spreadOf(values); got != want {
			t.Errorf("%v: %+v, want %+v", values, got, want)
		}
	}
	if got, want := (spread{1, 2, 3}).String()+"; "+(spread{2, 2, 2}).String(), "2.00, 1.00-3.00; 2.00"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
