package test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// churn changes the resources of a site without end: it adds, edits, empties
// and removes files of several meshes, in place and by renames, and declares
// and undeclares a mesh. It knows what the files list whenever it rests.
type churn struct {
	t testing.TB
	p *site

	mu    sync.Mutex // held while something changes
	rnd   *rand.Rand
	files map[string]churned // by name
	away  bool               // the mesh "beta" is not declared
	first int                // the first of the names in use

	lists listings // of all files
	// newest are the services that came into use last.
	newest atomic.Pointer[[]string]
}

// churned is a file that declares services of one mesh.
type churned struct {
	mesh     string
	services []string
}

// Numbers of a churn's files, and of the names that are in use at a time: many
// files list the same ones. With each change one name goes out of use and a new
// one comes into it.
const (
	churnFiles = 12
	churnNames = 60
)

// fixedServices are listed throughout, by a file that is never touched.
var fixedServices = []string{"fixed-1", "fixed-2_ns_svc_80", "fixed-3"}

func churnMesh(i int) string { return []string{"default", "alpha", "beta"}[i%3] }

// churnService is a name that a churn uses. Half of them have two spellings.
func churnService(i int) string {
	if i%2 == 0 {
		return fmt.Sprintf("svc-%d", i)
	}
	return fmt.Sprintf("svc-%d_ns_svc_80", i)
}

// newChurn lays out the files at a site.
func newChurn(t testing.TB, p *site, seed uint64, clock *uptime) *churn {
	c := &churn{
		t: t, p: p, rnd: rand.New(rand.NewPCG(seed, 1)), files: make(map[string]churned),
		lists: listings{clock: clock},
	}
	write(t, p.resources, "alpha.yaml", "type: Mesh\nname: alpha\n")
	write(t, p.resources, "beta.yaml", "type: Mesh\nname: beta\n")
	write(t, p.resources, "fixed.yaml", dataplane("default", "fixed", fixedServices...))
	for i := range churnFiles {
		c.rewrite(i, c.pick(), true)
	}
	c.lists.set(c.listed(), nil)
	return c
}

// pick returns some services.
func (c *churn) pick() []string {
	var services []string
	for range 1 + c.rnd.IntN(8) {
		services = append(services, churnService(c.first+c.rnd.IntN(churnNames)))
	}
	c.first++
	services = append(services, churnService(c.first+churnNames-1))
	var newest []string
	for i := range 5 {
		newest = append(newest, churnService(c.first+churnNames-1-i))
	}
	c.newest.Store(&newest)
	slices.Sort(services)
	return slices.Compact(services)
}

// rewrite writes a file, at once or in two halves in place.
func (c *churn) rewrite(i int, services []string, atOnce bool) {
	name := fmt.Sprintf("file-%02d.yaml", i)
	content := ""
	for _, s := range services { // a document each: half a file may be a whole one
		content += "---\n" + dataplane(churnMesh(i), name+s, s)
	}
	if atOnce {
		write(c.t, c.p.resources, name, content)
	} else {
		path, half := filepath.Join(c.p.resources, name), c.rnd.IntN(len(content))
		for _, part := range []string{content[:half], content} {
			if err := os.WriteFile(path, []byte(part), 0o644); err != nil {
				c.t.Error(err)
			}
		}
	}
	c.files[name] = churned{churnMesh(i), services}
}

// change makes one change.
func (c *churn) change() {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.rnd.IntN(churnFiles)
	name := fmt.Sprintf("file-%02d.yaml", i)
	var torn []string // services of a file that stood there cut short
	defer func() { c.lists.set(c.listed(), torn) }()
	switch n := c.rnd.IntN(20); {
	case n < 10:
		c.rewrite(i, c.pick(), true)
	case n < 14:
		torn = c.files[name].services
		c.rewrite(i, c.pick(), false)
		torn = slices.Concat(torn, c.files[name].services)
	case n < 17 && len(c.files[name].services) > 0: // one service less
		c.rewrite(i, slices.Delete(slices.Clone(c.files[name].services), 0, 1), true)
		if len(c.files[name].services) == 0 {
			write(c.t, c.p.resources, name, "# none\n")
		}
	case n < 19:
		c.p.remove(name)
		delete(c.files, name)
	default:
		if c.away = !c.away; c.away {
			c.p.remove("beta.yaml")
		} else {
			write(c.t, c.p.resources, "beta.yaml", "type: Mesh\nname: beta\n")
		}
	}
}

// run changes without end until stop is closed, now fast and now slowly: what
// comes within a debounce is one batch.
func (c *churn) run(stop <-chan struct{}) {
	for {
		c.mu.Lock()
		pause := time.Duration(c.rnd.IntN(80)) * time.Millisecond
		c.mu.Unlock()
		select {
		case <-stop:
			return
		case <-time.After(pause):
			c.change()
		}
	}
}

// listed returns the services that the files list. c.mu is held.
func (c *churn) listed() []string {
	services := slices.Clone(fixedServices)
	for _, f := range c.files {
		if f.mesh != "beta" || !c.away {
			services = append(services, f.services...)
		}
	}
	slices.Sort(services)
	return slices.Compact(services)
}
