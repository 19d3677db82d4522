package main

import (
	"fmt"
	"slices"
)

// each returns f of each value.
func each[T any](values []T, f func(T) float64) []float64 {
	all := make([]float64, len(values))
	for i, v := range values {
		all[i] = f(v)
	}
	return all
}

// median returns the middle value, or the mean of the two in the middle; 0 of none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return quantile(slices.Sorted(slices.Values(values)), 0.5)
}

// quantile returns what lies at a share q of sorted values, between two of them in
// proportion.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	below := int(at)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (at-float64(below))*(sorted[above]-sorted[below])
}

// spread is a median between the quartiles: half of the rounds lie between Low and
// High, whatever a few that were disturbed may be.
type spread struct{ Low, Median, High float64 }

// String is the median, and what half of the rounds lie between.
func (s spread) String() string {
	text := fmt.Sprintf("%.2f", s.Median)
	if s.Low != s.High {
		text += fmt.Sprintf(", %.2f-%.2f", s.Low, s.High)
	}
	return text
}

// spreadOf returns the spread of values, of which there is one at least.
func spreadOf(values []float64) spread {
	s := slices.Sorted(slices.Values(values))
	return spread{quantile(s, 0.25), quantile(s, 0.5), quantile(s, 0.75)}
}

// ratios returns a[i]/b[i] for all that both have.
func ratios(a, b []float64) []float64 {
	n := min(len(a), len(b))
	all := make([]float64, n)
	for i := range n {
		all[i] = a[i] / b[i]
	}
	return all
}
