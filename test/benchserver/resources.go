package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// resources is a directory of resource files: n services that stay, and files that
// change.
type resources struct {
	dir string
	// versions counts the changes of each of the changing files.
	versions [changing]int
}

const (
	changing       = 100 // files that change
	perDataplane   = 20  // services of one Dataplane
	perFile        = 1000
	changesASecond = 100
)

// newResources writes the files.
func newResources(dir string, n int) (*resources, error) {
	r := &resources{dir: dir}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	for first := 0; first < n; first += perFile {
		mesh := fmt.Sprintf("mesh-%05d", first/perFile)
		var b strings.Builder
		fmt.Fprintf(&b, "type: Mesh\nname: %s\n", mesh)
		for i := first; i < min(first+perFile, n); i += perDataplane {
			var services []string
			for j := i; j < min(i+perDataplane, n); j++ {
				name, _ := service(j)
				services = append(services, name)
			}
			b.WriteString(dataplane(mesh, fmt.Sprintf("proxy-%d", i), services...))
		}
		if err := r.put(mesh+".yaml", b.String()); err != nil {
			return nil, err
		}
	}
	for i := range changing {
		if err := r.change(i); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// put writes a file whole, by way of a rename.
func (r *resources) put(name, content string) error {
	path := filepath.Join(r.dir, name)
	if err := os.WriteFile(path+".tmp", []byte(content), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

// change gives a file another service in the place of the one that it had: one
// entry comes, and one goes.
func (r *resources) change(i int) error {
	r.versions[i]++
	return r.put(fmt.Sprintf("change-%02d.yaml", i), dataplane("mesh-00000", fmt.Sprintf("change-%02d", i), r.changed(i)))
}

// changed is the service that a changing file has.
func (r *resources) changed(i int) string { return fmt.Sprintf("change-%02d-%d", i, r.versions[i]) }

// dataplane is a resource with services.
func dataplane(mesh, name string, services ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\ntype: Dataplane\nmesh: %s\nname: %s\nnetworking:\n  address: 192.0.2.1\n  inbound:\n", mesh, name)
	for i, s := range services {
		fmt.Fprintf(&b, "  - port: %d\n    tags: {kuma.io/service: %s}\n", 8000+i, s)
	}
	return b.String()
}

// keepChanging changes files, so many a second, until stop is called, which returns
// how many were changed. A tick that is missed is made up for.
func (r *resources) keepChanging() (stop func() (int, error)) {
	quit := make(chan struct{})
	var wg sync.WaitGroup
	var n int
	var err error
	wg.Go(func() {
		begun, pace := time.Now(), time.NewTicker(time.Second/changesASecond)
		defer pace.Stop()
		for {
			select {
			case <-quit:
				return
			case <-pace.C:
			}
			for due := int(time.Since(begun).Seconds() * changesASecond); n < due && err == nil; n++ {
				err = r.change(n % changing)
			}
		}
	})
	return func() (int, error) {
		close(quit)
		wg.Wait()
		return n, err
	}
}
