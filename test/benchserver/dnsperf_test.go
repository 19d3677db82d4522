package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// printedByDNSPerf is what dnsperf 2.10 prints with -v.
const printedByDNSPerf = `DNS Performance Testing Tool
Version 2.10.0

[Status] Command line: dnsperf -v
> NOERROR a.mesh. A 0.000200
> NOERROR b.mesh. A 0.000100
> T lost.mesh. A
> NXDOMAIN no-a.mesh. A 0.000300
[Status] Testing complete (time limit)

Statistics:

  Queries sent:         4
  Queries completed:    3 (75.00%)
  Queries lost:         1 (25.00%)

  Response codes:       NOERROR 2 (66.67%), NXDOMAIN 1 (33.33%)
  Average packet size:  request 27, response 44
  Run time (s):         1.500000
  Queries per second:   2.000000

  Average Latency (s):  0.000200 (min 0.000100, max 0.000300)
`

func TestWhatDNSPerfPrintsIsRead(t *testing.T) {
	t.Parallel()
	got, err := parseDNSPerf(strings.NewReader(printedByDNSPerf))
	if err != nil {
		t.Fatal(err)
	}
	want := answers{
		Completed: 3, Lost: 1, QPS: 2, Codes: map[string]int{"NOERROR": 2, "NXDOMAIN": 1},
		Took: 1500 * time.Millisecond, P50: 0.0002, P99: 0.0003,
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(answers{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestWhatAnotherDNSPerfPrintsIsAnError(t *testing.T) {
	t.Parallel()
	for _, lacking := range []string{"Queries completed", "Queries lost", "Response codes", "Run time", "Queries per second"} {
		if _, err := parseDNSPerf(strings.NewReader(strings.Replace(printedByDNSPerf, lacking, "Otherwise", 1))); err == nil {
			t.Errorf("no error without %q", lacking)
		}
	}
	if _, err := parseDNSPerf(strings.NewReader(strings.Replace(printedByDNSPerf, "0.000300\n[", "soon\n[", 1))); err == nil {
		t.Error("no error with a latency that is no number")
	}
}

func TestAServerThatAnswersWronglyIsNotMeasured(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		codes   map[string]int
		unknown string
		right   bool
	}{
		{map[string]int{"NOERROR": 900, "NXDOMAIN": 100}, "NXDOMAIN", true},
		{map[string]int{"NOERROR": 910, "NXDOMAIN": 90}, "NXDOMAIN", true},
		{map[string]int{"NOERROR": 900, "SERVFAIL": 100}, "SERVFAIL", true},
		{map[string]int{"NOERROR": 1000}, "", true},
		{map[string]int{"NOERROR": 1000}, "NXDOMAIN", false},
		{map[string]int{"NOERROR": 900, "SERVFAIL": 100}, "NXDOMAIN", false},
		{map[string]int{"NOERROR": 800, "NXDOMAIN": 100, "REFUSED": 100}, "NXDOMAIN", false},
		{map[string]int{"NOERROR": 900, "NXDOMAIN": 100}, "", false},
		{nil, "", false},
	} {
		a := answers{Codes: tc.codes}
		for _, n := range tc.codes {
			a.Completed += n
		}
		if wrong := a.wrong(tc.unknown); (wrong == "") != tc.right {
			t.Errorf("%v, unknown names %q: wrong is %q", tc.codes, tc.unknown, wrong)
		}
	}
}

func TestAPercentileIsOneOfTheValues(t *testing.T) {
	t.Parallel()
	var hundred []float64
	for i := range 100 {
		hundred = append(hundred, float64(i+1))
	}
	for q, want := range map[float64]float64{0: 1, 0.5: 50, 0.99: 99, 1: 100} {
		if got := percentile(hundred, q); got != want {
			t.Errorf("percentile %v of 1 to 100: %v, want %v", q, got, want)
		}
	}
	if got := percentile([]float64{7}, 0.5); got != 7 {
		t.Errorf("of one value: %v", got)
	}
	if got := percentile(nil, 0.5); got != 0 {
		t.Errorf("of none: %v", got)
	}
}
