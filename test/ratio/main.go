// Command ratio reads what "go test -bench" printed, and prints how our work
// compares with its peers in the same run, beside the goal. Times of different
// machines and runs say little; these ratios say the same everywhere.
//
//	ratio bench.txt
//
// It exits with 1 if the file cannot be read or holds none of the rows. A goal
// that is not met is printed, and is no error: machines are noisy.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
)

// results are the values of each benchmark by unit, means where it ran more
// than once.
type results map[string]map[string]float64

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: ratio FILE, with what go test -bench printed")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "ratio:", err)
		os.Exit(1)
	}
}

func run(path string, w io.Writer) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	res, header, err := parse(f)
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	fmt.Fprintf(w, "\n%s\n", strings.Join(header, ", "))
	n := table(w, res)
	if n == 0 {
		return fmt.Errorf("%s holds none of the benchmarks that are compared", path)
	}
	return nil
}

// table prints the rows that there are results for, and returns how many.
func table(w io.Writer, res results) int {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "value\tgoal\tmet\t \t")
	n := 0
	for _, r := range rows {
		v, ok := res.value(r.bench, r.unit)
		if r.per > 0 {
			v /= r.per
		}
		if r.peer != "" {
			p, has := res.value(r.peer, r.peerUnit)
			ok = ok && has && p > 0
			v /= p
		}
		if !ok {
			continue
		}
		met := "yes"
		if v > r.goal {
			met = "NO"
		}
		fmt.Fprintf(t, "%.2f\t≤ %.4g\t%s\t\t%s\n", v, r.goal, met, r.what)
		n++
	}
	t.Flush()
	return n
}

// value returns the mean of a benchmark's values in a unit.
func (r results) value(bench, unit string) (float64, bool) {
	v, ok := r["Benchmark"+bench][unit]
	return v, ok
}

// parse reads the output of go test -bench (golang.org/design/14313-benchmark-
// format): header lines "key: value", and lines of a name, a count, and pairs
// of value and unit.
func parse(rd io.Reader) (results, []string, error) {
	res, counts := make(results), make(map[string]int)
	var header []string
	seen := make(map[string]bool)
	s := bufio.NewScanner(rd)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		line := s.Text()
		if key, v, ok := strings.Cut(line, ": "); ok && (key == "goos" || key == "goarch" || key == "cpu") && !seen[key] {
			seen[key] = true
			header = append(header, v)
		}
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		if _, err := strconv.Atoi(fields[1]); err != nil {
			continue
		}
		name := trimProcs(fields[0])
		counts[name]++
		if res[name] == nil {
			res[name] = make(map[string]float64)
		}
		for i := 2; i+1 < len(fields); i += 2 {
			v, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return nil, nil, fmt.Errorf("%q: %w", line, err)
			}
			unit, k := fields[i+1], float64(counts[name])
			res[name][unit] += (v - res[name][unit]) / k
		}
	}
	return res, header, s.Err()
}

// trimProcs takes the "-2" off that tells GOMAXPROCS.
func trimProcs(name string) string {
	if i := strings.LastIndexByte(name, '-'); i > 0 {
		if _, err := strconv.Atoi(name[i+1:]); err == nil {
			return name[:i]
		}
	}
	return name
}
