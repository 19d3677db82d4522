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

// refuse returns b without what no table can hold, and what that is.
func refuse(b vip.Batch) (vip.Batch, []Refusal) {
	badRequest := func(r vip.Request) bool { return checkEntry(r.Entry) != nil }
	badMesh := func(m vip.MeshUpdate) bool {
		return checkMesh(m.Mesh) != nil || slices.ContainsFunc(m.Set, badRequest)
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
		for _, r := range m.Set {
			if err := checkEntry(r.Entry); err != nil {
				refused = append(refused, Refusal{Mesh: m.Mesh, Entry: r.Entry, Err: err})
			}
		}
		m.Set = slices.DeleteFunc(slices.Clone(m.Set), badRequest)
		meshes = append(meshes, m)
	}
	b.Meshes = meshes
	return b, refused
}
