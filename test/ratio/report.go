package main

import (
	"encoding/json"
	"os"
	"slices"
)

// report is the table as it is written as JSON.
type report struct {
	Facts map[string]string `json:"facts"`
	Rows  []line            `json:"rows"`
	order []string          // of the facts
}

// line is a row with what was measured. Ratio and Met are nil where there is
// nothing to divide by, or no goal.
type line struct {
	Group    string  `json:"group"`
	What     string  `json:"what"`
	Rounds   int     `json:"rounds"`
	Unit     string  `json:"unit"`
	PeerUnit string  `json:"peer_unit,omitempty"`
	Ours     spread  `json:"ours"`
	Peer     *spread `json:"peer,omitempty"`
	Ratio    *spread `json:"ratio,omitempty"`
	Goal     float64 `json:"goal,omitempty"`
	AtLeast  bool    `json:"at_least,omitempty"` // the goal is to be reached, not to be kept below
	Met      *bool   `json:"met,omitempty"`
}

// spread is the median of the rounds, and the extremes.
type spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// spreadOf returns the spread of values, of which there is one at least.
func spreadOf(values []float64) spread {
	s := slices.Sorted(slices.Values(values))
	mid := len(s) / 2
	return spread{Median: (s[mid] + s[(len(s)-1)/2]) / 2, Min: s[0], Max: s[len(s)-1]}
}

// reportOf makes a table of the rows that there are results for.
func reportOf(rows []row, res results, facts []fact) report {
	rep := report{Facts: make(map[string]string)}
	for _, f := range facts {
		rep.Facts[f.key] = f.value
		rep.order = append(rep.order, f.key)
	}
	for _, r := range rows {
		if l, ok := lineOf(r, res); ok {
			rep.Rows = append(rep.Rows, l)
		}
	}
	return rep
}

// lineOf measures a row, by the rounds that have all of its figures: what is
// divided was measured in the same round.
func lineOf(r row, res results) (line, bool) {
	var ours, theirs, ratios []float64
	for round, v := range res[r.ours] {
		if r.peer.bench == "" {
			ours = append(ours, v)
			continue
		}
		p, ok := res[r.peer][round]
		if !ok || p <= 0 || v <= 0 {
			continue
		}
		ours, theirs = append(ours, v), append(theirs, p)
		if r.times {
			ratios = append(ratios, p/v)
		} else {
			ratios = append(ratios, v/p)
		}
	}
	if len(ours) == 0 {
		return line{}, false
	}
	l := line{Group: r.group, What: r.what, Rounds: len(ours), Unit: r.ours.unit, PeerUnit: r.peer.unit, Ours: spreadOf(ours), Goal: r.goal, AtLeast: r.times}
	if len(ratios) > 0 {
		peer, ratio := spreadOf(theirs), spreadOf(ratios)
		l.Peer, l.Ratio = &peer, &ratio
	}
	if r.goal > 0 {
		met := l.judged().Median <= r.goal
		if r.times {
			met = l.judged().Median >= r.goal
		}
		l.Met = &met
	}
	return l, true
}

// judged is what the goal is about: the ratio, or our figure where there is none.
func (l line) judged() spread {
	if l.Ratio != nil {
		return *l.Ratio
	}
	return l.Ours
}

// writeJSON writes the table to a file.
func (rep report) writeJSON(path string) error {
	data, err := json.MarshalIndent(rep, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}
