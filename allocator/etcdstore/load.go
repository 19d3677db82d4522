package etcdstore

import (
	"context"
	"errors"

	"github.com/meshvip/coredns-meshvip/allocator"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Load implements [allocator.Store]: it reads all keys as they stand at one
// revision of etcd. Where there are none it begins a table.
func (s *Store) Load(ctx context.Context) (allocator.State, error) {
	if s.closed.Load() {
		return allocator.State{}, allocator.ErrClosed
	}
	w, err := s.load(ctx, s.begun)
	if err != nil {
		return allocator.State{}, s.explain("reading", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at, s.pending, s.loaded, s.aside = w.at, nil, w.etcd, w.aside
	return w.state, nil
}

// whole is a table as it stood at one revision of etcd.
type whole struct {
	state allocator.State
	at    position
	etcd  int64
	aside aside
}

// load reads the table whose meta is what first returns.
func (s *Store) load(ctx context.Context, first func(context.Context) (metaRecord, position, *pb.ResponseHeader, error)) (whole, error) {
	for try := 0; ; try++ {
		m, at, header, err := first(ctx)
		if err != nil {
			return whole{}, err
		}
		l := newLoader(s.prefix)
		if l.state.Meta, err = allocator.MetaOf(m.Meta); err != nil {
			return whole{}, err
		}
		err = s.read(ctx, header.Revision, l.add)
		// A compaction may take the revision away that is being read.
		if errors.Is(err, rpctypes.ErrCompacted) && try < 3 {
			continue
		}
		if err != nil {
			return whole{}, err
		}
		return whole{l.end(), at, header.Revision, l.aside}, nil
	}
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
		s.done.add(len(kvs))
	}
	return err
}

// pages reads page after page while yield wants more.
func (s *Store) pages(ctx context.Context, rev int64, yield func([]*mvccpb.KeyValue) bool) error {
	end := clientv3.GetPrefixRangeEnd(s.prefix)
	size := pageSize{keys: firstPage}
	for from := s.prefix; ; {
		asking, cancel := s.bounded(ctx)
		resp, err := s.client.Get(asking, from, clientv3.WithRange(end), clientv3.WithRev(rev), clientv3.WithLimit(size.keys))
		cancel()
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil && size.shrink() {
			continue // the line is slow
		}
		if err != nil {
			return err
		}
		if len(resp.Kvs) > 0 && !yield(resp.Kvs) {
			return ctx.Err()
		}
		if !resp.More || len(resp.Kvs) == 0 {
			return nil
		}
		size.seen(resp.Kvs)
		from = string(resp.Kvs[len(resp.Kvs)-1].Key) + "\x00"
	}
}

// Pages are large: for each of them etcd counts all keys that are left. But one
// must come within the time that a request may take.
const (
	firstPage = 5_000    // keys
	leastPage = 500      // keys
	pageBytes = 16 << 20 // that a page is to have
)

// pageSize says how many keys the next page is to have.
type pageSize struct {
	keys, most int64 // most is 0 where none has taken too long
}

// seen fits the size to a page.
func (p *pageSize) seen(kvs []*mvccpb.KeyValue) {
	n := 0
	for _, kv := range kvs {
		n += len(kv.Key) + len(kv.Value)
	}
	fits := max(leastPage, int64(len(kvs))*pageBytes/int64(n))
	p.keys = min(fits, 16*p.keys)
	if p.most > 0 {
		p.keys = min(p.keys, p.most)
	}
}

// shrink makes pages smaller, which have taken too long. It reports whether they
// can be.
func (p *pageSize) shrink() bool {
	if p.keys <= leastPage {
		return false
	}
	p.keys = max(leastPage, p.keys/8)
	p.most = p.keys
	return true
}
