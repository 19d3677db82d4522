package etcdstore

import (
	"context"
	"errors"

	"github.com/meshvip/coredns-meshvip/allocator"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// pageKeys is how many keys are read at once.
const pageKeys = 4096

// Load implements [allocator.Store]: it reads all keys as they stand at one
// revision of etcd. Where there are none it begins a table.
func (s *Store) Load(ctx context.Context) (allocator.State, error) {
	if s.closed.Load() {
		return allocator.State{}, allocator.ErrClosed
	}
	for try := 0; ; try++ {
		state, err := s.load(ctx)
		// A compaction may take the revision away that is being read.
		if errors.Is(err, rpctypes.ErrCompacted) && try < 3 {
			continue
		}
		return state, s.explain("reading", err)
	}
}

func (s *Store) load(ctx context.Context) (allocator.State, error) {
	m, at, header, err := s.begun(ctx)
	if err != nil {
		return allocator.State{}, err
	}
	l := newLoader(s.prefix)
	if l.state.Meta, err = allocator.MetaOf(m.Meta); err != nil {
		return allocator.State{}, err
	}
	if err := s.read(ctx, header.Revision, l.add); err != nil {
		return allocator.State{}, err
	}
	state := l.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at, s.pending, s.loaded, s.aside = at, nil, header.Revision, l.aside
	return state, nil
}

// read hands every key of the prefix at one revision of etcd to add, in their
// order. The next page is on its way while one is looked at.
func (s *Store) read(ctx context.Context, rev int64, add func(*mvccpb.KeyValue)) error {
	ctx, cancel := context.WithCancel(ctx)
	pages := make(chan []*mvccpb.KeyValue, 1)
	var err error // once pages is closed
	go func() {
		defer close(pages)
		err = s.pages(ctx, rev, func(kvs []*mvccpb.KeyValue) bool {
			select {
			case pages <- kvs:
				return true
			case <-ctx.Done():
				return false
			}
		})
	}()
	defer func() {
		cancel()
		for range pages { // until it is closed
		}
	}()
	for kvs := range pages {
		for _, kv := range kvs {
			add(kv)
		}
	}
	return err
}

// pages reads page after page while yield wants more.
func (s *Store) pages(ctx context.Context, rev int64, yield func([]*mvccpb.KeyValue) bool) error {
	end := clientv3.GetPrefixRangeEnd(s.prefix)
	for from := s.prefix; ; {
		asking, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
		resp, err := s.client.Get(asking, from, clientv3.WithRange(end), clientv3.WithRev(rev), clientv3.WithLimit(pageKeys))
		cancel()
		if err != nil {
			return err
		}
		if len(resp.Kvs) > 0 && !yield(resp.Kvs) {
			return ctx.Err()
		}
		if !resp.More || len(resp.Kvs) == 0 {
			return nil
		}
		from = string(resp.Kvs[len(resp.Kvs)-1].Key) + "\x00"
	}
}
