package allocator

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
)

// maxBreaches is how many breaches Check names before it only counts.
const maxBreaches = 20

// Check returns an error that names every invariant that a state breaks, nil
// if it is sound:
//
//   - an address has one key, and the key and the entry's row agree on it;
//   - an entry has one row, at most one address a family, of that family;
//   - every live address lies in a pool of the table, and no released one is
//     some entry's;
//   - a row is listed by at least one mesh, its listings are sorted, each of a
//     mesh that has a table, and its spelling is the first of theirs;
//   - nothing was released later than the table's clock; the serial of a table
//     that was ever committed is not 0; what is quarantined is a range.
//
// Records that were set aside as damaged do not count as breaches.
func Check(s State) error {
	return errors.Join(breaches(s, maxBreaches)...)
}

// breaches returns the invariants that a state breaks, most of them one by one
// and how many more there are.
func breaches(s State, most int) []error {
	c := checker{s: s, most: most}
	c.meta()
	c.rows()
	c.addrs()
	if c.n > most {
		c.errs = append(c.errs, fmt.Errorf("and %d more", c.n-most))
	}
	return c.errs
}

type checker struct {
	s      State
	most   int
	owners map[netip.Addr]Holding
	keys   map[vip.Key]*vip.Row
	errs   []error
	n      int
}

func (c *checker) breach(format string, args ...any) {
	if c.n++; c.n <= c.most {
		c.errs = append(c.errs, fmt.Errorf(format, args...))
	}
}

func (c *checker) meta() {
	m := c.s.Meta
	if m.Revision > 0 && m.Serial == 0 {
		c.breach("the serial is 0 at revision %d", m.Revision)
	}
	for _, q := range m.Quarantine {
		if !q.Range.IsValid() {
			c.breach("quarantine %v is no range", q.Range)
		}
	}
	prefixes := make([]netip.Prefix, len(m.Pools))
	for i, p := range m.Pools {
		prefixes[i] = p.Prefix
		if p.Next.IsValid() && !p.Prefix.Contains(p.Next) {
			c.breach("the cursor %v of pool %v lies outside it", p.Next, p.Prefix)
		}
	}
	for i, p := range prefixes {
		if slices.Contains(prefixes[:i], p) {
			c.breach("pool %v stands twice in the table", p)
		}
	}
}

func (c *checker) rows() {
	damaged := make(map[netip.Addr]bool)
	for _, d := range c.s.Damaged {
		damaged[d.Addr] = true
	}
	c.owners = make(map[netip.Addr]Holding, len(c.s.Addrs))
	for _, h := range c.s.Addrs {
		if was, ok := c.owners[h.Addr]; ok {
			c.breach("address %v has two keys, of %v and %v", h.Addr, was.Owner, h.Owner)
		}
		c.owners[h.Addr] = h.Holding
	}
	c.keys = make(map[vip.Key]*vip.Row, len(c.s.Rows))
	for _, r := range c.s.Rows {
		key := r.Key()
		if c.keys[key] != nil {
			c.breach("entry %v has two rows", key)
		}
		c.keys[key] = r
		if r.V4.IsValid() && !r.V4.Is4() || r.V6.IsValid() && (!r.V6.Is6() || r.V6.Is4In6()) {
			c.breach("entry %v has the addresses %v and %v, of the wrong families", key, r.V4, r.V6)
		}
		for _, a := range r.Addrs() {
			switch h, ok := c.owners[a]; {
			case damaged[a]:
			case !ok:
				c.breach("entry %v has address %v, which has no key", key, a)
			case h.Owner != key:
				c.breach("entry %v has address %v, which is the key of %v", key, a, h.Owner)
			case h.Released:
				c.breach("entry %v has address %v, which is released", key, a)
			}
			if !slices.ContainsFunc(c.s.Meta.Pools, func(p Pool) bool { return p.Prefix.Contains(a) }) {
				c.breach("entry %v has address %v, which lies in no pool of the table", key, a)
			}
		}
		c.listings(key, r)
	}
}

func (c *checker) listings(key vip.Key, r *vip.Row) {
	if err := r.Entry.Validate(); err != nil {
		c.breach("entry %v: %w", key, err)
	}
	if len(r.Listings) == 0 {
		c.breach("entry %v is listed by no mesh", key)
		return
	}
	first := r.Listings[0].Name
	for i, l := range r.Listings {
		first = min(first, l.Name)
		if vip.Fold(l.Name) != key.Name {
			c.breach("entry %v is spelled %q in mesh %q", key, l.Name, l.Mesh)
		}
		if i > 0 && strings.Compare(r.Listings[i-1].Mesh, l.Mesh) >= 0 {
			c.breach("entry %v has listings out of order: %q, %q", key, r.Listings[i-1].Mesh, l.Mesh)
		}
		if !slices.IsSortedFunc(l.Outbounds, vip.Outbound.Compare) {
			c.breach("entry %v has outbounds out of order in mesh %q", key, l.Mesh)
		}
	}
	if r.Entry.Name != first {
		c.breach("entry %v is shown as %q, want %q", key, r.Entry.Name, first)
	}
}

func (c *checker) addrs() {
	meshes := make(map[string]bool, len(c.s.Meshes))
	for _, m := range c.s.Meshes {
		if meshes[m] {
			c.breach("mesh %q has two tables", m)
		}
		meshes[m] = true
	}
	for _, r := range c.s.Rows {
		for _, l := range r.Listings {
			if !meshes[l.Mesh] {
				c.breach("entry %v is listed by mesh %q, which has no table", r.Key(), l.Mesh)
			}
		}
	}
	for _, h := range c.s.Addrs {
		r := c.keys[h.Owner]
		switch {
		case h.Released && h.At > c.s.Meta.Clock:
			c.breach("address %v was released at %v, after the table's clock %v", h.Addr, h.At, c.s.Meta.Clock)
		case !h.Released && r == nil && len(c.s.Damaged) == 0:
			c.breach("address %v is held by %v, which has no row", h.Addr, h.Owner)
		case !h.Released && r != nil && !r.Has(h.Addr):
			c.breach("address %v is held by %v, whose row has %v", h.Addr, h.Owner, r.Addrs())
		}
	}
}
