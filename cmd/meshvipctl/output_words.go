package main

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// none stands where there is nothing, so that columns keep their number.
const none = "-"

// orNone returns text, or what stands for none.
func orNone(text string) string {
	if text == "" {
		return none
	}
	return text
}

// listed joins a list for a cell: without blanks, so that columns can be split.
func listed(list []string) string { return orNone(strings.Join(list, ",")) }

// addresses returns addresses as text.
func addresses(addrs []netip.Addr) []string {
	list := make([]string, len(addrs))
	for i, a := range addrs {
		list[i] = a.String()
	}
	return list
}

// count returns a number with its noun, which takes an s, or ies for a y.
func count[N int | uint64](n N, noun string) string {
	if n != 1 {
		if stem, ok := strings.CutSuffix(noun, "y"); ok {
			noun = stem + "ies"
		} else if strings.HasSuffix(noun, "s") || strings.HasSuffix(noun, "sh") {
			noun += "es"
		} else {
			noun += "s"
		}
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// stamp returns a time to the second, in UTC as logs of servers have it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// when is stamp with how far that is from now.
func when(t, now time.Time) string {
	if d := now.Sub(t); d >= 0 {
		return fmt.Sprintf("%s (%s ago)", stamp(t), span(d))
	}
	return fmt.Sprintf("%s (in %s)", stamp(t), span(t.Sub(now)))
}

// span returns a duration in its one or two largest units.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	whole, rest := func(unit time.Duration) int { return int(d / unit) }, func(big, unit time.Duration) int { return int(d % big / unit) }
	switch d = d.Round(time.Second); {
	case d >= 10*day:
		return fmt.Sprintf("%dd", whole(day))
	case d >= day:
		return fmt.Sprintf("%dd%dh", whole(day), rest(day, time.Hour))
	case d >= time.Hour:
		return fmt.Sprintf("%dh%dm", whole(time.Hour), rest(time.Hour, time.Minute))
	case d >= time.Minute:
		return fmt.Sprintf("%dm%ds", whole(time.Minute), rest(time.Minute, time.Second))
	}
	return fmt.Sprintf("%ds", whole(time.Second))
}

// seconds returns what the interface says in seconds.
func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// joined joins what is not empty.
func joined(sep string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), sep)
}

// only returns text where it is the first of a list.
func only(first bool, text string) string {
	if first {
		return text
	}
	return ""
}
