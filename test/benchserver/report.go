package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/meshvip/coredns-meshvip/test/figures"
)

// report is all that was measured.
type report struct {
	Machine  machine
	Settings settings
	Sizes    []sized
	Changes  *changed
	Reloads  map[string]sample
	Goals    []goal
}

// write writes the report as JSON.
func (r report) write(path string) error {
	data, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}

// row is one line of the table: a value of each server.
type row struct {
	what   string
	format string
	values map[string][]float64 // by server, then round
}

// rows are the lines of one size.
func (s sized) rows() []row {
	of := func(samples map[string][]sample, f func(sample) float64) map[string][]float64 {
		values := make(map[string][]float64)
		for name, all := range samples {
			values[name] = each(all, f)
		}
		return values
	}
	once := func(f func(name string) float64) map[string][]float64 {
		values := make(map[string][]float64)
		for name := range s.Full {
			values[name] = []float64{f(name)}
		}
		return values
	}
	at := fmt.Sprintf(" at %s a second", figures.Thousands(s.Rate))
	full := []row{
		{"questions a second", "%.0f", of(s.Full, func(s sample) float64 { return s.QPS })},
		{"processor time of one, µs", "%.2f", of(s.Full, sample.perQuery)},
		{"processors busy", "%.2f", of(s.Full, func(s sample) float64 { return s.CPU.Seconds() / s.Took.Seconds() })},
	}
	fixed := []row{
		{"processor time, µs," + at, "%.2f", of(s.Fixed, sample.perQuery)},
		{"p50, µs," + at, "%.0f", of(s.Fixed, func(s sample) float64 { return s.P50 * 1e6 })},
		{"p99, µs," + at, "%.0f", of(s.Fixed, func(s sample) float64 { return s.P99 * 1e6 })},
	}
	end := []row{
		{"resident, MiB", "%.0f", once(func(name string) float64 { return float64(s.Resident[name]) / (1 << 20) })},
		{"start to first answer, s", "%.2f", once(func(name string) float64 { return s.Start[name] })},
		{"lost", "%.0f", once(func(name string) float64 {
			n := 0
			for _, s := range slices.Concat(s.Full[name], s.Fixed[name]) {
				n += s.Lost
			}
			return float64(n)
		})},
	}
	if len(s.Fixed) == 0 {
		fixed = nil
	}
	return slices.Concat(full, fixed, end)
}

// print prints the report: where, the values, and the goals.
func (r report) print(w io.Writer) {
	fmt.Fprintf(w, "\n%s, %d processors, Linux %s\n", r.Machine.CPU, r.Machine.Processors, r.Machine.Kernel)
	names := r.names()
	for _, name := range append(slices.Clone(names), "dnsperf") {
		fmt.Fprintf(w, "  %s: %s\n", name, r.Machine.Versions[name])
	}
	fmt.Fprintf(w, "Questions: %d %% A in both spellings, %d %% AAAA, which no name has, %d %% PTR, %d %% names that do not exist,\n"+
		"of services picked evenly; dnsperf with %d sockets, %d threads and %d questions under way; %d rounds of %d s.\n"+
		"Other work kept %s processors busy.\n",
		shareLiteral+shareDotted, shareAAAA, sharePTR, shareUnknown,
		r.Settings.Clients, r.Settings.Threads, r.Settings.Outstanding, r.Settings.Rounds, r.Settings.Seconds, r.noise())
	fmt.Fprintf(w, "In parentheses: %s's value to the server's, by rounds: the median, and what half of the rounds lie between.\n\n", names[0])
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range r.Sizes {
		fmt.Fprintf(t, "%s services\t%s\n", figures.Thousands(s.Services), strings.Join(names, "\t"))
		for _, row := range s.rows() {
			row.print(t, names)
		}
		fmt.Fprintln(t)
	}
	t.Flush()
	r.printRest(w)
	if len(r.Goals) == 0 {
		return
	}
	fmt.Fprintln(t, "ratio\tby processor time\tgoal\tmet\t")
	for _, g := range r.Goals {
		sign, met := "≥", "yes"
		if g.Most {
			sign = "≤"
		}
		if !g.Met {
			met = "NO"
		}
		cpu := "-"
		if g.ByCPU != nil {
			cpu = g.ByCPU.String()
		}
		fmt.Fprintf(t, "%v\t%s\t%s %.4g\t%s\t%s\n", g.Ratio, cpu, sign, g.Want, met, g.What)
	}
	t.Flush()
}

// print prints a line: the median of each server, and how the first one compares.
func (r row) print(w io.Writer, names []string) {
	fmt.Fprint(w, r.what)
	for i, name := range names {
		fmt.Fprintf(w, "\t"+r.format, median(r.values[name]))
		if i > 0 && median(r.values[name]) > 0 {
			fmt.Fprintf(w, " (%v)", spreadOf(ratios(r.values[names[0]], r.values[name])))
		}
	}
	fmt.Fprintln(w)
}

// printRest prints what was measured of ours alone.
func (r report) printRest(w io.Writer) {
	if c := r.Changes; c != nil {
		qps := func(s sample) float64 { return s.QPS }
		rate := median(each(c.While, func(s sample) float64 { return float64(s.Changes) / s.Took.Seconds() }))
		fmt.Fprintf(w, "%s services in resource files: %.0f questions a second and %.2f µs each; with %.0f changes a second: %.0f and %.2f µs\n",
			figures.Thousands(c.Services), median(each(c.Without, qps)), median(each(c.Without, sample.perQuery)),
			rate, median(each(c.While, qps)), median(each(c.While, sample.perQuery)))
	}
	for _, name := range r.names() {
		if s, ok := r.Reloads[name]; ok {
			fmt.Fprintf(w, "%d reloads of %s at %.0f questions a second: %d of %s lost, p99 %.0f µs\n",
				s.Reloads, name, s.QPS, s.Lost, figures.Thousands(s.Completed+s.Lost), s.P99*1e6)
		}
	}
	fmt.Fprintln(w)
}

// names are the servers in the order of the columns.
func (r report) names() []string {
	var names []string
	order := slices.Clone(everyServer)
	for _, v := range r.Settings.Variants {
		order = append(order, v.Name)
	}
	for _, name := range order {
		if _, ok := r.Machine.Versions[name]; ok {
			names = append(names, name)
		}
	}
	return names
}

// noise says how many processors others had busy.
func (r report) noise() string {
	var all []float64
	for _, s := range r.Sizes {
		for _, samples := range []map[string][]sample{s.Full, s.Fixed} {
			for _, of := range samples {
				all = append(all, each(of, func(s sample) float64 { return s.Other })...)
			}
		}
	}
	if len(all) == 0 {
		return "an unknown number of"
	}
	return fmt.Sprintf("%.2f (at most %.2f)", median(all), slices.Max(all))
}
