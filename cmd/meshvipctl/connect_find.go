package main

import (
	"errors"
	"io/fs"
	"os"

	"github.com/meshvip/coredns-meshvip/plugin/meshvip"
)

// What is looked for where nothing says where the table is.
const (
	defaultCorefile = "Corefile"
	defaultStore    = "meshvip.db"
	adminVariable   = "MESHVIP_ADMIN"
)

// target is a table that a command is to work on.
type target struct {
	// admin is where its server's admin interface is, or would be by default.
	admin string
	// store is its store file, or etcd where in etcd it is; neither where only a
	// server can reach it.
	store string
	etcd  *meshvip.EtcdConfig
	// by says what named it, for errors: a flag, a file, a variable.
	by string
	// configured is what a Corefile says of it, nil without one.
	configured *meshvip.Table
}

// local reports whether the table can be read without a server.
func (t target) local() bool { return t.store != "" || t.etcd != nil }

// place names the store.
func (t target) place() string {
	if t.etcd != nil {
		return "table " + etcdConfig(t.configured).String()
	}
	return t.store
}

// find says where the table is, by the flags, the environment and what lies in
// the current directory.
func (s *session) find() (target, error) {
	switch {
	case s.corefile != "":
		t, err := s.ofCorefile(s.corefile, "--corefile "+s.corefile)
		if s.admin != "" {
			t.admin, t.store, t.etcd, t.by = s.admin, "", nil, "--admin"
		}
		return t, err
	case s.admin != "":
		return target{admin: s.admin, by: "--admin"}, nil
	case s.store != "":
		return storeTarget(s.store, "--store"), nil
	case s.env(adminVariable) != "":
		return target{admin: s.env(adminVariable), by: adminVariable}, nil
	case exists(defaultCorefile):
		return s.ofCorefile(defaultCorefile, "./Corefile")
	case exists(defaultStore):
		return storeTarget(defaultStore, "./meshvip.db"), nil
	}
	return target{}, unopened("nothing says where the table is: there is neither ./Corefile nor ./meshvip.db here;"+
		" give --admin ADDRESS, --store PATH or --corefile PATH, or set %s", adminVariable)
}

// storeTarget is the table of a store file. A server that has it open listens at
// a socket beside it, by default.
func storeTarget(path, by string) target {
	return target{admin: socketOf(path), store: path, by: by}
}

// socketOf returns the address of the admin interface that a server has by
// default.
func socketOf(store string) string { return "unix:" + store + ".sock" }

// ofCorefile is the table that a Corefile names: the only one, or the one that
// --store names too.
func (s *session) ofCorefile(path, by string) (target, error) {
	all, err := meshvip.ReadCorefile(path)
	if err != nil {
		return target{}, unopened("%w", err)
	}
	c, err := pick(all, s.store)
	if err != nil {
		return target{}, usage("%s: %w", by, err)
	}
	t := target{admin: c.Admin, store: c.Store, etcd: c.Etcd, by: by, configured: c}
	if s.store != "" && !named(c, s.store) {
		t.admin, t.store, t.etcd, t.by = "", s.store, nil, "--store"
	}
	if t.admin == "" && !t.local() && s.admin == "" {
		return target{}, unopened("%s: the table is in memory, and has no admin interface: add a line such as"+
			" \"admin 127.0.0.1:9253\" to its meshvip, and restart the server", c.Place)
	}
	if t.admin == "" && t.store != "" {
		t.admin = socketOf(t.store) // the server may run with another Corefile
	}
	return t, nil
}

// exists reports whether there is something at path, readable or not.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
