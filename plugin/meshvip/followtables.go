package meshvip

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/meshvip/coredns-meshvip/kumatable"
	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher"
)

// kumaTables are the tables in which Kuma keeps the addresses that it gave, read
// again and again. It implements [kumaapi.Tables].
type kumaTables struct {
	path     string
	interval time.Duration // between two looks
	log      *slog.Logger
	given    atomic.Pointer[givenAddrs]
	changed  chan struct{} // for the source; has one where given is another
	tell     func()        // for the union; is called then
	status   atomic.Pointer[watcher.Status]

	// These belong to the goroutine that reads.
	seen     string // what the files looked like
	problems watcher.Problems
}

// givenAddrs are addresses by mesh and entry. The mesh "" has those of a table of all
// meshes.
type givenAddrs map[string]map[vip.Key][]netip.Addr

// newKumaTables returns the tables at path, a file or a directory, of which nothing
// is known yet.
func newKumaTables(path string, interval time.Duration, log *slog.Logger) *kumaTables {
	t := &kumaTables{path: path, interval: interval, log: log, changed: make(chan struct{}, 1), tell: func() {}}
	t.given.Store(&givenAddrs{})
	t.status.Store(&watcher.Status{})
	return t
}

// Given implements [kumaapi.Tables].
func (t *kumaTables) Given(mesh string, key vip.Key) []netip.Addr {
	return t.given.Load().of(mesh, key)
}

// of returns the addresses of an entry in a mesh.
func (g givenAddrs) of(mesh string, key vip.Key) []netip.Addr {
	if addrs, ok := g[mesh][key]; ok {
		return addrs
	}
	return g[""][key]
}

// Changed implements [kumaapi.Tables].
func (t *kumaTables) Changed() <-chan struct{} { return t.changed }

// run reads the tables again and again until ctx is done.
func (t *kumaTables) run(ctx context.Context) {
	ticker := time.NewTicker(t.interval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-ticker.C:
			t.read()
		}
	}
}

// read reads the tables, where they look different than before, or could not be read
// then. Where something is wrong with them, what was known stays for all that is not
// read now.
func (t *kumaTables) read() {
	looks := lookOf(t.path)
	if looks != "" && looks == t.seen {
		return
	}
	t.seen = looks
	r := kumatable.ReadAll(t.path)
	now, was := give(r.Tables), *t.given.Load()
	var ps []watcher.Problem
	for _, err := range r.Errors {
		ps = append(ps, watcher.Problem{Place: t.path, What: fmt.Sprintf("%v (the addresses that were known stay)", err)})
	}
	if len(r.Errors) > 0 {
		now.keep(was)
	}
	if slices.ContainsFunc(r.Errors, func(err error) bool { return !errors.As(err, new(kumatable.RowError)) }) {
		t.seen = "" // look again: a row reads the same each time, a file may not
	}
	came, went := t.problems.Set(ps)
	for _, p := range came {
		t.log.Warn(p.What, "place", p.Place)
	}
	for _, p := range went {
		t.log.Info("no longer a problem: "+p.What, "place", p.Place)
	}
	s := *t.status.Load()
	s.Problems, s.Errors = t.problems.Now, t.problems.Count
	if len(ps) == 0 {
		s.Synced, s.LastSync = true, time.Now()
	}
	t.status.Store(&s)
	if !now.equal(was) {
		t.given.Store(&now)
		select {
		case t.changed <- struct{}{}:
		default:
		}
		t.tell()
	}
}

// give returns what tables say. Of several tables of a mesh, and several rows of
// an entry, the first one counts.
func give(tables []kumatable.Table) givenAddrs {
	g := make(givenAddrs)
	for _, table := range tables {
		mesh := table.Mesh
		if table.Format == 0 {
			mesh = ""
		}
		if g[mesh] == nil {
			g[mesh] = make(map[vip.Key][]netip.Addr, len(table.Rows))
		}
		for _, row := range table.Rows {
			addrs := row.Addrs()
			if _, twice := g[mesh][row.Key()]; !twice && len(addrs) > 0 {
				slices.SortFunc(addrs, netip.Addr.Compare)
				g[mesh][row.Key()] = addrs
			}
		}
	}
	return g
}

// keep adds what was known of entries that g says nothing of.
func (g givenAddrs) keep(was givenAddrs) {
	for mesh, entries := range was {
		if g[mesh] == nil {
			g[mesh] = make(map[vip.Key][]netip.Addr, len(entries))
		}
		for key, addrs := range entries {
			if _, ok := g[mesh][key]; !ok {
				g[mesh][key] = addrs
			}
		}
	}
}

func (g givenAddrs) equal(o givenAddrs) bool {
	return maps.EqualFunc(g, o, func(a, b map[vip.Key][]netip.Addr) bool {
		return maps.EqualFunc(a, b, slices.Equal[[]netip.Addr])
	})
}

// lookOf describes the files at path by all that changes when they do, but for
// their content; empty where it cannot be told.
func lookOf(path string) string {
	paths := []string{path}
	if entries, err := os.ReadDir(path); err == nil {
		for _, e := range entries {
			paths = append(paths, filepath.Join(path, e.Name()))
		}
	}
	var b strings.Builder
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return ""
		}
		fmt.Fprintf(&b, "%q %d %d %v\n", p, info.Size(), info.ModTime().UnixNano(), info.Mode())
	}
	return b.String()
}
