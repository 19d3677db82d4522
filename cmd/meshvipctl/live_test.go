package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"

	"github.com/meshvip/coredns-meshvip/admin"
	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/boltstore"
	"github.com/meshvip/coredns-meshvip/names"
	"github.com/rogpeppe/go-internal/testscript"
)

// tableCmds are the commands by which scripts make tables.
var tableCmds = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"store": storeCmd,
	"serve": serveCmd,
	"feed":  feedCmd,
	"halt":  haltCmd,
}

// liveKey is where a script keeps its servers.
type liveKey struct{}

// live is a table that a script serves, or fills.
type live struct {
	spec  *spec
	alloc *allocator.Allocator
	index *names.Index
	// changes remembers commits for those who watch.
	changes *admin.Recorder
	http    *http.Server
}

// liveOf returns the servers of a script, by their store.
func liveOf(ts *testscript.TestScript) map[string]*live {
	return ts.Value(liveKey{}).(map[string]*live)
}

// open opens the store at path and plays a spec.
func open(path, text string) (*live, error) {
	l := &live{spec: newSpec(), index: names.NewIndex(), changes: admin.NewRecorder()}
	l.index.SetZones([]string{"mesh."})
	l.spec.cfg.OnCommit = l.committed
	return l, l.spec.play(text, func(need bool) (*allocator.Allocator, error) {
		if l.alloc != nil || !need {
			return l.alloc, nil
		}
		return l.alloc, l.load(path)
	})
}

func (l *live) load(path string) error {
	store, _, err := boltstore.Open(path, boltstore.Options{NoSync: true})
	if err != nil {
		return err
	}
	if l.alloc, err = allocator.Open(context.Background(), store, l.spec.cfg); err != nil {
		return errors.Join(err, store.Close())
	}
	l.index.Fill(l.alloc.Snapshot())
	l.changes.Begin(l.alloc.Stats().Meta)
	return nil
}

func (l *live) committed(c allocator.Commit) {
	changes := make([]names.Change, len(c.Rows))
	for i, row := range c.Rows {
		changes[i] = names.Change{Old: row.Old, New: row.New}
	}
	l.index.Apply(changes)
	l.changes.Record(c)
}

func (l *live) close() error {
	var err error
	l.changes.Close()
	if l.http != nil {
		err = l.http.Close()
	}
	if l.alloc != nil {
		err = errors.Join(err, l.alloc.Close())
		l.alloc = nil
	}
	return err
}

// storeCmd is "store PATH SPEC": a store file with a table.
func storeCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: store PATH SPEC")
	}
	l, err := open(ts.MkAbs(args[0]), ts.ReadFile(args[1]))
	ts.Check(errors.Join(err, l.close()))
}

// serveCmd is "serve PATH SPEC [ADDRESS]": a server whose table is in a store, with
// an admin interface at the socket beside it or at an address; "none" is none.
// $ADDRESS is where it listens.
func serveCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: serve PATH SPEC [ADDRESS]")
	}
	path := ts.MkAbs(args[0])
	l, err := open(path, ts.ReadFile(args[1]))
	ts.Check(err)
	ts.Defer(func() { l.close() })
	liveOf(ts)[args[0]] = l
	address := socketOf(path)
	if len(args) == 3 {
		address = args[2]
	}
	if address != "none" {
		at, err := l.serve(address, path)
		ts.Check(err)
		ts.Setenv("ADDRESS", at)
	}
}

func (l *live) serve(address, path string) (at string, err error) {
	return l.listen(address, admin.Handler(&admin.Table{
		Alloc: l.alloc, Index: l.index, Zones: []string{"mesh."}, Changes: l.changes, Started: specTime, Version: "v1.2.3", Store: "bolt " + path,
	}))
}

// listen serves h at an address.
func (l *live) listen(address string, h http.Handler) (at string, err error) {
	network := "tcp"
	socket, unix := strings.CutPrefix(address, "unix:")
	if unix {
		network, address = "unix", socket
	}
	listener, err := net.Listen(network, address)
	if err != nil {
		return "", err
	}
	l.http = &http.Server{Handler: h}
	go l.http.Serve(listener)
	return listener.Addr().String(), nil
}

// feedCmd is "feed PATH SPEC": more lines for the table of a server.
func feedCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: feed PATH SPEC")
	}
	l := liveOf(ts)[args[0]]
	if l == nil {
		ts.Fatalf("no server has the store %s", args[0])
	}
	ts.Check(l.spec.play(ts.ReadFile(args[1]), func(bool) (*allocator.Allocator, error) { return l.alloc, nil }))
}

// haltCmd is "halt PATH": the server ends.
func haltCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: halt PATH")
	}
	l := liveOf(ts)[args[0]]
	if l == nil {
		ts.Fatalf("no server has the store %s", args[0])
	}
	ts.Check(l.close())
}
