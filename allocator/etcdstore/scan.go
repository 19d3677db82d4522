package etcdstore

import (
	"bytes"
	"net/netip"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator/record"
	"github.com/meshvip/coredns-meshvip/vip"
)

// scanner reads values as encode writes most of them: fields in their order, no
// spaces, texts without escapes. Whatever else JSON may be it does not read, and
// leaves to package json, which takes several times as long.
type scanner struct {
	b   []byte
	bad bool
	// known is a text that recurs in the value, and need not be copied.
	known string
	texts texts
}

// is takes lit if it comes next.
func (s *scanner) is(lit string) bool {
	if s.bad || len(s.b) < len(lit) || string(s.b[:len(lit)]) != lit {
		return false
	}
	s.b = s.b[len(lit):]
	return true
}

// want takes lit, which must come next.
func (s *scanner) want(lit string) { s.bad = !s.is(lit) || s.bad }

// quoted takes a text with its quotes.
func (s *scanner) quoted() []byte {
	if s.want(`"`); s.bad {
		return nil
	}
	n := bytes.IndexByte(s.b, '"')
	if s.bad = n < 0; s.bad {
		return nil
	}
	text := s.b[:n]
	for _, c := range text {
		s.bad = s.bad || c < ' ' || c > '~' || c == '\\'
	}
	s.b = s.b[n+1:]
	return text
}

// text takes a text that is one of its own, mostly.
func (s *scanner) text() record.Text {
	b := s.quoted()
	if string(b) == s.known {
		return record.Text(s.known)
	}
	return record.Text(b)
}

// common takes a text that many values have.
func (s *scanner) common() record.Text {
	b := s.quoted()
	if t, ok := s.texts[record.Text(b)]; ok {
		return record.Text(t)
	}
	return record.Text(s.texts.intern(record.Text(b)))
}

// number takes a number of at most eighteen digits, written as JSON has it.
func (s *scanner) number() (n int64) {
	i := 0
	for ; i < len(s.b) && '0' <= s.b[i] && s.b[i] <= '9'; i++ {
		if n = 10*n + int64(s.b[i]-'0'); i == 18 {
			break
		}
	}
	s.bad = s.bad || i == 0 || i == 18 || i > 1 && s.b[0] == '0'
	s.b = s.b[i:]
	return n
}

// addr takes an address.
func (s *scanner) addr() netip.Addr {
	a, err := netip.ParseAddr(string(s.quoted()))
	s.bad = s.bad || err != nil
	return a
}

// done reports whether all was read.
func (s *scanner) done() bool { return !s.bad && len(s.b) == 0 }

// holding reads a holding.
func (s *scanner) holding() (h record.Holding, ok bool) {
	s.want(`{"owner":{"kind":`)
	kind := s.number()
	h.Owner.Kind = vip.Kind(kind)
	if s.is(`,"of":`) {
		h.Owner.Of = s.common()
	}
	s.want(`,"name":`)
	h.Owner.Name = s.text()
	s.want(`}`)
	h.Released = s.is(`,"released":true`)
	if s.is(`,"at":`) {
		h.At = time.Duration(s.number())
	}
	if s.is(`,"mesh":`) {
		h.Mesh = s.common()
	}
	if s.is(`,"since":`) {
		h.Since = s.number()
	}
	s.want(`}`)
	return h, s.done() && kind <= 255
}

// entry reads the addresses of an entry.
func (s *scanner) entry() (e entryRecord, ok bool) {
	s.want(`{`)
	if s.is(`"v4":`) {
		if e.V4 = s.addr(); s.is(`,"v6":`) {
			e.V6 = s.addr()
		}
	} else if s.is(`"v6":`) {
		e.V6 = s.addr()
	}
	s.want(`}`)
	return e, s.done()
}

// listing reads what a mesh says that has no terms.
func (s *scanner) listing() (l record.Listing, ok bool) {
	s.want(`{"name":`)
	l.Name = s.text()
	if s.is(`,"outbounds":[`) {
		for more := true; more && !s.bad; more = s.is(`,`) {
			l.Outbounds = append(l.Outbounds, s.outbound())
		}
		s.want(`]`)
	}
	s.want(`}`)
	return l, s.done()
}

func (s *scanner) outbound() (o record.Outbound) {
	s.want(`{`)
	sep := ""
	if s.is(`"port":`) {
		port := s.number()
		s.bad = s.bad || port > 65535
		o.Port, sep = uint16(port), `,`
	}
	if s.is(sep + `"tags":[`) {
		for more := true; more && !s.bad; more = s.is(`,`) {
			s.want(`[`)
			key := s.common()
			s.want(`,`)
			o.Tags = append(o.Tags, [2]record.Text{key, s.text()})
			s.want(`]`)
		}
		s.want(`]`)
		sep = `,`
	}
	if s.is(sep + `"origin":`) {
		o.Origin = s.common()
	}
	s.want(`}`)
	return o
}
