package allocator

import (
	"iter"

	"github.com/meshvip/coredns-meshvip/vip"
)

const (
	// metaKeys are the keys that every commit writes: what the table says of
	// itself, and its serial.
	metaKeys = 2
	// keyBytes is about what a key takes with its value and what is compared,
	// without the texts in them.
	keyBytes = 100
)

// cost is what a part of a delta takes of one commit.
type cost struct{ keys, bytes int }

func (c *cost) add(o cost) {
	c.keys += o.keys
	c.bytes += o.bytes
}

// within reports whether a commit may take c.
func (c cost) within(l Limits) bool {
	return (l.Keys == 0 || c.keys <= l.Keys) && (l.Bytes == 0 || c.bytes <= l.Bytes)
}

// keyCost returns what a key takes that has texts in it.
func keyCost(texts ...string) cost {
	c := cost{1, keyBytes}
	for _, s := range texts {
		c.bytes += textBytes(s)
	}
	return c
}

// textBytes is about how long a text is in a key or a value: what is not plain is
// escaped there.
func textBytes(s string) int {
	n := len(s)
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < '-' || c > 'z' {
			n += 2
		}
	}
	return n
}

// Cost returns how many keys a delta writes, and about how many bytes: what
// [Limits] bound. A key is the table's meta, its serial, each address that changes
// hands, each row that is new, gone, or has other addresses, each listing that
// differs, and each mesh that comes or goes.
func (d Delta) Cost() (keys, bytes int) {
	c := metaCost(d.Meta)
	for _, r := range d.Rows {
		c.add(r.cost())
	}
	for _, a := range d.Addrs {
		c.add(a.cost())
	}
	for _, m := range d.MeshesNew {
		c.add(keyCost(m))
	}
	for _, m := range d.MeshesGone {
		c.add(keyCost(m))
	}
	return c.keys, c.bytes
}

func metaCost(m Meta) cost {
	return cost{metaKeys, metaKeys*keyBytes + textBytes(m.Options) + (len(m.Pools)+len(m.Quarantine))*keyBytes}
}

func (c AddrChange) cost() cost {
	if c.New == nil {
		return keyCost()
	}
	return keyCost(c.New.Owner.Mesh, c.New.Owner.Name, c.New.Mesh)
}

func (c RowChange) cost() cost {
	k := c.entryCost()
	for mesh, now := range c.Listings() {
		k.add(listingCost(c.Key, mesh, now))
	}
	return k
}

// entryCost is what a row takes without its listings.
func (c RowChange) entryCost() cost {
	if c.Old != nil && c.New != nil && c.Old.V4 == c.New.V4 && c.Old.V6 == c.New.V6 {
		return cost{}
	}
	return keyCost(c.Key.Mesh, c.Key.Name)
}

// listingCost is what a listing of key takes; l is nil where it goes.
func listingCost(key vip.Key, mesh string, l *vip.Listing) cost {
	c := keyCost(mesh, key.Mesh, key.Name)
	if l == nil {
		return c
	}
	c.bytes += textBytes(l.Name)
	for _, o := range l.Outbounds {
		c.bytes += 40 + textBytes(o.Origin)
		for _, t := range o.Tags {
			c.bytes += 8 + textBytes(t.Key) + textBytes(t.Value)
		}
	}
	if t := l.Terms; t != nil {
		c.bytes += 50 * (1 + len(t.Static) + len(t.Given))
		for _, h := range t.Hostnames {
			c.bytes += 4 + textBytes(h)
		}
	}
	return c
}

// Listings yields the meshes whose listing differs between two versions of a row,
// with what they say then, nil where that is nothing. Both are sorted by mesh.
func (c RowChange) Listings() iter.Seq2[string, *vip.Listing] {
	return func(yield func(string, *vip.Listing) bool) {
		var old, now []vip.Listing
		if c.Old != nil {
			old = c.Old.Listings
		}
		if c.New != nil {
			now = c.New.Listings
		}
		for more := true; more && len(old)+len(now) > 0; {
			switch {
			case len(now) == 0 || len(old) > 0 && old[0].Mesh < now[0].Mesh:
				more = yield(old[0].Mesh, nil)
				old = old[1:]
			case len(old) == 0 || now[0].Mesh < old[0].Mesh:
				more = yield(now[0].Mesh, &now[0])
				now = now[1:]
			default:
				more = old[0].Equal(now[0]) || yield(now[0].Mesh, &now[0])
				old, now = old[1:], now[1:]
			}
		}
	}
}
