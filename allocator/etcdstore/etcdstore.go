package etcdstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Limits of one commit. etcd takes 128 operations and 1.5 MiB in a transaction
// unless it is told otherwise; what a delta costs in bytes is an estimate.
const (
	maxKeys  = 128
	maxBytes = 512 << 10
)

// Store is a table in etcd.
type Store struct {
	cfg    Config
	prefix string
	log    *slog.Logger
	client *clientv3.Client
	// lastHandshake returns the error of the last attempt to make a connection
	// secure.
	lastHandshake func() error
	closed        atomic.Bool
	cooldown      atomic.Int64
	reconciling   atomic.Bool // what commits say
	done          progress
	fence         atomic.Pointer[fence]
	term          atomic.Pointer[string] // of the last fence

	mu sync.Mutex
	at position // of what was loaded, committed or adopted last; without meta: nothing was
	// pending is the commit of which it is not known whether it is there.
	pending *transaction
	loaded  int64 // etcd's revision of what was loaded last
	aside   aside
}

// fence is what makes this replica the one that may write: the key of an election
// with its CreateRevision. Each has a term of its own.
type fence struct {
	key  string
	rev  int64
	term string
}

// Open makes a store of cfg. It reads the files that cfg names, and does not wait
// for etcd.
func Open(cfg Config) (*Store, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, fmt.Errorf("store in etcd: %w", err)
	}
	client, last, err := newClient(cfg)
	if err != nil {
		return nil, fmt.Errorf("store %v: %w", cfg, err)
	}
	s := &Store{cfg: cfg, prefix: cfg.Prefix, log: cfg.Logger, client: client, lastHandshake: last, done: progress{tell: cfg.Progress}}
	s.SetCooldown(cfg.Cooldown)
	return s, nil
}

// setFence says under what this replica writes; nil takes that away.
func (s *Store) setFence(f *fence) {
	if f != nil {
		s.term.Store(&f.term)
	}
	s.fence.Store(f)
}

// owns reports whether p was written under the last fence.
func (s *Store) owns(p position) bool {
	term := s.term.Load()
	return term != nil && p.term == *term
}

// SetCooldown says what the table's meta shows as the cooldown from the next
// commit on.
func (s *Store) SetCooldown(d time.Duration) { s.cooldown.Store(int64(d)) }

// cooldownNow is what commits show as the cooldown.
func (s *Store) cooldownNow() time.Duration { return time.Duration(s.cooldown.Load()) }

// position returns where the table is.
func (s *Store) position() position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}

// adopted notes that the table is at p, because what another replica has
// committed was taken over.
func (s *Store) adopted(p position) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.aside.written(p.wrote)
	p.wrote = nil
	s.at, s.pending = p, nil
}

// loadedAt returns etcd's revision of what was loaded last.
func (s *Store) loadedAt() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loaded
}

// Limits implements [allocator.Store].
func (s *Store) Limits() allocator.Limits { return allocator.Limits{Keys: maxKeys, Bytes: maxBytes} }

// Revision implements [allocator.Store]. It asks etcd, and so tells whether a
// commit whose reply was lost is there. Where it is not, it may still come: then
// the next commit is refused as a conflict.
func (s *Store) Revision(ctx context.Context) (uint64, error) {
	if s.closed.Load() {
		return 0, allocator.ErrClosed
	}
	ask := s.readMeta
	if s.position().meta == nil {
		ask = s.begun
	}
	_, now, _, err := ask(ctx)
	if errors.Is(err, errNone) {
		err = fmt.Errorf("%w: the table has gone", allocator.ErrConflict)
	}
	if err != nil {
		return 0, s.explain("asking", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.at.meta == nil:
		s.at = now
	case s.pending != nil && bytes.Equal(now.meta, s.pending.then.meta):
		s.at = now
		s.aside.settle(s.pending.delta, s.pending.wrote)
	case !bytes.Equal(now.meta, s.at.meta):
		err = fmt.Errorf("%w: it is at revision %d, and this replica knows revision %d", allocator.ErrConflict, now.rev, s.at.rev)
		return 0, s.explain("asking", err)
	}
	s.pending = nil
	return s.at.rev, nil
}

// bounded returns ctx for one request, which ends with the store at the latest.
func (s *Store) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	// The client would try again for a while.
	stop := context.AfterFunc(s.client.Ctx(), cancel)
	return ctx, func() { stop(); cancel() }
}

// Close implements [allocator.Store].
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	s.setFence(nil)
	// It returns what ended its context, which this did.
	if err := s.client.Close(); err != nil && s.client.Ctx().Err() == nil {
		return fmt.Errorf("closing store %v: %w", s.cfg, err)
	}
	return nil
}
