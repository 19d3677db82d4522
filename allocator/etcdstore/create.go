package etcdstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/record"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"
)

// makers is how many transactions Create has under way at once: etcd syncs them
// to disk together.
const makers = 8

// Create makes a store of cfg that holds state, whole or not at all: until all
// its keys are there nobody reads it, and a Create that was cut short is begun
// anew by the next. An ID is made where the state has none.
//
// It returns an error that wraps [fs.ErrExist] where there is a table, unless
// nothing was ever written to that; [allocator.ErrLocked] where a replica stands
// for election, or was elected. A state that is not sound, or that has records
// set aside, is refused.
func Create(ctx context.Context, cfg Config, state allocator.State) error {
	if n := len(state.Damaged); n > 0 {
		return fmt.Errorf("making store %v: %d records of the state were set aside, and cannot be written", cfg, n)
	}
	if err := allocator.Check(state); err != nil {
		return fmt.Errorf("making store %v: the state is not sound: %w", cfg, err)
	}
	s, err := Open(cfg)
	if err != nil {
		return err
	}
	defer s.Close()
	return s.explain("making", s.create(ctx, state))
}

func (s *Store) create(ctx context.Context, state allocator.State) error {
	marker := encode(importRecord{rand.Text()})
	if err := s.mark(ctx, marker); err != nil {
		return err
	}
	writing, wctx := errgroup.WithContext(ctx)
	writing.SetLimit(makers)
	c := chunks{prefix: s.prefix, write: func(ops []clientv3.Op) bool {
		writing.Go(func() error {
			err := s.write(wctx, marker, ops)
			s.done.add(len(ops))
			return err
		})
		return wctx.Err() == nil
	}}
	c.state(state)
	if err := writing.Wait(); err != nil {
		return err
	}
	meta := state.Meta
	if meta.ID == "" {
		meta.ID = rand.Text()
	}
	m := metaRecord{Meta: allocator.MetaRecord(meta), Cooldown: s.cfg.Cooldown, Commit: rand.Text()}
	m.Serial = 0
	ops := []clientv3.Op{
		clientv3.OpPut(s.prefix+keyFormat, encode(formatRecord{formatVersion})),
		clientv3.OpPut(s.prefix+keyMeta, encode(m)), clientv3.OpDelete(s.prefix + keyImport),
	}
	if meta.Serial != 0 {
		ops = append(ops, clientv3.OpPut(s.prefix+keySerial, encode(serialRecord{meta.Serial})))
	}
	err := s.write(ctx, marker, ops)
	if err != nil {
		// It may be there all the same.
		if now, _, _, lookErr := s.readMeta(ctx); lookErr == nil && now.Commit == m.Commit {
			return nil
		}
	}
	return err
}

// write writes keys while the import is the one of marker.
func (s *Store) write(ctx context.Context, marker string, ops []clientv3.Op) error {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	resp, err := s.client.Txn(ctx).If(clientv3.Compare(clientv3.Value(s.prefix+keyImport), "=", marker)).Then(ops...).Commit()
	if err == nil && !resp.Succeeded {
		err = errors.New("another import has begun meanwhile")
	}
	return err
}

// mark begins an import: it deletes what one that was cut short has left, and
// keeps readers away.
func (s *Store) mark(ctx context.Context, marker string) error {
	key := func(name string) string { return s.prefix + name }
	afterLeader, end := clientv3.GetPrefixRangeEnd(key(keyLeader)), clientv3.GetPrefixRangeEnd(s.prefix)
	got, err := s.ask(ctx,
		clientv3.OpGet(key(keyFormat)), clientv3.OpGet(key(keyImport)), clientv3.OpGet(key(keyMeta)), clientv3.OpGet(key(keySerial)),
		clientv3.OpGet(key(keyLeader), clientv3.WithPrefix(), clientv3.WithLimit(1)),
		clientv3.OpGet(s.prefix, clientv3.WithRange(key(keyFormat)), clientv3.WithLimit(1), clientv3.WithKeysOnly()),
		clientv3.OpGet(afterLeader, clientv3.WithRange(end), clientv3.WithLimit(1), clientv3.WithKeysOnly()))
	if err != nil {
		return err
	}
	kvs := make([]*mvccpb.KeyValue, len(got.Responses))
	for i, r := range got.Responses {
		kvs[i] = one(r)
	}
	format, was, meta, serial, leader := kvs[0], kvs[1], kvs[2], kvs[3], kvs[4]
	if leader != nil {
		return fmt.Errorf("%w: replica %q stands for election or was elected: stop all replicas that allocate", allocator.ErrLocked, leader.Value)
	}
	if was == nil {
		_, p, err := openMeta(format, nil, meta, serial)
		switch stray := cmp.Or(kvs[5], kvs[6]); {
		case err == nil && p.rev > 0:
			return fmt.Errorf("%w: it is at revision %d; move to another prefix, or delete all keys of this one", fs.ErrExist, p.rev)
		case err == nil:
		case !errors.Is(err, errNone):
			return err
		case stray != nil:
			return fmt.Errorf("%w: there are keys of that prefix, such as %q; move to another prefix, or delete them", fs.ErrExist, stray.Key)
		}
	}
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	resp, err := s.client.Txn(ctx).If(
		unchanged(key(keyImport), was), unchanged(key(keyMeta), meta),
		clientv3.Compare(clientv3.CreateRevision(key(keyLeader)), "=", 0).WithPrefix(),
	).Then(
		clientv3.OpDelete(s.prefix, clientv3.WithRange(key(keyImport))),
		clientv3.OpPut(key(keyImport), marker),
		clientv3.OpDelete(key(keyImport)+"\x00", clientv3.WithRange(key(keyLeader))),
		clientv3.OpDelete(afterLeader, clientv3.WithRange(end)),
	).Commit()
	if err == nil && !resp.Succeeded {
		err = fmt.Errorf("%w: somebody else has begun at the same time", allocator.ErrLocked)
	}
	return err
}

// unchanged compares a key with what it was; nil: not there.
func unchanged(key string, was *mvccpb.KeyValue) clientv3.Cmp {
	if was == nil {
		return absent(key)
	}
	return clientv3.Compare(clientv3.ModRevision(key), "=", was.ModRevision)
}

// chunks writes keys, as many at once as a transaction takes.
type chunks struct {
	prefix string
	// write takes ops over, and reports whether it wants more.
	write   func(ops []clientv3.Op) bool
	ops     []clientv3.Op
	bytes   int
	stopped bool
}

func (c *chunks) put(key string, rec any) {
	if c.stopped {
		return
	}
	value := encode(rec)
	size := len(c.prefix) + len(key) + len(value)
	if len(c.ops) == maxKeys || c.bytes+size > maxBytes && len(c.ops) > 0 {
		c.flush()
	}
	c.ops, c.bytes = append(c.ops, clientv3.OpPut(c.prefix+key, value)), c.bytes+size
}

func (c *chunks) flush() {
	if len(c.ops) > 0 {
		c.stopped = !c.write(c.ops)
		c.ops, c.bytes = nil, 0
	}
}

// state writes all but the keys that stand before a table.
func (c *chunks) state(s allocator.State) {
	for _, h := range s.Addrs {
		c.put(addressKey(h.Addr), allocator.HoldingRecord(h.Holding))
	}
	for _, m := range s.Meshes {
		c.put(meshKey(m), meshRecord{record.Text(m)})
	}
	for _, r := range s.Rows {
		c.put(entryKey(r.Key()), entryRecord{r.V4, r.V6})
		for _, l := range r.Listings {
			c.put(listingKey(l.Mesh, r.Key()), record.ListingOf(l))
		}
	}
	c.flush()
}
