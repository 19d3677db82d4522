package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/meshvip/coredns-meshvip/test/figures"
)

// bench measures.
type bench struct {
	settings
	dir   string
	perf  string
	kinds []kind
	say   func(format string, args ...any)
}

// sample is what one measurement of a server gave.
type sample struct {
	answers
	CPU   time.Duration // processor time of the server
	Other float64       // processors that neither the server nor dnsperf had busy
	// Changes and Reloads are how many came meanwhile.
	Changes, Reloads int
}

// perQuery is the server's processor time for a query, in microseconds.
func (s sample) perQuery() float64 { return float64(s.CPU.Nanoseconds()) / 1000 / float64(s.Completed) }

// has reports whether a server is measured.
func (b *bench) has(name string) bool {
	return slices.ContainsFunc(b.kinds, func(k kind) bool { return k.name == name })
}

// kind returns a server that is measured.
func (b *bench) kind(name string) kind {
	return b.kinds[slices.IndexFunc(b.kinds, func(k kind) bool { return k.name == name })]
}

// sized are the results over one number of services.
type sized struct {
	Services int
	Rate     int                 // questions a second of the fixed load
	Full     map[string][]sample // as many as are answered, by server, then round
	Fixed    map[string][]sample // at Rate
	Resident map[string]int64    // bytes at the end
	Start    map[string]float64  // seconds until the first answer
}

// size measures all servers over n services.
func (b *bench) size(ctx context.Context, n int) (sized, error) {
	r := sized{
		Services: n, Full: make(map[string][]sample), Fixed: make(map[string][]sample),
		Resident: make(map[string]int64), Start: make(map[string]float64),
	}
	b.say("%s services: writing the files", figures.Thousands(n))
	dir := filepath.Join(b.dir, fmt.Sprint(n))
	s, err := newSite(dir, n)
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	var all []*process
	defer func() {
		for _, p := range all {
			p.stop()
		}
	}()
	own, err := b.copies(s)
	if err != nil {
		return r, err
	}
	for _, k := range b.kinds {
		at, ok := own[k.name]
		if !ok {
			at = s
		}
		p, err := start(ctx, k, at, s.lastName())
		if err != nil {
			return r, err
		}
		all = append(all, p)
		r.Start[k.name] = p.took.Seconds()
		b.say("%s services: %s answers after %.1f s", figures.Thousands(n), k.name, p.took.Seconds())
	}
	for _, p := range all { // what is made once is made now
		if _, err := b.measure(ctx, p, s, 0); err != nil {
			return r, err
		}
	}
	b.say("%s services: full load, %d rounds", figures.Thousands(n), b.Rounds)
	if err := b.rounds(ctx, all, s, 0, r.Full); err != nil {
		return r, err
	}
	r.Rate = fixedRate(r.Full)
	if !b.FullOnly {
		b.say("%s services: %d questions a second, %d rounds", figures.Thousands(n), r.Rate, b.Rounds)
		if err := b.rounds(ctx, all, s, r.Rate, r.Fixed); err != nil {
			return r, err
		}
	}
	for _, p := range all {
		if r.Resident[p.name], err = p.resident(); err != nil {
			return r, err
		}
	}
	return r, nil
}

// copies gives each variant a site of its own below s, for a store has one server.
func (b *bench) copies(s site) (map[string]site, error) {
	own := make(map[string]site)
	for _, v := range b.Variants {
		o := site{s.path("variant-" + v.Name), s.n}
		if err := os.MkdirAll(o.dir, 0o755); err != nil {
			return nil, err
		}
		from, err := os.Open(s.path("meshvip.db"))
		if err != nil {
			return nil, err
		}
		err = o.write("meshvip.db", func(w io.Writer) error {
			_, err := io.Copy(w, from)
			return err
		})
		from.Close()
		if err != nil {
			return nil, err
		}
		own[v.Name] = o
	}
	return own, nil
}

// rounds measures all servers in turn, each round beginning with the next one.
func (b *bench) rounds(ctx context.Context, all []*process, s site, rate int, into map[string][]sample) error {
	for round := range b.Rounds {
		for i := range all {
			p := all[(i+round)%len(all)]
			one, err := b.measure(ctx, p, s, rate)
			if err != nil {
				return err
			}
			into[p.name] = append(into[p.name], one)
		}
	}
	return nil
}

// measure asks one server for as long as one measurement takes; at a rate, or with
// 0 as much as it answers.
func (b *bench) measure(ctx context.Context, p *process, s site, rate int) (sample, error) {
	return b.measureFor(ctx, p, s, rate, b.Seconds)
}

func (b *bench) measureFor(ctx context.Context, p *process, s site, rate, seconds int) (sample, error) {
	a := asking{
		perf: b.perf, port: p.port, questions: s.path("questions"), clients: b.Clients, threads: b.Threads,
		outstanding: b.Outstanding, seconds: seconds, rate: rate, each: rate > 0, dir: s.dir,
	}
	begun := time.Now()
	cpu, err := p.cpu()
	if err != nil {
		return sample{}, err
	}
	all, err := busy()
	if err != nil {
		return sample{}, err
	}
	got, err := a.ask(ctx)
	if err != nil {
		return sample{}, err
	}
	one := sample{answers: got}
	after, err := p.cpu()
	if err != nil {
		return one, err
	}
	allAfter, err := busy()
	if err != nil {
		return one, err
	}
	one.CPU = after - cpu
	one.Other = max(0, (allAfter-all-one.CPU-got.client).Seconds()/time.Since(begun).Seconds())
	if wrong := got.wrong(p.unknown); wrong != "" {
		return one, fmt.Errorf("%s answers wrongly: %s", p.name, wrong)
	}
	return one, nil
}

// fixedRate is the load at which latencies are compared: the same for all, half of
// what the slowest answers.
func fixedRate(full map[string][]sample) int {
	slowest := 0.
	for _, samples := range full {
		if qps := median(each(samples, func(s sample) float64 { return s.QPS })); slowest == 0 || qps < slowest {
			slowest = qps
		}
	}
	return int(slowest / 2)
}
