package allocator_test

import (
	"context"
	"errors"

	"github.com/meshvip/coredns-meshvip/allocator"
)

var errFault = errors.New("the disk is on fire")

// faulty is a store whose commits can fail, and that outlives its Close.
type faulty struct {
	allocator.Store
	commits int // that were applied
	// before fails the next commit, after applies it and fails all the same;
	// the fault has then been used. silent fails Revision for as long as it is set.
	before, after, silent bool
	look                  func() // if not nil, after each commit
}

func (s *faulty) Commit(ctx context.Context, d allocator.Delta) error {
	if s.before {
		s.before = false
		return errFault
	}
	if err := s.Store.Commit(ctx, d); err != nil {
		return err
	}
	s.commits++
	if s.look != nil {
		s.look()
	}
	if s.after {
		s.after = false
		return errFault
	}
	return nil
}

func (s *faulty) Revision(ctx context.Context) (uint64, error) {
	if s.silent {
		return 0, errFault
	}
	return s.Store.Revision(ctx)
}

func (s *faulty) Close() error { return nil }
