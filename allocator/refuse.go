package allocator

import (
	"fmt"
	"slices"

	"github.com/meshvip/coredns-meshvip/vip"
)

// Refusal is a part of a batch that no table can hold. It is left out, and the
// rest goes on.
type Refusal struct {
	Mesh string
	// Entry is the entry that was refused, the zero Entry if it is the mesh.
	Entry vip.Entry
	Err   error
}

// String says what was refused, and why.
func (r Refusal) String() string {
	if r.Entry == (vip.Entry{}) {
		return fmt.Sprintf("mesh %.80q: %v", r.Mesh, r.Err)
	}
	return fmt.Sprintf("entry %.80q of mesh %.80q: %v", r.Entry, r.Mesh, r.Err)
}

// errMesh: a mesh's name is a key in the store, and has a key's bounds.
var errMesh = fmt.Errorf("a mesh needs a name, of at most %d bytes", vip.MaxName)

func checkMesh(name string) error {
	if name == "" || len(name) > vip.MaxName {
		return errMesh
	}
	return nil
}

func checkEntry(e vip.Entry) error {
	if len(e.Mesh) > vip.MaxName {
		return errMesh
	}
	return e.Validate()
}

// refuse returns b without what no table can hold, and what that is. What a mesh
// says of an entry has to fit into one commit of the store; of an entry that is
// there, what it said before stands.
func (t *table) refuse(b vip.Batch, l Limits) (vip.Batch, []Refusal) {
	check := func(mesh string, r vip.Request) error {
		if err := checkEntry(r.Entry); err != nil {
			return err
		}
		return checkSize(mesh, r, t.meta, l)
	}
	badMesh := func(m vip.MeshUpdate) bool {
		return checkMesh(m.Mesh) != nil || slices.ContainsFunc(m.Set, func(r vip.Request) bool { return check(m.Mesh, r) != nil })
	}
	if !slices.ContainsFunc(b.Meshes, badMesh) {
		return b, nil
	}
	var refused []Refusal
	meshes := make([]vip.MeshUpdate, 0, len(b.Meshes))
	for _, m := range b.Meshes {
		if err := checkMesh(m.Mesh); err != nil {
			refused = append(refused, Refusal{Mesh: m.Mesh, Err: err})
			continue
		}
		set := make([]vip.Request, 0, len(m.Set))
		for _, r := range m.Set {
			err := check(m.Mesh, r)
			if err == nil {
				set = append(set, r)
				continue
			}
			refused = append(refused, Refusal{Mesh: m.Mesh, Entry: r.Entry, Err: err})
			if was, ok := t.said(m.Mesh, r.Entry.Key()); ok {
				set = append(set, was)
			}
		}
		m.Set = set
		meshes = append(meshes, m)
	}
	b.Meshes = meshes
	return b, refused
}

// said returns what a mesh has said of an entry, if it lists it.
func (t *table) said(mesh string, key vip.Key) (r vip.Request, ok bool) {
	row := t.rows[key]
	if row == nil {
		return r, false
	}
	l, ok := row.Listing(mesh)
	e := vip.Entry(key)
	e.Name = l.Name
	return vip.Request{Entry: e, Outbounds: l.Outbounds, Terms: l.Terms}, ok
}

// checkSize returns an error if a commit that writes no more than one request, with
// all the addresses that it may get and give back, is more than the store takes.
func checkSize(mesh string, r vip.Request, m Meta, l Limits) error {
	if l.Bytes == 0 {
		return nil
	}
	key := r.Entry.Key()
	c := listingCost(key, mesh, &vip.Listing{Name: r.Entry.Name, Outbounds: r.Outbounds, Terms: r.Terms})
	c.add(metaCost(m))
	c.add(keyCost(key.Mesh, key.Name))
	for range 4 {
		c.add(keyCost(key.Mesh, key.Name, mesh))
	}
	if c.bytes <= l.Bytes {
		return nil
	}
	return fmt.Errorf("what the mesh says of it takes some %d bytes, and the store takes %d in one commit: give it fewer ports, tags and hostnames", c.bytes, l.Bytes)
}
