package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// perDataplane is how many services a Dataplane has.
const perDataplane = 20

// resources is a directory with the fleet as resource files, one for each mesh, and
// with files of services that were added since.
type resources struct{ dir string }

// write writes the fleet.
func (r resources) write(f *fleet) error {
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return err
	}
	for _, m := range f.meshes {
		var b strings.Builder
		fmt.Fprintf(&b, "type: Mesh\nname: %s\n", m.name)
		for i := 0; i < len(m.live); i += perDataplane {
			dataplane(&b, m.name, i, m.live[i:min(i+perDataplane, len(m.live))])
		}
		if err := os.WriteFile(filepath.Join(r.dir, m.name+".yaml"), []byte(b.String()), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func dataplane(b *strings.Builder, mesh string, n int, services []uint32) {
	fmt.Fprintf(b, "---\ntype: Dataplane\nmesh: %s\nname: proxy-%d\nnetworking:\n  address: 192.0.2.1\n  inbound:\n", mesh, n)
	for i, id := range services {
		fmt.Fprintf(b, "  - port: %d\n    tags: {kuma.io/service: %s}\n", 8000+i, service(id))
	}
}

// added is the name of the i-th service that was added.
func (r resources) added(i int) string { return fmt.Sprintf("added-%04d", i) }

// add writes the file of a service that is added.
func (r resources) add(i int) error {
	name := filepath.Join(r.dir, r.added(i)+".yaml")
	text := fmt.Sprintf("type: Dataplane\nmesh: default\nname: %[1]s\nnetworking:\n  address: 192.0.2.1\n"+
		"  inbound:\n  - port: 80\n    tags: {kuma.io/service: %[1]s}\n", r.added(i))
	if err := os.WriteFile(name+".tmp", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(name+".tmp", name)
}

// remove removes the files of services that were added.
func (r resources) remove() error {
	names, err := filepath.Glob(filepath.Join(r.dir, "added-*"))
	for _, name := range names {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}
