package main

import (
	"fmt"

	"github.com/meshvip/coredns-meshvip/test/figures"
)

// goal is one comparison, beside what it should be.
type goal struct {
	What  string
	Ratio spread
	// ByCPU is the same by processor time: how many queries ours answers in the
	// time of one of the peer's. Nil where there is none. It is shown beside, for
	// other work on the machine disturbs it less, and decides nothing.
	ByCPU *spread
	Want  float64
	Most  bool // Ratio is to be Want at most, not at least
	Met   bool
}

// wanted is the throughput that ours should have of each peer's.
var wanted = map[string]float64{hosts: 1, file: 1.25, whoami: 1, nsd: 0.8}

// wantedWhileChanging is the throughput that changes of files should leave.
const wantedWhileChanging = 0.95

// goals compares what was measured with what is wanted.
func (r report) goals() []goal {
	var all []goal
	for _, size := range r.Sizes {
		for _, peer := range everyServer {
			want, ok := wanted[peer]
			if !ok || len(size.Full[ours]) == 0 || len(size.Full[peer]) == 0 {
				continue
			}
			all = append(all, throughput(size.Full[ours], size.Full[peer], want,
				"questions a second, %s services, to %s", figures.Thousands(size.Services), peer))
		}
	}
	if c := r.Changes; c != nil {
		all = append(all, throughput(c.While, c.Without, wantedWhileChanging,
			"questions a second, %s services, with %d changes of files a second to none", figures.Thousands(c.Services), changesASecond))
	}
	if s, ok := r.Reloads[ours]; ok {
		lost := float64(s.Lost)
		all = append(all, goal{
			What:  fmt.Sprintf("answers lost over %d reloads, of %s questions", s.Reloads, figures.Thousands(s.Completed+s.Lost)),
			Ratio: spread{lost, lost, lost}, Most: true,
		})
	}
	for i := range all {
		g := &all[i]
		g.Met = g.Ratio.Median >= g.Want && !g.Most || g.Ratio.Median <= g.Want && g.Most
	}
	return all
}

// throughput is the goal for what ours answers, and for what a peer does.
func throughput(us, peer []sample, want float64, what string, args ...any) goal {
	qps := func(s sample) float64 { return s.QPS }
	cpu := spreadOf(ratios(each(peer, sample.perQuery), each(us, sample.perQuery)))
	return goal{What: fmt.Sprintf(what, args...), Ratio: spreadOf(ratios(each(us, qps), each(peer, qps))), ByCPU: &cpu, Want: want}
}
