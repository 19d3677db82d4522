package main

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/etcdstore"
)

// standingEtcd reads the table in etcd, if there is one that was ever written to,
// and no replica leads it.
func (s *session) standingEtcd(ctx context.Context, to target) (standingStore, error) {
	seen, err := s.readEtcd(ctx, to.configured)
	switch {
	case seen.Led:
		return standingStore{}, unopened("%s stands for election or leads at %s: stop all replicas that allocate first,"+
			" for they would go on with the old table", orUnnamed(seen.Leader), to.place())
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, etcdstore.ErrImport), err == nil && seen.State.Meta.Revision == 0:
		return standingStore{}, nil
	case errors.Is(err, allocator.ErrDamaged):
		return standingStore{there: true, lost: err}, nil
	case err != nil:
		return standingStore{}, unopened("%w", err)
	}
	return standingStore{there: true, state: &seen.State}, nil
}

// notReplaced is the error of a backup that is to replace a table in etcd.
func notReplaced(to target, from string) error {
	return wrong("there is %s, which is not replaced. If it can be read, bring it into a file (meshvipctl migrate --to FILE), restore over that"+
		" (meshvipctl restore %s --store FILE --over), delete the keys of the prefix, and bring the file back (meshvipctl migrate --from FILE)."+
		" If not, state another prefix, or delete the keys", to.place(), from)
}

// makeEtcd makes the table of a state in etcd.
func (s *session) makeEtcd(ctx context.Context, to target, state allocator.State, cooldown time.Duration) error {
	bar := s.progress("writing keys to etcd", keysOf(state))
	defer bar.end()
	cfg := etcdConfig(to.configured)
	cfg.Progress, cfg.Cooldown = bar.at, cooldown
	return etcdstore.Create(ctx, cfg, state)
}
