package chaos

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// churn adds and removes services and whole meshes without end, in files that all
// replicas read, and notes which names are listed.
type churn struct {
	t   testing.TB
	h   *history
	dir string
	// fresh is how long a name that was never listed has to wait for the one before.
	fresh time.Duration
	most  int // names that are listed at a time, stable ones aside

	mu     sync.Mutex
	rnd    *rand.Rand
	groups [][]string // the services of each file; nil where there is none
	away   bool       // the mesh of the last two files is not declared
	names  int        // that were ever used
	last   time.Duration
	recent []string // names that were used last
}

const churnGroups = 8

func groupMesh(g int) string { return []string{"default", "alpha", "beta"}[min(g/3, 2)] }

// newChurn lays out the files below dir: those of the stable names, and the meshes.
func newChurn(t testing.TB, h *history, dir string, seed uint64, most int, fresh time.Duration) *churn {
	c := &churn{
		t: t, h: h, dir: dir, rnd: rand.New(rand.NewPCG(seed, 1)), groups: make([][]string, churnGroups),
		most: most, fresh: fresh,
	}
	for _, mesh := range []string{"alpha", "beta"} {
		c.write(mesh+".yaml", "type: Mesh\nname: "+mesh+"\n")
	}
	c.write("stable.yaml", dataplane("default", "stable", h.stable...))
	for _, name := range h.stable {
		h.listed(name)
	}
	return c
}

// dataplane returns a Dataplane document with an inbound for each service.
func dataplane(mesh, name string, services ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "type: Dataplane\nmesh: %q\nname: %q\nnetworking:\n  address: 192.0.2.1\n  inbound:\n", mesh, name)
	for i, s := range services {
		fmt.Fprintf(&b, "    - port: %d\n      tags:\n        kuma.io/service: %q\n", 8000+i, s)
	}
	if len(services) == 0 {
		b.WriteString("    []\n")
	}
	return b.String()
}

// write writes a file by a rename.
func (c *churn) write(name, content string) {
	path := filepath.Join(c.dir, name)
	if err := os.WriteFile(path+".tmp", []byte(content), 0o644); err != nil {
		c.t.Error(err)
		return
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		c.t.Error(err)
	}
}

// run changes without end until stop is closed.
func (c *churn) run(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(c.change()):
		}
	}
}

// change makes one change, and says how long to wait for the next.
func (c *churn) change() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.all()
	g := c.rnd.IntN(len(c.groups))
	switch n := c.rnd.IntN(20); {
	case n < 9 && len(was) < c.most && c.h.now()-c.last > c.fresh:
		c.last = c.h.now()
		c.add(g, c.newName())
	case n < 12 && len(was) < c.most && len(c.recent) > 0: // one that comes back, or is in two files
		c.add(g, c.recent[c.rnd.IntN(len(c.recent))])
	case n < 18 && len(c.groups[g]) > 0:
		c.set(g, slices.Delete(slices.Clone(c.groups[g]), 0, 1))
	case n < 19 && c.rnd.IntN(3) == 0:
		c.set(g, nil)
	case n >= 19 && c.rnd.IntN(3) == 0:
		c.declare(!c.away)
	}
	return time.Duration(c.rnd.IntN(200)) * time.Millisecond
}

func (c *churn) newName() string {
	c.names++
	name := fmt.Sprintf("svc-%d", c.names)
	if c.names%3 == 0 {
		name += "_ns_svc_80"
	}
	c.recent = append(c.recent, name)
	if len(c.recent) > 30 {
		c.recent = c.recent[1:]
	}
	return name
}

func (c *churn) add(g int, name string) {
	if !slices.Contains(c.groups[g], name) {
		c.set(g, append(slices.Clone(c.groups[g]), name))
	}
}

// set lists other services in a file; nil removes it.
func (c *churn) set(g int, services []string) {
	c.around(func() {
		c.groups[g] = services
	}, func() {
		file := fmt.Sprintf("group-%d.yaml", g)
		if services == nil {
			if err := os.Remove(filepath.Join(c.dir, file)); err != nil && !os.IsNotExist(err) {
				c.t.Error(err)
			}
			return
		}
		c.write(file, dataplane(groupMesh(g), fmt.Sprintf("group-%d", g), services...))
	})
}

// declare declares the mesh "beta", or not.
func (c *churn) declare(away bool) {
	c.around(func() { c.away = away }, func() {
		if away {
			if err := os.Remove(filepath.Join(c.dir, "beta.yaml")); err != nil {
				c.t.Error(err)
			}
			return
		}
		c.write("beta.yaml", "type: Mesh\nname: beta\n")
	})
}

// around notes what a change lists no more before it is made, and what it lists
// after.
func (c *churn) around(plan, do func()) {
	was := c.all()
	plan()
	is := c.all()
	for _, name := range was {
		if !slices.Contains(is, name) {
			c.h.unlisted(name)
		}
	}
	do()
	for _, name := range is {
		if !slices.Contains(was, name) {
			c.h.listed(name)
		}
	}
}

// all returns the names that the files list, but for stable ones.
func (c *churn) all() (names []string) {
	for g, services := range c.groups {
		if groupMesh(g) != "beta" || !c.away {
			names = append(names, services...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// some returns a service to ask for: one of those that were used lately, or a
// stable one.
func (c *churn) some(rnd *rand.Rand) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.recent) == 0 || rnd.IntN(3) == 0 {
		return c.h.stable[rnd.IntN(len(c.h.stable))]
	}
	return c.recent[rnd.IntN(len(c.recent))]
}
