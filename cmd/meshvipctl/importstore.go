package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/boltstore"
	"github.com/meshvip/coredns-meshvip/kumatable"
	"github.com/meshvip/coredns-meshvip/vip"
)

// importTarget returns what a new store is worked by, and its path: from the
// flags, or from the Corefile.
func (s *session) importTarget(pools []string) (allocator.Config, string, error) {
	table, err := s.configuredTable()
	if err != nil {
		return allocator.Config{}, "", err
	}
	cfg := allocator.Config{Layout: table.Layout, Cooldown: table.Cooldown}
	prefixes, err := parsePools(pools)
	if err != nil {
		return allocator.Config{}, "", err
	}
	if len(prefixes) > 0 {
		cfg.Layout = allocator.Ranges(prefixes...)
		cfg.Layout.Statics = table.Layout.Statics
	}
	store := cmp.Or(s.store, table.Store)
	switch {
	case store == "" && table.Etcd != nil:
		return allocator.Config{}, "", usage("a table in etcd is not made of Kuma's at once: make a file with --store FILE," +
			" and bring it there with \"meshvipctl migrate --from FILE\"")
	case store == "":
		return allocator.Config{}, "", usage("name the store to make with --store PATH, or the server's Corefile with --corefile PATH")
	case len(cfg.Layout.Pools) == 0:
		return allocator.Config{}, "", usage("name the pools that the addresses lie in with --pool, as in --pool 240.0.0.0/8, or the server's Corefile with --corefile PATH")
	}
	if err := cfg.Layout.Check(); err != nil {
		return allocator.Config{}, "", usage("%w", err)
	}
	return cfg, store, nil
}

// storePresent is what stands at the path of a store.
type storePresent struct {
	there bool
	state allocator.State
}

// presentStore reads the store at path, if there is one.
func presentStore(ctx context.Context, path string) (storePresent, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return storePresent{}, nil
	}
	store, _, err := boltstore.Open(path, boltstore.Options{})
	if errors.Is(err, allocator.ErrLocked) {
		return storePresent{}, unopened("a server has the store %s open: an import needs a new store, so name another, or stop the server", path)
	}
	if err != nil {
		return storePresent{}, unopened("%w", err)
	}
	state, err := store.Load(ctx)
	if err = errors.Join(err, store.Close()); err != nil {
		return storePresent{}, unopened("%w", err)
	}
	return storePresent{there: true, state: state}, nil
}

// used reports whether the store has or had anything that an import would lose.
func (p storePresent) used() bool {
	s := p.state
	return len(s.Rows) > 0 || len(s.Addrs) > 0 || len(s.Damaged) > 0 || slices.ContainsFunc(s.Meta.Pools, givenFrom)
}

// givenFrom reports whether an address of the pool was ever given.
func givenFrom(p allocator.Pool) bool {
	first, _ := allocator.Usable(p.Prefix)
	return p.Next != first
}

// covers reports whether have has every entry of want, with the same addresses
// and in the same meshes at least. What the meshes say of it may have changed.
func covers(have, want allocator.State) bool {
	rows := make(map[vip.Key]*vip.Row, len(have.Rows))
	for _, r := range have.Rows {
		rows[r.Key()] = r
	}
	for _, w := range want.Rows {
		r := rows[w.Key()]
		if r == nil || r.V4 != w.V4 || r.V6 != w.V6 {
			return false
		}
		for _, l := range w.Listings {
			if _, ok := r.Listing(l.Mesh); !ok {
				return false
			}
		}
	}
	return true
}

// handBack returns the tables that were read as they are in a store: in their own
// format, and in format 3 where that is older.
func handBack(read []kumatable.Table, state allocator.State) []kumaTable {
	formats := make(map[string]int)
	for _, t := range read {
		formats[t.Mesh] = max(formats[t.Mesh], t.Format)
	}
	var three, four []string
	for mesh, f := range formats {
		if f == 4 {
			four = append(four, mesh)
		} else {
			three = append(three, mesh)
		}
	}
	slices.Sort(three)
	slices.Sort(four)
	rows := sortedRows(state)
	return append(encodeTables("3", three, rows), encodeTables("4", four, rows)...)
}
