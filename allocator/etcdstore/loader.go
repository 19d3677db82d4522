package etcdstore

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/record"
	"github.com/meshvip/coredns-meshvip/vip"
	"go.etcd.io/etcd/api/v3/mvccpb"
)

// loader makes a state of the keys of a table, which come in etcd's order: first
// the addresses, then the entries, and then what the meshes say.
type loader struct {
	state   allocator.State
	prefix  string
	rows    map[vip.Key]*vip.Row
	damaged map[vip.Key]bool // entries with a record that cannot be read
	meshes  map[string]bool
	texts   texts
	aside   aside
	// lostAddrs: some address key cannot be read.
	lostAddrs bool
}

func newLoader(prefix string) *loader {
	return &loader{
		prefix: prefix, rows: make(map[vip.Key]*vip.Row), damaged: make(map[vip.Key]bool), meshes: make(map[string]bool),
		texts: make(texts),
	}
}

// damage sets a key aside.
func (l *loader) damage(key string, addr netip.Addr, entry vip.Key, err error) {
	l.state.Damaged = append(l.state.Damaged, allocator.Damage{Place: key, Err: err, Addr: addr})
	if entry != (vip.Key{}) {
		l.damaged[entry] = true
	}
}

func (l *loader) add(kv *mvccpb.KeyValue) {
	key := string(kv.Key)
	p, err := parseKey(strings.TrimPrefix(key, l.prefix))
	if err != nil {
		l.lostAddrs = l.lostAddrs || strings.HasPrefix(key, l.prefix+keyAddresses)
		l.damage(key, netip.Addr{}, vip.Key{}, err)
		return
	}
	switch p.in {
	case keyAddresses:
		h, err := decodeHolding(kv.Value, l.texts)
		if err != nil {
			l.lostAddrs = true
			l.damage(key, p.addr, vip.Key{}, err)
			return
		}
		l.state.Addrs = append(l.state.Addrs, allocator.Held{Addr: p.addr, Holding: h})
	case keyEntries:
		v4, v6, err := decodeEntry(kv.Value)
		if err != nil {
			l.damage(key, netip.Addr{}, p.key, err)
			return
		}
		p.key.Name = strings.Clone(p.key.Name)
		l.rows[p.key] = &vip.Row{Entry: vip.Entry(p.key), V4: v4, V6: v6}
	case keyMeshes:
		if p.listing() {
			l.listing(key, p, kv.Value)
			return
		}
		if err := decodeMesh(kv.Value, p.mesh); err != nil {
			l.damage(key, netip.Addr{}, vip.Key{}, err)
			return
		}
		p.mesh = strings.Clone(p.mesh)
		l.meshes[p.mesh] = true
		l.state.Meshes = append(l.state.Meshes, p.mesh)
	}
}

// listing reads what a mesh says of an entry.
func (l *loader) listing(key string, p place, value []byte) {
	row := l.rows[p.key]
	name := p.key.Name
	if row != nil {
		name = vip.Key(row.Entry).Name
	}
	if !l.meshes[p.mesh] {
		l.damage(key, netip.Addr{}, p.key, errors.New("the mesh has no table"))
		l.aside.add(p.mesh, p.key, key)
		return
	}
	listing, err := decodeListing(value, p.mesh, name, l.texts)
	switch {
	case err == nil && row != nil:
		listing.Mesh = l.texts.intern(record.Text(p.mesh))
		row.Listings = append(row.Listings, listing)
		return
	case err != nil:
		l.damage(key, netip.Addr{}, p.key, err)
	case !l.damaged[p.key]:
		l.damage(key, netip.Addr{}, p.key, errors.New("the mesh lists an entry that has no record"))
	}
	l.aside.add(p.mesh, p.key, key)
}

// end returns the state. An entry whose listings cannot be read is set aside with
// them; its address keys stay.
func (l *loader) end() allocator.State {
	l.state.Rows = make([]*vip.Row, 0, len(l.rows))
	for i := range l.state.Addrs {
		h := &l.state.Addrs[i]
		if row := l.rows[h.Owner]; row != nil {
			h.Owner = vip.Key(row.Entry) // its texts
		}
	}
	for key, row := range l.rows {
		if len(row.Listings) == 0 {
			if !l.damaged[key] {
				l.damage(l.prefix+entryKey(key), netip.Addr{}, vip.Key{}, errors.New("no mesh lists the entry"))
			}
			continue
		}
		slices.SortFunc(row.Listings, func(a, b vip.Listing) int { return strings.Compare(a.Mesh, b.Mesh) })
		row.Entry.Name = row.Listings[0].Name
		for _, x := range row.Listings[1:] {
			row.Entry.Name = min(row.Entry.Name, x.Name)
		}
		l.state.Rows = append(l.state.Rows, row)
	}
	if l.lostAddrs {
		for a, key := range l.state.Unkeyed() {
			l.damage(l.prefix+addressKey(a), a, vip.Key{}, fmt.Errorf("the address of %v has no record", key))
		}
	}
	return l.state
}
