package main

import (
	"fmt"
	"io"
	"strings"
)

// print prints the table, in 100 columns.
func (rep report) print(w io.Writer) {
	fmt.Fprintln(w)
	for _, key := range rep.order {
		fmt.Fprintf(w, "%-8s %s\n", key, rep.Facts[key])
	}
	fmt.Fprintf(w, "\nMedians of the rounds, and of each round's ratio, with the least and the most.\n\n")
	printCells(w, []string{"", "ours", "peer", "ratio", "min-max", "goal", "met"})
	group := ""
	for _, l := range rep.Rows {
		if l.Group != group {
			group = l.Group
			fmt.Fprintln(w, group)
		}
		printCells(w, l.cells())
	}
}

// printCells prints a line of the table.
func printCells(w io.Writer, c []string) {
	text := fmt.Sprintf("  %-44s %9s %9s %6s %11s %8s %4s", c[0], c[1], c[2], c[3], c[4], c[5], c[6])
	fmt.Fprintln(w, strings.TrimRight(text, " "))
}

// cells returns what a line prints, column by column.
func (l line) cells() []string {
	var peer, ratio, spread, goal, met string
	show := func(v float64) string { return amount(v, l.Unit) }
	if l.Ratio != nil {
		show = number
		peer, ratio = amount(l.Peer.Median, l.PeerUnit), number(l.Ratio.Median)
	}
	if j := l.judged(); j.Min < j.Max {
		spread = span(show(j.Min), show(j.Max))
	}
	if l.Met != nil {
		goal, met = "≤ ", "NO"
		if l.AtLeast {
			goal = "≥ "
		}
		if goal += round(show(l.Goal)); *l.Met {
			met = "yes"
		}
	}
	return []string{l.What, amount(l.Ours.Median, l.Unit), peer, ratio, spread, goal, met}
}
