package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// findDNSPerf returns the path of dnsperf.
func findDNSPerf() (string, error) {
	path, err := find("dnsperf")
	if err != nil {
		return "", errors.New("there is no dnsperf: install Debian's package dnsperf")
	}
	return path, nil
}

// asking is one run of dnsperf.
type asking struct {
	perf, port, questions string
	clients, threads      int
	outstanding, seconds  int
	rate                  int // questions a second, 0 for as many as are answered
	each                  bool
	dir                   string
}

// answers are what dnsperf counted.
type answers struct {
	Completed, Lost int
	QPS             float64
	Codes           map[string]int
	Took            time.Duration // the run
	// P50 and P99 are latencies in seconds, where each answer was asked for.
	P50, P99 float64
	client   time.Duration // processor time of dnsperf
}

// ask runs dnsperf.
func (a asking) ask(ctx context.Context) (answers, error) {
	args := []string{
		"-s", "127.0.0.1", "-p", a.port, "-d", a.questions, "-l", strconv.Itoa(a.seconds), "-t", "2",
		"-c", strconv.Itoa(a.clients), "-T", strconv.Itoa(a.threads), "-q", strconv.Itoa(a.outstanding),
	}
	if a.rate > 0 {
		args = append(args, "-Q", strconv.Itoa(a.rate))
	}
	if a.each {
		args = append(args, "-v")
	}
	// What it prints of each answer goes to a file, to be read when nothing is
	// measured any more.
	out, err := os.Create(filepath.Join(a.dir, "dnsperf.out"))
	if err != nil {
		return answers{}, err
	}
	defer out.Close()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, a.perf, args...)
	cmd.Stdout, cmd.Stderr = out, &stderr
	cmd.SysProcAttr = attributes()
	cmd.Cancel = func() error { return syscall.Kill(cmd.Process.Pid, syscall.SIGKILL) }
	if err := cmd.Run(); err != nil {
		return answers{}, errors.Join(ctx.Err(), fmt.Errorf("dnsperf: %w\n%s", err, stderr.String()))
	}
	if _, err := out.Seek(0, io.SeekStart); err != nil {
		return answers{}, err
	}
	got, err := parseDNSPerf(out)
	got.client = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return got, err
}

var (
	statistic = regexp.MustCompile(`^\s+(Queries completed|Queries lost|Queries per second|Run time \(s\)|Response codes):\s+(.*)$`)
	code      = regexp.MustCompile(`([A-Z0-9]+) (\d+) \(`)
)

// parseDNSPerf reads what dnsperf prints: a line "> NOERROR NAME TYPE SECONDS" for
// each answer where -v was given, and statistics.
func parseDNSPerf(r io.Reader) (answers, error) {
	a := answers{Codes: make(map[string]int)}
	var latencies []float64
	seen := make(map[string]bool)
	s := bufio.NewScanner(r)
	for s.Scan() {
		line := s.Text()
		if rest, ok := strings.CutPrefix(line, "> "); ok {
			f := strings.Fields(rest)
			if len(f) != 4 { // "T" for one that is lost has no latency
				continue
			}
			seconds, err := strconv.ParseFloat(f[3], 64)
			if err != nil {
				return a, fmt.Errorf("dnsperf printed %q: %w", line, err)
			}
			latencies = append(latencies, seconds)
			continue
		}
		m := statistic.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		seen[m[1]] = true
		if err := a.note(m[1], m[2]); err != nil {
			return a, fmt.Errorf("dnsperf printed %q: %w", line, err)
		}
	}
	if len(seen) != 5 {
		return a, fmt.Errorf("dnsperf printed no statistics: it is another version? %v were found", seen)
	}
	slices.Sort(latencies)
	a.P50, a.P99 = percentile(latencies, 0.5), percentile(latencies, 0.99)
	return a, s.Err()
}

// note takes one line of the statistics.
func (a *answers) note(what, value string) (err error) {
	first, _, _ := strings.Cut(value, " ")
	switch what {
	case "Queries completed":
		a.Completed, err = strconv.Atoi(first)
	case "Queries lost":
		a.Lost, err = strconv.Atoi(first)
	case "Queries per second":
		a.QPS, err = strconv.ParseFloat(first, 64)
	case "Run time (s)":
		var seconds float64
		seconds, err = strconv.ParseFloat(first, 64)
		a.Took = time.Duration(seconds * float64(time.Second))
	case "Response codes":
		for _, m := range code.FindAllStringSubmatch(value, -1) {
			if a.Codes[m[1]], err = strconv.Atoi(m[2]); err != nil {
				return err
			}
		}
	}
	return err
}

// percentile returns the value of which a share q of the sorted values is not
// greater; 0 of none.
func percentile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}

// wrong says what is wrong with answers of a server that says unknown of the names
// that do not exist; "" if nothing is. The questions are drawn at random, and not
// all of them are asked: two in a hundred either way are allowed.
func (a answers) wrong(unknown string) string {
	if a.Completed == 0 {
		return "no answers"
	}
	if unknown == "" {
		unknown = "NOERROR"
	}
	want := map[string]float64{"NOERROR": 1 - shareUnknown/100.}
	want[unknown] += shareUnknown / 100.
	for name, n := range a.Codes {
		want[name] -= float64(n) / float64(a.Completed)
	}
	for name, off := range want {
		if math.Abs(off) > 0.02 {
			return fmt.Sprintf("of %d answers with the codes %v, %s is off by %.1f %%", a.Completed, a.Codes, name, -100*off)
		}
	}
	return ""
}
