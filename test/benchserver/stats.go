package main

import (
	"fmt"
	"slices"
	"strconv"
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
	s := slices.Sorted(slices.Values(values))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// spread is a median between the least and the greatest.
type spread struct{ Least, Median, Greatest float64 }

// String is the median, and what it lies between where that differs.
func (s spread) String() string {
	text := fmt.Sprintf("%.2f", s.Median)
	if s.Least != s.Greatest {
		text += fmt.Sprintf(", %.2f-%.2f", s.Least, s.Greatest)
	}
	return text
}

// spreadOf returns the spread of values, of which there is one at least.
func spreadOf(values []float64) spread {
	return spread{slices.Min(values), median(values), slices.Max(values)}
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

// thousands prints n with commas.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
