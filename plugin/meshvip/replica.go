package meshvip

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/etcdstore"
)

// replica is a runtime's part in a table that other processes have too: it follows
// the one that allocates, or is it.
type replica struct {
	*etcdstore.Replica
	store    *etcdstore.Store
	r        *runtime
	cooldown atomic.Int64  // of our own Corefile
	lag      atomic.Uint64 // in revisions, when etcd was asked last
}

// openReplica opens a table in etcd, and follows it. Nothing is written to it, but
// for the empty table where there was none.
func (r *runtime) openReplica() error {
	begun := time.Now()
	etcd := r.store.Etcd
	store, err := etcdstore.Open(etcdstore.Config{
		Endpoints: etcd.EndpointList(), Prefix: etcd.Prefix, Cert: etcd.Cert, Key: etcd.Key, CA: etcd.CA,
		Username: etcd.Username, PasswordFile: etcd.PasswordFile, Timeout: etcd.Timeout, Lease: etcd.Lease,
		Name: replicaName(), Cooldown: r.settings.cfg.Cooldown.Value, Logger: r.log,
	})
	if err != nil {
		return fmt.Errorf("store %v: %w", r.store, err)
	}
	cfg := r.configuration()
	cfg.Follows = true
	alloc, err := allocator.Open(r.ctx, store, cfg)
	if err != nil {
		_ = store.Close() // nothing is under way
		return fmt.Errorf("store %v: %w", r.store, err)
	}
	p := &replica{store: store, r: r}
	p.Replica = etcdstore.NewReplica(store, alloc, begun, etcdstore.Hooks{
		Leads: func(bool) { r.m.elections.Inc() },
		Lag: func(revisions uint64) {
			p.lag.Store(revisions)
			r.m.lag.Set(float64(revisions))
		},
		WatchRestarted: func() { r.m.watches.Inc() },
	})
	p.cooldown.Store(int64(r.settings.cfg.Cooldown.Value))
	r.replica.Store(p)
	if etcd.PlaintextCredentials() {
		r.log.Warn("the password for etcd crosses the network in the clear: use https endpoints", "store", r.store)
	}
	r.opened(alloc)
	return nil
}

// replicaName tells the replicas of a table apart, for people.
func replicaName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s:%d", host, os.Getpid())
}

// attend follows the replica that allocates, and allocates when it is this one,
// until the runtime is to end.
func (r *runtime) attend() {
	p := r.replica.Load()
	r.heed(r.settings.cfg)
	r.done.Go(func() { p.Run(r.ctx) })
	r.publish.all()
	r.desk.serve()
	t := time.NewTicker(statusInterval)
	defer t.Stop()
	for {
		select {
		case <-r.ctx.Done():
			return
		case s := <-r.next:
			r.readjust(s)
		case term := <-p.Terms():
			r.m.leader.Set(1)
			r.lead(term.Context())
			r.m.leader.Set(0)
			term.End()
		case <-t.C:
			p.show()
			r.show(r.alloc.Stats())
			r.desk.serve()
		}
	}
}

// readjust puts s in force where nothing is allocated.
func (r *runtime) readjust(s settings) {
	was := r.settings.cfg
	r.settings = s
	if err := r.alloc.Configure(r.configuration()); err != nil {
		// The layout was checked when the Corefile was read.
		r.log.Error("the new configuration of the table is not used", "error", err)
	}
	r.publish.move(s.cfg.Publish.Value)
	r.heed(s.cfg)
	if was.adminAddress() != s.cfg.adminAddress() {
		r.desk.serve()
	}
}

// heed lets the replica know what the Corefile says.
func (r *runtime) heed(cfg RuntimeConfig) {
	p := r.replica.Load()
	if p == nil {
		return
	}
	p.cooldown.Store(int64(cfg.Cooldown.Value))
	p.store.SetCooldown(cfg.Cooldown.Value)
	p.Stand(len(cfg.Sources) > 0)
	if cfg.Store.Value != r.store {
		r.log.Warn("how etcd is talked to has changed in the Corefile: that takes effect when CoreDNS is started anew", "store", r.store)
	}
}

// onTheirWay is how much earlier than it was seen a release may be dated: see
// slow in package allocator.
const onTheirWay = 100 * time.Millisecond

// stale reports whether answers that are cached for ttl may be wrong by the end of
// that: an address that was released just after etcd was asked last may be
// somebody else's after a cooldown.
func (p *replica) stale(ttl time.Duration) bool {
	cooldown := time.Duration(p.cooldown.Load())
	if c := p.Cooldown(); c > 0 {
		cooldown = min(cooldown, c)
	}
	return p.Age() > cooldown-ttl-onTheirWay
}

// conflicted lets the table be read again after a commit that was refused.
func (p *replica) conflicted(err error) {
	p.r.m.refusals.Inc()
	p.r.log.Warn("a commit was refused: the table is read again", "store", p.r.store, "error", err)
	p.Doubt()
}

// show brings what changes by itself into the metrics.
func (p *replica) show() { p.r.m.contact.Set(p.Age().Seconds()) }
