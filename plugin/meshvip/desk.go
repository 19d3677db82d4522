package meshvip

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/coredns/caddy"
	"github.com/meshvip/coredns-meshvip/admin"
	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher"
)

// desk is a runtime's admin interface: where an operator asks and decides. It
// belongs to the goroutine of run.
type desk struct {
	r       *runtime
	address string // where it serves, or is to; empty: nowhere
	server  *admin.Server
	done    sync.WaitGroup
	told    string // the error that was logged last
}

// serve lets the interface be where the Corefile has it. One that cannot be there
// is tried again: DNS does not depend on it.
func (d *desk) serve() {
	address := d.r.settings.cfg.adminAddress()
	if address != d.address {
		d.close()
		d.address, d.told = address, ""
		if address == "" {
			d.r.changes.Load().Close()
			d.r.changes.Store(nil)
		}
	}
	if address == "" || d.server != nil {
		return
	}
	if d.r.changes.Load() == nil {
		changes := admin.NewRecorder()
		d.r.changes.Store(changes)
		changes.Begin(d.r.alloc.Stats().Meta)
	}
	l, err := admin.Listen(address)
	if err != nil {
		if err.Error() != d.told {
			d.told = err.Error()
			d.r.log.Error("there is no admin interface; trying again", "error", err)
		}
		return
	}
	d.told = ""
	if !reachedFromHereOnly(l.Addr()) {
		d.r.log.Warn("the admin interface can be reached from other machines, and asks nobody who they are: use a unix socket or a loopback address",
			"admin", address)
	}
	d.r.log.Info("admin interface", "admin", address)
	d.server = admin.NewServer(d.r.steered(admin.Handler(d.r.table())), d.r.log)
	server := d.server
	d.done.Go(func() {
		if err := server.Serve(l); err != nil {
			d.r.log.Error("the admin interface has ended", "admin", address, "error", err)
		}
	})
}

// steered returns h, and lets the log and the metrics tell of what an operator
// has done by it.
func (r *runtime) steered(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		h.ServeHTTP(w, req)
		if req.Method == http.MethodPost {
			r.changed()
		}
	})
}

// reachedFromHereOnly reports whether an address is one of this machine alone.
func reachedFromHereOnly(addr net.Addr) bool {
	if addr.Network() == "unix" {
		return true
	}
	at, err := netip.ParseAddrPort(addr.String())
	return err == nil && at.Addr().Unmap().IsLoopback()
}

// close ends the interface, and waits until nothing of it runs any more.
func (d *desk) close() {
	if d.server == nil {
		return
	}
	if err := d.server.Close(); err != nil {
		d.r.log.Warn("closing the admin interface", "admin", d.address, "error", err)
	}
	d.server = nil
	d.done.Wait()
}

// table returns what the interface shows of r.
func (r *runtime) table() *admin.Table {
	return &admin.Table{
		Alloc: r.alloc, Index: r.index, ZonesNow: func() []string { return *r.zones.Load() },
		Sources: func() []admin.Source {
			if f := r.following.Load(); f != nil {
				return f.report()
			}
			return nil // the replica that allocates follows them
		},
		Resources: func(key vip.Key) []admin.Resource {
			if f := r.following.Load(); f != nil {
				return resources(f.union.Claimants(key))
			}
			return nil
		},
		Changes: r.changes.Load(), Started: begun, Version: caddy.AppVersion, Store: r.store.String(),
		Replication: r.replication,
	}
}

// replication returns our part in a table that other processes have too.
func (r *runtime) replication() *admin.Replication {
	p := r.replica.Load()
	if p == nil {
		return nil
	}
	part := &admin.Replication{Leads: r.leads.Load(), Leader: p.Leader(), Lag: p.lag.Load(), Age: p.Age()}
	switch own := replicaName(); {
	case part.Leads: // etcd was asked a while ago
		part.Leader = own
	case part.Leader == own:
		part.Leader = "" // it has yet to begin, or is no more
	}
	return part
}

// begun is when the process did.
var begun = time.Now()

// report tells how each source fares, the tables that are followed, and what is
// wrong with what all say together.
func (f *follower) report() []admin.Source {
	var all []admin.Source
	add := func(name string, s watcher.Status) {
		shown := admin.Source{Name: name, Synced: s.Synced, LastSync: s.LastSync, Errors: s.Errors, Problems: []admin.Problem{}}
		for _, p := range s.Problems {
			shown.Problems = append(shown.Problems, admin.Problem{Place: p.Place, What: p.What})
		}
		all = append(all, shown)
	}
	for i, source := range f.sources {
		add(f.names[i], source.Status())
	}
	for _, t := range f.tables {
		add("follow "+t.path, *t.status.Load())
	}
	if s := f.union.Status(); len(s.Problems) > 0 {
		s.LastSync = f.status().LastSync
		add("all sources together", s)
	}
	return all
}

// resources returns claimants as the interface shows them.
func resources(claimants []watcher.Claimant) []admin.Resource {
	shown := make([]admin.Resource, len(claimants))
	for i, c := range claimants {
		shown[i] = admin.Resource{
			Mesh: c.Mesh, Type: c.Type, ResourceMesh: c.ID.Mesh, Name: c.Name,
			Place: strings.ToValidUTF8(c.Place, "�"),
		}
	}
	return shown
}
