package kumaapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
)

// item is one item of a listing, as it was read. It is immutable: as long as its
// bytes are the same, all passes have the same one.
type item struct {
	sum sum
	id  kuma.ID // empty fields could not be read
	// place is empty where id is not whole.
	place string
	// err says why it cannot count; nothing below is set then.
	err      error
	resource watcher.Resource
	problems []watcher.Problem
	// serves says that it is a Dataplane with a service, bare that it is one
	// with inbounds, none of which has a service tag.
	serves, bare bool
	// pinned says that it asks for an address by a tag.
	pinned bool
}

// reader reads the items of one control plane.
type reader struct {
	base string // URL
	home kuma.Home
}

// read reads an item in the listing of k.
func (r reader) read(k *kind, raw []byte) *item {
	// On one line, as nothing in it can be taken for the end of a document.
	var flat bytes.Buffer
	if err := json.Compact(&flat, raw); err != nil {
		return r.bad(k, raw, kuma.ID{}, err)
	}
	resources, invalid, err := kuma.Decode(flat.Bytes())
	switch {
	case err != nil:
		return r.bad(k, raw, kuma.ID{}, err)
	case len(resources)+len(invalid) > 1:
		return r.bad(k, raw, kuma.ID{}, fmt.Errorf("a list where one %s is expected", k.typ))
	case len(invalid) == 1:
		return r.bad(k, raw, invalid[0].ID, invalid[0].Err)
	case len(resources) == 0 || resources[0].Type != k.typ:
		return r.bad(k, raw, kuma.ID{}, fmt.Errorf("its type is not %s: this version of Kuma may be newer than what is read here", k.typ))
	}
	decoded := resources[0]
	it := &item{id: decoded.ID, place: k.place(r.base, decoded.ID)}
	it.resource, it.problems, it.err = watcher.Read(decoded, it.place, r.home)
	for _, c := range it.resource.Claims {
		it.pinned = it.pinned || c.Terms != nil && len(c.Terms.Static) > 0
	}
	if dp, ok := decoded.Spec.(kuma.Dataplane); ok && it.err == nil {
		it.serves, it.bare = len(it.resource.Claims) > 0, len(dp.Inbound) > 0
		for _, in := range dp.Inbound {
			it.bare = it.bare && in.Service == ""
		}
	}
	return it
}

// bad is an item that cannot count, of whose identity id is known.
func (r reader) bad(k *kind, raw []byte, id kuma.ID, err error) *item {
	// Where it stands says more than its type, which may be what is wrong.
	id.Type = k.typ
	if !k.meshed {
		id.Mesh = ""
	}
	if id.Name == "" || id.Mesh == "" && k.meshed {
		var told struct{ Mesh, Name any }
		_ = json.Unmarshal(raw, &told) // what of it can be read
		name, _ := told.Name.(string)
		id.Name = cmp.Or(id.Name, name)
		if mesh, ok := told.Mesh.(string); k.meshed && (ok || told.Mesh == nil && id.Name != "") {
			id.Mesh = cmp.Or(id.Mesh, mesh, vip.DefaultMesh)
		}
	}
	it := &item{id: id, err: err}
	if id.Name != "" && (id.Mesh != "" || !k.meshed) {
		it.place = k.place(r.base, id)
	}
	return it
}
