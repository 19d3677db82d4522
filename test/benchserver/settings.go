package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// settings are what the flags say.
type settings struct {
	Ours, Stock string   // the builds
	Servers     []string // which to measure
	Variants    []variant
	Sizes       []int // numbers of services, each with two names
	Rounds      int
	Seconds     int  // of one measurement
	Clients     int  // sockets of dnsperf
	Threads     int  // of dnsperf
	Outstanding int  // questions of dnsperf without an answer yet
	FullOnly    bool // nothing but full load
	JSON        string
}

// variant is ours once more, with something else.
type variant struct {
	Name   string
	Binary string   // "" for the same
	Env    []string // added to the environment
	Lines  []string // added to the server block
}

// parse reads the flags.
func parse(args []string, usage io.Writer) (settings, error) {
	s := settings{Servers: slices.Clone(everyServer), Sizes: []int{10_000, 100_000, 1_000_000}}
	f := flag.NewFlagSet("benchserver", flag.ContinueOnError)
	f.SetOutput(usage)
	quick := f.Bool("quick", false, "measure as little as there can be: 1,000 services, one round of a second")
	f.StringVar(&s.Ours, "ours", "bin/coredns", "our `build`")
	f.StringVar(&s.Stock, "stock", "bin/coredns-stock", "a stock `build` of CoreDNS")
	f.IntVar(&s.Rounds, "rounds", 5, "how often each server is measured")
	f.IntVar(&s.Seconds, "seconds", 3, "`seconds` of one measurement")
	f.IntVar(&s.Clients, "c", 20, "sockets that dnsperf asks from")
	f.IntVar(&s.Threads, "T", 1, "threads of dnsperf")
	f.IntVar(&s.Outstanding, "q", 100, "questions that may be without an answer")
	f.BoolVar(&s.FullOnly, "full-only", false, "measure under full load only: no fixed load, changes and reloads")
	f.StringVar(&s.JSON, "json", "", "`file` for all figures")
	f.Func("sizes", "numbers of services, such as 10k,100k,1M", func(v string) (err error) {
		s.Sizes, err = parseSizes(v)
		return err
	})
	f.Func("servers", "which to measure: "+strings.Join(everyServer, ","), func(v string) error {
		s.Servers = strings.Split(v, ",")
		for _, name := range s.Servers {
			if !slices.Contains(everyServer, name) {
				return fmt.Errorf("no server %q, there are %s", name, strings.Join(everyServer, ", "))
			}
		}
		return nil
	})
	f.Func("variant", "ours with something else, to compare: `NAME[,bin=BUILD][,env=VAR=VALUE][,line=CONFIGURATION]`; may be repeated", func(v string) error {
		one, err := parseVariant(v)
		s.Variants = append(s.Variants, one)
		return err
	})
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if *quick {
		s.Sizes, s.Rounds, s.Seconds = []int{1000}, 1, 1
	}
	switch {
	case f.NArg() > 0:
		return s, fmt.Errorf("%q is no flag: there are no other arguments", f.Arg(0))
	case min(s.Rounds, s.Seconds, s.Clients, s.Threads, s.Outstanding) < 1:
		return s, errors.New("-rounds, -seconds, -c, -T and -q are at least 1")
	case s.Clients < s.Threads:
		return s, errors.New("dnsperf needs a client for each thread: -c is at least -T")
	}
	return s, nil
}

// parseSizes reads numbers such as 10k and 1M.
func parseSizes(v string) ([]int, error) {
	var sizes []int
	for part := range strings.SplitSeq(v, ",") {
		digits, factor := part, 1
		for suffix, f := range map[string]int{"k": 1000, "M": 1_000_000} {
			if d, ok := strings.CutSuffix(part, suffix); ok {
				digits, factor = d, f
			}
		}
		n, err := strconv.Atoi(digits)
		if err != nil || n < 1 || n*factor > mostServices {
			return nil, fmt.Errorf("%q is no number of services from 1 to %d, such as 10k", part, mostServices)
		}
		sizes = append(sizes, n*factor)
	}
	return sizes, nil
}

// parseVariant reads the value of -variant.
func parseVariant(v string) (variant, error) {
	parts := strings.Split(v, ",")
	one := variant{Name: parts[0]}
	if one.Name == "" || slices.Contains(everyServer, one.Name) {
		return one, fmt.Errorf("%q is no name of a variant: it is empty, or a server's", one.Name)
	}
	for _, part := range parts[1:] {
		key, value, _ := strings.Cut(part, "=")
		switch key {
		case "bin":
			one.Binary = value
		case "env":
			one.Env = append(one.Env, value)
		case "line":
			one.Lines = append(one.Lines, value)
		default:
			return one, fmt.Errorf("%q of variant %s: want bin=, env= or line=", part, one.Name)
		}
	}
	return one, nil
}
