package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/meshvip/coredns-meshvip/plugin/meshvip"
)

// pick returns the table of a Corefile whose store is store, or the only one: it
// may lie elsewhere here than where the server runs.
func pick(all []meshvip.Table, store string) (*meshvip.Table, error) {
	if len(all) == 1 {
		return &all[0], nil
	}
	var stores []string
	for i := range all {
		if named(&all[i], store) {
			return &all[i], nil
		}
		stores = append(stores, storeName(all[i]))
	}
	list := strings.Join(stores, ", ")
	if store == "" {
		return nil, errors.New("it has several tables: choose one with --store, of " + list)
	}
	return nil, errors.New("it has no table with the store " + store + ": its stores are " + list)
}

// named reports whether a table is the one that --store names: by its file, or by
// its prefix in etcd.
func named(t *meshvip.Table, store string) bool {
	if t.Etcd != nil {
		return store == t.Etcd.Prefix || store == storeName(*t)
	}
	return sameFile(t.Store, store)
}

// storeName names a table's store, as --store takes it.
func storeName(t meshvip.Table) string {
	switch {
	case t.Store != "":
		return t.Store
	case t.Etcd != nil:
		return t.Etcd.Prefix
	case t.Admin != "":
		return "one in memory (--admin " + t.Admin + ")"
	}
	return "one in memory"
}

// sameFile reports whether two paths lead to one file, or would.
func sameFile(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	if errX == nil && errY == nil {
		return os.SameFile(x, y)
	}
	absA, errA := filepath.Abs(a)
	absB, errB := filepath.Abs(b)
	return errA == nil && errB == nil && absA == absB
}
