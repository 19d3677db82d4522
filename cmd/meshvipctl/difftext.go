package main

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
)

// text writes the differences, one a line: "-" stands before what only the first
// table has, "+" before what only the second has, "~" before what both have, and
// not alike.
func (r diffResult) text(p *page) {
	for _, d := range r.Differences {
		switch {
		case d.What == onlyA:
			p.line("- %s  %s", d.Entry, d.A)
		case d.What == onlyB:
			p.line("+ %s  %s", d.Entry, d.B)
		case d.What == otherAddrs:
			p.line("~ %s  %s -> %s", d.Entry, d.A, d.B)
		case d.B == "":
			p.line("- %s  in mesh %s", d.Entry, d.Mesh)
		case d.A == "":
			p.line("+ %s  in mesh %s", d.Entry, d.Mesh)
		default:
			p.line("~ %s  in mesh %s: %s -> %s", d.Entry, d.Mesh, d.A, d.B)
		}
	}
}

// summary says how two tables compare, in one line.
func (r diffResult) summary() string {
	s := fmt.Sprintf("%s and %s are equal: %s", r.A, r.B, count(r.EntriesA, "entry"))
	if !r.Equal {
		n := make(map[string]int)
		for _, d := range r.Differences {
			n[d.What]++
		}
		s = fmt.Sprintf("only in %s: %d, only in %s: %d, other address: %d, other listing: %d",
			r.A, n[onlyA], r.B, n[onlyB], n[otherAddrs], n[otherListed])
	}
	if r.Uncompared > 0 {
		s += fmt.Sprintf("; left out: %s of types 3 to 5, which Kuma's tables cannot have, or that are hosts by IP address, which ours cannot",
			count(r.Uncompared, "entry"))
	}
	return s
}

// words says what a table has of an entry, on one line.
func (r diffRow) words() string {
	meshes := make([]string, len(r.listings))
	for i, l := range r.listings {
		meshes[i] = l.Mesh
	}
	return fmt.Sprintf("%s  (%s)", addrWords(r.addrs), strings.Join(meshes, ", "))
}

// addrWords returns addresses in one text.
func addrWords(addrs []netip.Addr) string {
	if len(addrs) == 0 {
		return "no address"
	}
	words := make([]string, len(addrs))
	for i, a := range addrs {
		words[i] = a.String()
	}
	return strings.Join(words, " ")
}

// sayingWords says what l has of which m has another.
func sayingWords(l, m vip.Listing) string {
	var words []string
	if l.Name != m.Name {
		words = append(words, "spelled "+l.Name)
	}
	if !l.Terms.Equal(m.Terms) {
		words = append(words, termWords(l.Terms))
	}
	lacks := func(o vip.Outbound) bool {
		for _, p := range m.Outbounds {
			if o.Equal(p) {
				return false
			}
		}
		return true
	}
	for _, o := range l.Outbounds {
		if lacks(o) {
			words = append(words, portWords(o))
		}
	}
	if len(words) == 0 {
		return "nothing more"
	}
	return strings.Join(words, ", ")
}

// portWords says what an outbound is.
func portWords(o vip.Outbound) string {
	tags := make([]string, len(o.Tags))
	for i, t := range o.Tags {
		tags[i] = t.Key + "=" + t.Value
	}
	words := fmt.Sprintf("port %d {%s}", o.Port, strings.Join(tags, ","))
	if o.Origin != "" {
		words += " of " + o.Origin
	}
	return words
}

// termWords says what terms are.
func termWords(t *vip.Terms) string {
	if t.Empty() {
		return "no terms"
	}
	var words []string
	if len(t.Static) > 0 {
		words = append(words, "asks for "+addrWords(t.Static))
	}
	if len(t.Given) > 0 {
		words = append(words, "given "+addrWords(t.Given))
	}
	if len(t.Hostnames) > 0 {
		words = append(words, "named "+strings.Join(t.Hostnames, " "))
	}
	if t.Follow {
		words = append(words, "follows Kuma")
	}
	return strings.Join(words, ", ")
}
