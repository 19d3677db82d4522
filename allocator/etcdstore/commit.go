package etcdstore

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/meshvip/coredns-meshvip/allocator"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Commit implements [allocator.Store]: one transaction of etcd, which is held
// against the fence, the table's meta and each address. Only the leader may.
//
// It goes on when ctx is done, for as long as a request may take, so that what
// has been sent is known.
func (s *Store) Commit(ctx context.Context, d allocator.Delta) error {
	switch f := s.fence.Load(); {
	case s.closed.Load():
		return allocator.ErrClosed
	case ctx.Err() != nil:
		return ctx.Err()
	case f == nil:
		return fmt.Errorf("writing store %v: %w", s.cfg, allocator.ErrFollows)
	default:
		return s.explain("writing", s.commit(context.WithoutCancel(ctx), d, f))
	}
}

func (s *Store) commit(ctx context.Context, d allocator.Delta, f *fence) error {
	if keys, size := d.Cost(); keys > maxKeys || size > maxBytes {
		return fmt.Errorf("a delta of %d keys and %d bytes is more than a transaction takes: %d keys and %d bytes", keys, size, maxKeys, maxBytes)
	}
	at := s.position()
	if at.meta == nil {
		if _, err := s.Revision(ctx); err != nil {
			return err
		}
		at = s.position()
	}
	if at.rev != d.Base {
		return fmt.Errorf("revision %d, want %d: %w", at.rev, d.Base, allocator.ErrConflict)
	}
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	held, err := s.held(ctx, d.Addrs)
	if err != nil {
		return err
	}
	t, err := s.begin(d, f, at, held)
	if err != nil {
		return err
	}
	resp, err := s.client.Txn(ctx).If(t.ifs...).Then(t.ops...).Else(t.elses...).Commit()
	if err != nil {
		return err // it may be there: Revision tells
	}
	modRev := resp.Header.Revision
	if !resp.Succeeded {
		modRev, err = t.refused(resp)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = nil
	if err != nil {
		return err
	}
	s.at = t.then
	s.at.modRev = modRev
	s.aside.settle(d, t.wrote)
	return nil
}

// begin makes the transaction of a delta, of which it is not known from now on
// whether it is there.
func (s *Store) begin(d allocator.Delta, f *fence, at position, held map[netip.Addr]int64) (*transaction, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.transaction(d, f, at, held)
	if err == nil {
		s.pending = t
	}
	return t, err
}

// held reads the address keys that change hands, and returns when they were
// written. It refuses holdings that are not what the delta was planned on.
func (s *Store) held(ctx context.Context, changes []allocator.AddrChange) (map[netip.Addr]int64, error) {
	var gets []clientv3.Op
	var had []allocator.AddrChange
	for _, c := range changes {
		if c.Old != nil {
			gets, had = append(gets, clientv3.OpGet(s.prefix+addressKey(c.Addr))), append(had, c)
		}
	}
	if len(gets) == 0 {
		return nil, nil
	}
	resp, err := s.ask(ctx, gets...)
	if err != nil {
		return nil, err
	}
	held := make(map[netip.Addr]int64, len(had))
	in := make(texts)
	for i, c := range had {
		kv := one(resp.Responses[i])
		if kv == nil {
			return nil, fmt.Errorf("address %v: nobody has it, or had: %w", c.Addr, allocator.ErrConflict)
		}
		h, err := decodeHolding(kv.Value, in)
		if err != nil {
			return nil, fmt.Errorf("address %v: %w: %w", c.Addr, err, allocator.ErrConflict)
		}
		if h.Since = c.Old.Since; h != *c.Old {
			return nil, fmt.Errorf("address %v: %v has it, or had: %w", c.Addr, h.Owner, allocator.ErrConflict)
		}
		held[c.Addr] = kv.ModRevision
	}
	return held, nil
}
