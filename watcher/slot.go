package watcher

import (
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
)

// counted is a value and how many resources give it.
type counted[T any] struct {
	value T
	n     int
}

// add counts v once more in s, which is sorted by compare.
func add[T any](s []counted[T], v T, compare func(T, T) int) []counted[T] {
	i, found := find(s, v, compare)
	if !found {
		s = slices.Insert(s, i, counted[T]{value: v})
	}
	s[i].n++
	return s
}

// sub counts v, which is in s, once less.
func sub[T any](s []counted[T], v T, compare func(T, T) int) []counted[T] {
	i, _ := find(s, v, compare)
	if s[i].n--; s[i].n == 0 {
		s = slices.Delete(s, i, i+1)
	}
	return s
}

func find[T any](s []counted[T], v T, compare func(T, T) int) (int, bool) {
	return slices.BinarySearchFunc(s, v, func(c counted[T], v T) int { return compare(c.value, v) })
}

// slot is all that is asked for of one entry in one mesh.
type slot struct {
	spellings []counted[string]
	outbounds []counted[vip.Outbound]
	terms     *asked // nil where nothing is asked for, as of most entries
	// sent is what was handed over last; its name is empty where nothing was.
	sent vip.Request
}

func (s *slot) empty() bool { return len(s.spellings) == 0 }

func (s *slot) isSent() bool { return s.sent.Entry.Name != "" }

func (s *slot) add(id kuma.ID, c kuma.Claim) {
	s.spellings = add(s.spellings, c.Entry.Name, strings.Compare)
	for _, o := range c.Outbounds {
		s.outbounds = add(s.outbounds, o, vip.Outbound.Compare)
	}
	if !c.Terms.Empty() {
		if s.terms == nil {
			s.terms = new(asked)
		}
		s.terms.add(id, c.Terms)
	}
}

func (s *slot) sub(id kuma.ID, c kuma.Claim) {
	s.spellings = sub(s.spellings, c.Entry.Name, strings.Compare)
	for _, o := range c.Outbounds {
		s.outbounds = sub(s.outbounds, o, vip.Outbound.Compare)
	}
	if !c.Terms.Empty() {
		if s.terms.sub(id, c.Terms); s.terms.empty() {
			s.terms = nil
		}
	}
}

// request reduces a slot that is not empty to what the mesh asks for.
func (s *slot) request(key vip.Key) vip.Request {
	r := vip.Request{
		Entry:     vip.Entry{Kind: key.Kind, Mesh: key.Mesh, Name: s.spellings[0].value},
		Outbounds: make([]vip.Outbound, 0, len(s.outbounds)),
		Terms:     s.terms.merged(),
	}
	for i := range s.outbounds {
		if !s.loses(key, i) {
			r.Outbounds = append(r.Outbounds, s.outbounds[i].value)
		}
	}
	return r
}

// loses reports whether outbound i has a port that another has.
//
// Outbounds are sorted by port and then by origin. For hosts an origin ends in
// the resource's name, and the smallest name has the port. For an fqdn there may
// be two, of which each was chosen before: that of a gateway, and behind it that
// of a VirtualOutbound, which, as in Kuma, has the port.
func (s *slot) loses(key vip.Key, i int) bool {
	switch key.Kind {
	case vip.Host:
		return i > 0 && s.outbounds[i-1].value.Port == s.outbounds[i].value.Port
	case vip.FQDN:
		return i+1 < len(s.outbounds) && s.outbounds[i+1].value.Port == s.outbounds[i].value.Port
	}
	return false
}

// clashes reports whether any outbound or static address loses.
func (s *slot) clashes(key vip.Key) bool {
	for i := range s.outbounds {
		if s.loses(key, i) {
			return true
		}
	}
	return s.terms.clashes()
}

func sameRequest(a, b vip.Request) bool {
	return a.Entry == b.Entry && slices.EqualFunc(a.Outbounds, b.Outbounds, vip.Outbound.Equal) && a.Terms.Equal(b.Terms)
}
