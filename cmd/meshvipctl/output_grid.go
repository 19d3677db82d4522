package main

import "strings"

// column is one column of a text table.
type column struct {
	head string
	// right: it holds numbers, which stand under each other.
	right bool
	// cut: its texts may be cut where a terminal is too narrow.
	cut bool
}

// grid is a text table: columns with heads, two blanks between them.
type grid struct {
	columns []column
	rows    [][]string
}

// gap stands between two columns.
const gap = "  "

// leastCut is what is left of a column that is cut.
const leastCut = 8

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
		p.b.WriteString(g.line(row, widths) + "\n")
	}
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
			if c.cut && widths[i] > leastCut && (widest < 0 || widths[i] > widths[widest]) {
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
		c = cut(c, widths[i])
		fill := strings.Repeat(" ", widths[i]-columns(c))
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
