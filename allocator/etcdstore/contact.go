package etcdstore

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// askEvery is the pause between two looks at what etcd has.
const askEvery = time.Second

// contact is what etcd answered to a linearizable read: it is as new as when the
// read was sent, at least.
type contact struct {
	sent   time.Duration // of now
	before position      // the table's when it was sent
	meta   metaRecord
	now    position
	// revision is etcd's own.
	revision int64
	// none: there is no table.
	none bool
	// leader is the CreateRevision of the key of who is elected, 0 where nobody is.
	leader int64
	claims []claim
}

// poll asks etcd what it has, again and again, until ctx is done.
func (r *Replica) poll(ctx context.Context) {
	t := time.NewTicker(min(askEvery, r.store.cfg.Lease/2))
	defer t.Stop()
	silent := false
	for {
		c, err := r.ask(ctx)
		silent = r.tellSilence(ctx, silent, err)
		if err == nil {
			select {
			case r.contacts <- c:
			case <-ctx.Done():
			}
			if err := r.claim(ctx, c); err != nil && ctx.Err() == nil {
				r.log.Debug("etcd cannot be told what it lacks", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// tellSilence logs once that etcd does not answer, and once that it does again.
func (r *Replica) tellSilence(ctx context.Context, silent bool, err error) bool {
	switch {
	case ctx.Err() != nil:
		return silent
	case err == nil && silent:
		r.log.Info("etcd answers again")
	case err != nil && !silent:
		r.log.Warn("etcd does not answer: what this replica knows is answered until addresses may have changed hands, and nothing new is seen",
			"error", r.store.explain("asking", err))
	}
	return err != nil
}

// ask reads the table's meta, who leads, and who has claims.
func (r *Replica) ask(ctx context.Context) (contact, error) {
	ctx, cancel := context.WithTimeout(ctx, r.store.cfg.Timeout)
	defer cancel()
	c := contact{sent: now(), before: r.store.position()}
	var err error
	if c.meta, c.now, c.revision, c.none, err = r.store.look(ctx); err != nil {
		return contact{}, err
	}
	if !c.none {
		r.cooldown.Store(int64(c.meta.Cooldown))
	}
	resp, err := r.store.client.Txn(ctx).Then(
		clientv3.OpGet(r.store.prefix+leaderPrefix+"/", clientv3.WithFirstCreate()...),
		clientv3.OpGet(r.store.prefix+claimsPrefix, clientv3.WithPrefix()),
	).Commit()
	if err != nil {
		return contact{}, err
	}
	name := ""
	if first := one(resp.Responses[0]); first != nil {
		name, c.leader = string(first.Value), first.CreateRevision
	}
	c.claims = claimed(resp.Responses[1].GetResponseRange().GetKvs())
	r.leader.Store(&name)
	return c, nil
}
