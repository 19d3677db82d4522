package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/meshvip/coredns-meshvip/test/figures"
)

// cpu returns the processor time that the server has used, its children's included.
func (p *process) cpu() (time.Duration, error) {
	var used time.Duration
	err := p.each(func(_ string, stat figures.Stat) error {
		own, err := stat.ProcessorTime()
		used += own
		return err
	})
	return used, err
}

// resident returns the memory that the server has in RAM, in bytes. What its
// processes share with each other is counted once, and its program in full: another
// server that runs the same one takes nothing off.
func (p *process) resident() (int64, error) {
	var own, program int64
	err := p.each(func(dir string, _ figures.Stat) error {
		data, err := os.ReadFile(filepath.Join(dir, "smaps_rollup"))
		if err != nil {
			return err
		}
		o, prog, err := parseRollup(string(data))
		own, program = own+o, max(program, prog)
		return err
	})
	return own + program, err
}

// parseRollup reads smaps_rollup of proc(5): how many bytes a process has of its
// own, with its share of what others of its family have too, and of files.
func parseRollup(text string) (own, files int64, err error) {
	kib := make(map[string]int64)
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) == 3 && f[2] == "kB" {
			if kib[f[0]], err = strconv.ParseInt(f[1], 10, 64); err != nil {
				return 0, 0, err
			}
		}
	}
	for _, key := range []string{"Rss:", "Anonymous:", "Pss_Anon:", "Pss_Shmem:"} {
		if _, ok := kib[key]; !ok {
			return 0, 0, fmt.Errorf("smaps_rollup has no line %q: this needs Linux 5.9", key)
		}
	}
	return (kib["Pss_Anon:"] + kib["Pss_Shmem:"]) << 10, (kib["Rss:"] - kib["Anonymous:"]) << 10, nil
}

// each calls f for each process of the server's group, with its directory in /proc
// and what its stat says from the state on.
func (p *process) each(f func(dir string, stat figures.Stat) error) error {
	group, found := strconv.Itoa(p.cmd.Process.Pid), false
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return err
	}
	for _, path := range all {
		stat, err := figures.ReadStat(path)
		if err != nil || stat[2] != group {
			continue // it has ended, or is another's
		}
		found = true
		if err := f(filepath.Dir(path), stat); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("%s has ended; it printed:\n%s", p.name, p.printed())
	}
	return nil
}

// busy returns the processor time that the whole machine has used.
func busy() (time.Duration, error) {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(data), "\n")
	return parseBusy(line)
}

// parseBusy adds up the first line of /proc/stat, but for what is idle or waiting,
// and for guests, which are counted twice.
func parseBusy(line string) (time.Duration, error) {
	f := strings.Fields(line)
	if len(f) < 9 || f[0] != "cpu" {
		return 0, fmt.Errorf("/proc/stat begins with %q", line)
	}
	var ticks uint64
	for i, field := range f[1:9] {
		if i == 3 || i == 4 { // idle, iowait
			continue
		}
		n, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * figures.Tick, nil
}
