package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/meshvip/coredns-meshvip/admin"
	"github.com/meshvip/coredns-meshvip/allocator/etcdstore"
	"github.com/meshvip/coredns-meshvip/plugin/meshvip"
)

// etcdConfig returns the store in etcd that a Corefile states for a table.
func etcdConfig(t *meshvip.Table) etcdstore.Config {
	e := t.Etcd
	return etcdstore.Config{
		Endpoints: e.EndpointList(), Prefix: e.Prefix, Cert: e.Cert, Key: e.Key, CA: e.CA,
		Username: e.Username, PasswordFile: e.PasswordFile, Timeout: e.Timeout, Lease: e.Lease,
		Cooldown: t.Cooldown,
	}
}

// readEtcd reads a table from etcd, once, and writes nothing. Its errors are those
// of the store.
func (s *session) readEtcd(ctx context.Context, t *meshvip.Table) (etcdstore.Seen, error) {
	bar := s.progress("reading keys from etcd", 0)
	defer bar.end()
	cfg := etcdConfig(t)
	cfg.Progress = bar.at
	return etcdstore.Read(ctx, cfg)
}

// unreadEtcd is the error of a table in etcd that cannot be read.
func unreadEtcd(t target, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return unopened("there is no %s, which %s names: the first server that allocates begins one, or"+
			" \"meshvipctl migrate --from FILE\" brings one there", t.place(), t.by)
	}
	return unopened("%w", err)
}

// leadersOwn is the error of a change to a table in etcd that no server was asked
// for: what the replica that allocates does not do itself would be done against it.
func leadersOwn(t target, seen etcdstore.Seen) error {
	who := "none leads now"
	if seen.Led {
		who = fmt.Sprintf("that is %s", orUnnamed(seen.Leader))
	}
	return unopened("%s is changed by the replica that leads, and by nobody else (%s): give the address of its admin interface"+
		" with --admin, which it has where the meshvip of its Corefile has the line \"admin ADDRESS\"", t.place(), who)
}

// orUnnamed returns the name of a replica.
func orUnnamed(name string) string {
	if name == "" {
		return "a replica without a name"
	}
	return name
}

// leads returns the error of asking for what only a server that allocates knows,
// where c is none.
func (c *connection) leads(what string) error {
	switch {
	case c.status.Offline && c.etcd == nil:
		return unopened("%s, and only a server knows %s: start it", c.unserved(), what)
	case c.status.Offline:
		return unopened("%s, and only the replica that leads knows %s: give the address of its admin interface with --admin", c.unserved(), what)
	case c.status.Role != admin.Follower:
		return nil
	case c.status.Leader == "":
		return unopened("the server at %s only follows, and no replica leads at present: none knows %s", c.admin, what)
	}
	return unopened("the server at %s only follows, and %s, which leads, knows %s: give the address of its admin interface with --admin",
		c.admin, c.status.Leader, what)
}

// unserved says that there is no server to ask.
func (c *connection) unserved() string {
	if c.etcd != nil {
		return c.place() + " was read from etcd, and no server was asked"
	}
	return fmt.Sprintf("no server has the store %s open", c.store)
}
