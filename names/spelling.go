package names

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
)

// Limits of RFC 1035, section 2.3.4. A name of 253 octets, written without its
// final dot, is 255 on the wire.
const (
	maxLabel = 63
	maxTotal = 253
)

// spelling holds the names of one entry in canonical form, and why those that
// are missing cannot be served.
type spelling struct {
	literal, dotted string   // services: relative, no final dot
	absolute        string   // all others: with the final dot
	others          []string // where there are several: those after absolute
	faults          []fault
}

// fault is a spelling that DNS cannot carry.
type fault struct{ name, reason string }

// spell returns the names of row's entry. zone is the number of octets that the
// longest zone adds to a relative name, its dot included: 5 for "mesh.".
func spell(row *vip.Row, zone int) spelling {
	var s spelling
	switch kind := row.Entry.Kind; {
	case kind == vip.Service:
		s.service(row.Entry.Name, zone)
	case kind.OfMesh():
		for _, host := range row.Hostnames() {
			s.full(host)
		}
	default:
		s.full(row.Entry.Name)
	}
	return s
}

// service adds the names of a service.
func (s *spelling) service(name string, zone int) {
	if reason := unservable(name, zone); reason != "" {
		s.fault(name, reason)
	} else {
		s.literal = canonical(name)
	}
	if strings.IndexByte(name, '_') < 0 {
		s.dotted = s.literal
		return
	}
	raw := strings.ReplaceAll(name, "_", ".")
	if reason := unservable(raw, zone); reason != "" {
		s.fault(raw, reason)
	} else {
		s.dotted = canonical(raw)
	}
}

// full adds a full name, unless it is there already.
func (s *spelling) full(name string) {
	raw := strings.TrimSuffix(name, ".")
	if reason := unservable(raw, 0); reason != "" {
		s.fault(raw, reason)
		return
	}
	if len(raw) < len(name) {
		name = canonical(name)
	} else {
		name = canonical(raw) + "."
	}
	switch {
	case s.absolute == "":
		s.absolute = name
	case s.absolute != name && !slices.Contains(s.others, name):
		s.others = append(s.others, name)
	}
}

func (s *spelling) fault(raw, reason string) {
	s.faults = append(s.faults, fault{canonical(raw), reason})
}

// untold returns the faults that are not among those told.
func untold(faults, told []fault) []fault {
	return slices.DeleteFunc(faults, func(f fault) bool {
		return slices.ContainsFunc(told, func(g fault) bool { return f.name == g.name })
	})
}

// unservable returns why DNS cannot carry raw, whose labels are separated by
// dots, with zone more octets after it; "" if it can.
func unservable(raw string, zone int) string {
	for rest, more := raw, true; more; {
		var label string
		label, rest, more = strings.Cut(rest, ".")
		switch {
		case label == "":
			return "it has an empty label"
		case len(label) > maxLabel:
			return fmt.Sprintf("it has a label of %d octets, and DNS carries %d", len(label), maxLabel)
		}
	}
	if n := len(raw) + zone; n > maxTotal {
		return fmt.Sprintf("it has %d octets below the longest zone, and DNS carries %d", n, maxTotal)
	}
	return ""
}

// canonical returns raw in lower case and in the presentation form of
// miekg/dns, dots being separators. It returns raw itself where that is so
// already, so that an entry's name is not held twice.
func canonical(raw string) string {
	for i := 0; i < len(raw); i++ {
		if !plain[raw[i]] {
			return escape(raw)
		}
	}
	return raw
}

// plain are the bytes that stand for themselves in nearly every name; others
// may too, and take the slow path.
var plain = func() (t [256]bool) {
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyz0123456789_.-") {
		t[c] = true
	}
	return t
}()

func escape(raw string) string {
	var b strings.Builder
	b.Grow(len(raw) + 8)
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case 'A' <= c && c <= 'Z':
			b.WriteByte(c + ('a' - 'A'))
		case strings.IndexByte(` '@;()"\`, c) >= 0:
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c > '~':
			b.WriteByte('\\')
			b.WriteByte('0' + c/100)
			b.WriteByte('0' + c/10%10)
			b.WriteByte('0' + c%10)
		default:
			b.WriteByte(c)
		}
	}
	if b.Len() == len(raw) && b.String() == raw {
		return raw
	}
	return b.String()
}

// octets returns how many octets a full name in presentation form is on the
// wire without the root's: 5 for "mesh.", 0 for ".".
func octets(name string) int {
	if name == "." {
		return 0
	}
	n := 0
	for i := 0; i < len(name); i++ {
		if name[i] == '\\' {
			if i+3 < len(name) && isDigit(name[i+1]) && isDigit(name[i+2]) && isDigit(name[i+3]) {
				i += 3
			} else {
				i++
			}
		}
		n++
	}
	return n
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
