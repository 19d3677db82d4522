package etcdstore

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// errReconciling: what is there is not the whole.
var errReconciling = errors.New("it had gone back, and a replica is bringing it up to date: try again in a moment")

// Seen is what Read finds.
type Seen struct {
	State allocator.State
	// Leader is the name of the replica that allocates; Led is false where none
	// does.
	Leader string
	Led    bool
	// Cooldown is that of the replica which has written last; 0 where none has.
	Cooldown time.Duration
}

// Read reads the table of cfg once. It writes nothing: where there is no table
// the error wraps [fs.ErrNotExist], and where one is being made [ErrImport]. Who
// leads is seen all the same.
func Read(ctx context.Context, cfg Config) (Seen, error) {
	s, err := Open(cfg)
	if err != nil {
		return Seen{}, err
	}
	defer s.Close()
	var seen Seen
	asking, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	seen.Leader, seen.Led, err = s.leader(asking)
	cancel()
	if err != nil {
		return seen, s.explain("reading", err)
	}
	w, err := s.load(ctx, func(ctx context.Context) (metaRecord, position, *pb.ResponseHeader, error) {
		m, p, header, err := s.readMeta(ctx)
		seen.Cooldown = m.Cooldown
		if err == nil && m.Reconciling {
			err = errReconciling
		}
		return m, p, header, err
	})
	seen.State = w.state
	return seen, s.explain("reading", err)
}

// Peek is Load for those who only look: what is committed and followed goes on
// from where the table is, and not from what was seen.
func (s *Store) Peek(ctx context.Context) (allocator.State, error) {
	if s.closed.Load() {
		return allocator.State{}, allocator.ErrClosed
	}
	w, err := s.load(ctx, s.readMeta)
	return w.state, s.explain("reading", err)
}

// leader asks which replica allocates.
func (s *Store) leader(ctx context.Context) (name string, led bool, err error) {
	resp, err := s.client.Get(ctx, s.prefix+leaderPrefix+"/", clientv3.WithFirstCreate()...)
	if err != nil || len(resp.Kvs) == 0 {
		return "", false, err
	}
	return string(resp.Kvs[0].Value), true, nil
}

// progress counts keys, and tells how many there are.
type progress struct {
	tell func(keys int)
	mu   sync.Mutex
	n    int
}

func (p *progress) add(keys int) {
	if p.tell == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n += keys
	p.tell(p.n)
}
