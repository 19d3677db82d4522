package main

import (
	"slices"
	"strings"
)

// column is one column of a text table.
type column struct {
	head string
	// right: it holds numbers, which stand under each other.
	right bool
	// cut: its texts may be cut where a terminal is too narrow.
	cut bool
	// left: what is cut is their beginning.
	left bool
	// wrap: they go on in the lines below instead, for they end in what to do.
	wrap bool
}

// grid is a text table: columns with heads, two blanks between them.
type grid struct {
	columns []column
	rows    [][]string
}

// gap stands between two columns.
const gap = "  "

// leastCut is what is left of a column that is cut, and leastWrap of one that is
// wrapped.
const (
	leastCut  = 8
	leastWrap = 24
)

// least returns how narrow a column may become, and whether it may at all.
func (c column) least() (n int, ok bool) {
	if c.wrap {
		return leastWrap, true
	}
	return leastCut, c.cut
}

// add adds a row, one cell a column.
func (g *grid) add(cells ...string) {
	for i, c := range cells {
		cells[i] = printable(c)
	}
	g.rows = append(g.rows, cells)
}

// grid writes g. Where the page has a width and g is wider, columns that may be
// cut are, the widest first.
func (p *page) grid(g *grid) {
	widths := g.widths()
	if p.width > 0 {
		g.narrow(widths, p.width)
	}
	heads := make([]string, len(g.columns))
	for i, c := range g.columns {
		heads[i] = c.head
	}
	p.b.WriteString(p.styled("1", g.line(heads, widths)) + "\n")
	for _, row := range g.rows {
		for _, cells := range g.lines(row, widths) {
			p.b.WriteString(g.line(cells, widths) + "\n")
		}
	}
}

// lines returns the cells of one row line by line: more than one where a cell is
// wrapped.
func (g *grid) lines(row []string, widths []int) [][]string {
	lines := [][]string{slices.Clone(row)}
	for i, c := range g.columns {
		if !c.wrap || columns(row[i]) <= widths[i] {
			continue
		}
		for n, part := range wrap(row[i], widths[i]) {
			if n == len(lines) {
				lines = append(lines, make([]string, len(row)))
			}
			lines[n][i] = part
		}
	}
	return lines
}

// widths returns how wide each column is.
func (g *grid) widths() []int {
	widths := make([]int, len(g.columns))
	for i, c := range g.columns {
		widths[i] = columns(c.head)
		for _, row := range g.rows {
			widths[i] = max(widths[i], columns(row[i]))
		}
	}
	return widths
}

// narrow takes from the widest columns that may be cut until all fit into total,
// or there is nothing left to take.
func (g *grid) narrow(widths []int, total int) {
	over := len(gap)*(len(widths)-1) - total
	for _, w := range widths {
		over += w
	}
	for ; over > 0; over-- {
		widest := -1
		for i, c := range g.columns {
			if least, ok := c.least(); ok && widths[i] > least && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

// line returns one row, without blanks at its end.
func (g *grid) line(cells []string, widths []int) string {
	var b strings.Builder
	for i, c := range cells {
		if i > 0 {
			b.WriteString(gap)
		}
		switch col := g.columns[i]; {
		case col.wrap: // a word may be wider
		case col.left:
			c = cutLeft(c, widths[i])
		default:
			c = cut(c, widths[i])
		}
		fill := strings.Repeat(" ", max(widths[i]-columns(c), 0))
		if g.columns[i].right {
			b.WriteString(fill + c)
		} else {
			b.WriteString(c + fill)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// cut returns text in at most n columns, with … for what is missing.
func cut(text string, n int) string {
	if columns(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + "…"
}

// cutLeft is cut, of the beginning.
func cutLeft(text string, n int) string {
	if columns(text) <= n {
		return text
	}
	runes := []rune(text)
	return "…" + string(runes[len(runes)-n+1:])
}
