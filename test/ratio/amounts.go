package main

import (
	"strconv"
	"strings"
)

// number prints v with three digits that count, and no more of them than two
// behind the point.
func number(v float64) string {
	switch {
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// amount prints v in a unit that a benchmark reports: times, bytes, or a count.
func amount(v float64, unit string) string {
	unit = strings.TrimSuffix(unit, "/op")
	for _, word := range strings.FieldsFunc(unit, func(r rune) bool { return r == '-' || r == '/' }) {
		if scale, ok := map[string]float64{"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[word]; ok {
			return duration(v * scale)
		}
		if word == "B" {
			return strconv.FormatFloat(v, 'f', 0, 64) + " B"
		}
	}
	return round(number(v)) // a count
}

// round takes zeros behind the point off an amount, as goals are written.
func round(amount string) string {
	number, unit, ok := strings.Cut(amount, " ")
	if strings.Contains(number, ".") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	if !ok {
		return number
	}
	return number + " " + unit
}

// span prints from one amount to another, and their unit once if it is the same.
func span(low, high string) string {
	number, unit, _ := strings.Cut(low, " ")
	if _, other, _ := strings.Cut(high, " "); unit == other {
		low = number
	}
	return low + "-" + high
}

// duration prints nanoseconds.
func duration(ns float64) string {
	for _, unit := range []struct {
		name string
		ns   float64
	}{{"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}} {
		if ns >= unit.ns {
			return number(ns/unit.ns) + " " + unit.name
		}
	}
	return number(ns) + " ns"
}

// plural prints a number of things.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
