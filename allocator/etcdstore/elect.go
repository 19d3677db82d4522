package etcdstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

// leaderPrefix is below what candidates have their keys.
const leaderPrefix = "leader/elected"

// seat is a won election.
type seat struct {
	key string // the leader's key
	rev int64  // its CreateRevision
	// lost is closed when the lease is gone, or given up: no write of this seat
	// goes through any more, or should.
	lost chan struct{}
	// resigned is closed by the keeper, when it gives the seat up.
	resigned chan struct{}
	// left is closed by the keeper, when nothing is done under the seat any more.
	left chan struct{}
}

// fence returns what the writes of a term are held against. Each has an id of
// its own, for one seat may have several: see [Replica].
func (s *seat) fence() *fence { return &fence{key: s.key, rev: s.rev, term: rand.Text()} }

// given reports whether the keeper has given the seat up.
func (s *seat) given() bool { return closed(s.resigned) }

// gone reports whether the seat is lost.
func (s *seat) gone() bool { return closed(s.lost) }

// closed reports whether a channel that nobody sends to is closed.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// elect stands for election whenever the replica is a candidate, until ctx is
// done.
func (r *Replica) elect(ctx context.Context) {
	told := ""
	for ctx.Err() == nil {
		changed := r.candidate.changed()
		if !r.candidate.is() {
			select {
			case <-ctx.Done():
			case <-changed:
			}
			continue
		}
		err := r.stand(ctx)
		if err == nil {
			told = ""
			continue
		}
		if ctx.Err() == nil && err.Error() != told {
			told = err.Error()
			r.log.Warn("this replica cannot stand for election; trying again", "error", err)
		}
		wait(ctx, time.Second)
	}
}

// stand stands for one election, and holds the seat for as long as it can.
func (r *Replica) stand(ctx context.Context) error {
	asking, cancel := context.WithTimeout(ctx, r.store.cfg.Timeout)
	lease, err := r.store.client.Grant(asking, int64(r.store.cfg.Lease/time.Second))
	cancel()
	if err != nil {
		return r.store.explain("asking for a lease of", err)
	}
	// The session outlives ctx until the term has ended: see below.
	holding, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	campaigning, stop := context.WithCancel(ctx)
	defer stop()
	session, err := concurrency.NewSession(r.clientOf(campaigning), concurrency.WithLease(lease.ID), concurrency.WithContext(holding),
		concurrency.WithTTL(int(r.store.cfg.Lease/time.Second)))
	if err != nil {
		return fmt.Errorf("keeping the lease of an election: %w", err)
	}
	defer r.revoke(session)
	go r.campaign(campaigning, session, stop)
	election := concurrency.NewElection(session, r.store.prefix+leaderPrefix)
	if err := election.Campaign(campaigning, r.store.cfg.Name); err != nil {
		if ctx.Err() != nil || campaigning.Err() != nil {
			return nil // it is done with, or the lease has run out: another is asked for
		}
		return r.store.explain("standing for election in", err)
	}
	s := &seat{key: election.Key(), rev: election.Rev(), lost: make(chan struct{}), resigned: make(chan struct{}), left: make(chan struct{})}
	select {
	case r.seats <- s:
	case <-ctx.Done():
		return nil
	case <-session.Done():
		return errors.New("the lease ended with the election")
	}
	select {
	case <-campaigning.Done():
		if closed(session.Done()) {
			r.log.Warn("the lease has ended: this replica allocates no more", "replica", r.store.cfg.Name)
		}
	case <-s.resigned:
	}
	r.store.setFence(nil)
	close(s.lost)
	// The lease is given back after the last write under it.
	<-s.left
	return nil
}

// clientOf returns a client for a campaign: one that ends takes its key back under
// the client's own context, and would wait for ever for an etcd that is away.
func (r *Replica) clientOf(ctx context.Context) *clientv3.Client {
	c := clientv3.NewCtxClient(ctx)
	c.KV, c.Lease, c.Watcher = r.store.client.KV, r.store.client.Lease, r.store.client.Watcher
	return c
}

// campaign calls stop when the lease has ended, or when the replica stands no
// more; it ends with ctx.
func (r *Replica) campaign(ctx context.Context, session *concurrency.Session, stop func()) {
	defer stop()
	for {
		changed := r.candidate.changed()
		if !r.candidate.is() {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-session.Done():
			return
		case <-changed:
		}
	}
}

// revoke ends a session, so that others are elected at once. Where etcd is not
// there, the lease runs out.
func (r *Replica) revoke(session *concurrency.Session) {
	if closed(session.Done()) {
		return
	}
	session.Orphan()
	ctx, cancel := context.WithTimeout(context.Background(), min(r.store.cfg.Timeout, time.Second))
	defer cancel()
	if _, err := r.store.client.Revoke(ctx, session.Lease()); err != nil {
		r.log.Warn("the lease could not be given back; another replica is elected when it has run out", "error", err)
	}
}

// wait waits for d, or until ctx is done.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
