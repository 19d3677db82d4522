package etcdstore

import (
	"context"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// claimsPrefix is below what replicas say that etcd has lost something.
const claimsPrefix = "leader/claims/"

// claim is the word of a replica that it has answered what the table in etcd
// lacks. It is gone when the replica does not repeat it.
type claim struct {
	ID       string `json:"id"`      // of the replica in its process
	Replica  string `json:"replica"` // its name, for people
	Revision uint64 `json:"revision"`
}

// has reports whether what etcd has contains the state of p.
func (c *contact) has(p position) bool {
	return !c.none && c.meta.descends(p)
}

// settled reports whether the table has been brought, since p, to what some
// replica remembers. That one may have known less than another: then the rest is
// lost, and not to be answered for longer.
func (c *contact) settled(p position) bool {
	return !c.none && !c.meta.Reconciling && c.meta.Reconciled > p.reconciled
}

// lacks reports whether the table in etcd lacks what a replica at p has answered,
// and nobody has settled that since.
func (c *contact) lacks(p position) bool { return p.rev > 0 && !c.has(p) && !c.settled(p) }

// claim says what etcd lacks, and stands for election to bring it back, or takes
// that back.
func (r *Replica) claim(ctx context.Context, c contact) error {
	lacking := c.lacks(c.before)
	r.candidate.claim(lacking)
	if !lacking {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.store.cfg.Timeout)
	defer cancel()
	lease, err := r.store.client.Grant(ctx, int64(r.store.cfg.Lease/time.Second))
	if err != nil {
		return err
	}
	value := encode(claim{ID: r.id, Replica: r.store.cfg.Name, Revision: c.before.rev})
	_, err = r.store.client.Put(ctx, r.store.prefix+claimsPrefix+r.id, value, clientv3.WithLease(lease.ID))
	return err
}

// claimed reads claims; what is none counts for nothing.
func claimed(kvs []*mvccpb.KeyValue) (claims []claim) {
	for _, kv := range kvs {
		var c claim
		if decode(kv.Value, &c) == nil {
			claims = append(claims, c)
		}
	}
	return claims
}

// better returns the claim of another replica that knows more than one at
// revision rev, or nil. Of one that has lost nothing, each knows more.
func (c *contact) better(id string, own position) *claim {
	for i := range c.claims {
		o := &c.claims[i]
		if o.ID != id && (o.Revision > own.rev || !c.lacks(own)) {
			return o
		}
	}
	return nil
}

// settle takes all claims back: what they were about is settled.
func (s *Store) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	_, err := s.client.Delete(ctx, s.prefix+claimsPrefix, clientv3.WithPrefix())
	return s.explain("writing", err)
}
