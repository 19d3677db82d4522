package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// results are the values of each benchmark by unit and round: one for each round
// that it ran in, the last where it ran more than once.
type results map[figure]map[int]float64

// fact is a header line of the results: where and with what they were measured.
type fact struct{ key, value string }

// parse reads what benchmarks printed (golang.org/design/14313-benchmark-format):
// header lines "key: value", and lines of a name, a count, and pairs of value and
// unit. The key "round" numbers what follows; other keys are returned, each as it
// is first told.
func parse(rd io.Reader) (results, []fact, error) {
	res, round := make(results), 1
	var header []fact
	seen := map[string]bool{"pkg": true, "goos": true, "goarch": true, "cpu": true} // there as facts of our own, or of no interest
	s := bufio.NewScanner(rd)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		line := s.Text()
		if key, v, ok := strings.Cut(line, ": "); ok && isKey(key) {
			if key == "round" {
				n, err := strconv.Atoi(v)
				if err != nil {
					return nil, nil, fmt.Errorf("%q: %w", line, err)
				}
				round = n
			} else if !seen[key] {
				seen[key] = true
				header = append(header, fact{key, v})
			}
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		if _, err := strconv.Atoi(fields[1]); err != nil {
			continue
		}
		name := strings.TrimPrefix(trimProcs(fields[0]), "Benchmark")
		for i := 2; i+1 < len(fields); i += 2 {
			v, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return nil, nil, fmt.Errorf("%q: %w", line, err)
			}
			f := figure{name, fields[i+1]}
			if res[f] == nil {
				res[f] = make(map[int]float64)
			}
			res[f][round] = v
		}
	}
	return res, header, s.Err()
}

// isKey reports whether a header line may begin so: a lower-case word.
func isKey(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return (r < 'a' || r > 'z') && r != '-' }) < 0
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
