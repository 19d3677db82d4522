package etcdstore

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/meshvip/coredns-meshvip/allocator"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// conclude says that the table has been brought to what this replica remembers
// from when it was at was, and that all may read it.
func (s *Store) conclude(ctx context.Context, was position) error {
	f, at := s.fence.Load(), s.position()
	if f == nil {
		return fmt.Errorf("writing store %v: %w", s.cfg, allocator.ErrFollows)
	}
	m, _, err := decodeMeta(at.meta, at.modRev)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	serial, err := s.client.Get(ctx, s.prefix+keySerial)
	if err != nil {
		return s.explain("reading", err)
	}
	if len(serial.Kvs) == 0 {
		return s.explain("reading", fmt.Errorf("%w: key %s is missing", allocator.ErrDamaged, keySerial))
	}
	m.Reconciled = max(m.Reconciled, was.reconciled) + 1
	m.Reconciling, m.Commit, m.After = false, rand.Text(), m.Commit
	value := encode(m)
	resp, err := s.client.Txn(ctx).If(
		clientv3.Compare(clientv3.CreateRevision(f.key), "=", f.rev),
		clientv3.Compare(clientv3.Value(s.prefix+keyMeta), "=", string(at.meta)),
	).Then(
		clientv3.OpPut(s.prefix+keyMeta, value),
		clientv3.OpPut(s.prefix+keySerial, string(serial.Kvs[0].Value)),
	).Commit()
	switch {
	case err != nil:
		return s.explain("writing", err)
	case !resp.Succeeded:
		return s.explain("writing", fmt.Errorf("somebody else has written: %w", allocator.ErrConflict))
	}
	_, now, err := decodeMeta([]byte(value), resp.Header.Revision)
	if err != nil {
		return err
	}
	s.adopted(now)
	return nil
}
