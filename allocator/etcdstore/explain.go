package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/meshvip/coredns-meshvip/allocator"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// ErrImport: a table is being made, or that was begun and not finished.
var ErrImport = errors.New("a table is being imported there, or its import was cut short: " +
	"nothing is read until that is done; if nobody is at it, run the import again")

// explain adds to an error what was being done, and what an operator can do.
func (s *Store) explain(doing string, err error) error {
	if err == nil {
		return nil
	}
	if s.closed.Load() {
		return fmt.Errorf("%s store %v: %w", doing, s.cfg, allocator.ErrClosed)
	}
	if errors.Is(err, context.DeadlineExceeded) || unavailable(err) {
		if last := s.lastHandshake(); last != nil {
			err = fmt.Errorf("%w; %w", err, last)
		}
	}
	if do := s.remedy(err); do != "" {
		return fmt.Errorf("%s store %v: %w; %s", doing, s.cfg, err, do)
	}
	return fmt.Errorf("%s store %v: %w", doing, s.cfg, err)
}

// remedy says what an operator can do about an error; "" where it says so, or
// there is nothing to do.
func (s *Store) remedy(err error) string {
	is := func(targets ...error) bool {
		for _, t := range targets {
			if errors.Is(err, t) || errors.Is(rpctypes.Error(err), t) {
				return true
			}
		}
		return false
	}
	switch {
	case is(allocator.ErrConflict, allocator.ErrFollows, ErrImport):
		return ""
	case is(allocator.ErrNewer):
		return "run the version that wrote it, or a newer one; it was not touched"
	case is(allocator.ErrDamaged):
		return "restore it from a backup; it was not touched. To start over with new addresses, delete all keys of the prefix"
	case is(rpctypes.ErrPermissionDenied):
		return fmt.Sprintf("user %q needs a role that may read and write all keys of the prefix: etcdctl role grant-permission ROLE readwrite %s --prefix", s.cfg.Username, s.cfg.Prefix)
	case is(rpctypes.ErrUserEmpty, rpctypes.ErrUserNotFound):
		return "etcd asks who this is: name a user and the file of its password, or give a client certificate"
	case is(rpctypes.ErrAuthFailed) || strings.Contains(err.Error(), rpctypes.ErrorDesc(rpctypes.ErrGRPCAuthFailed)):
		return fmt.Sprintf("etcd does not take the name %q with the password of %s", s.cfg.Username, s.cfg.PasswordFile)
	case is(rpctypes.ErrNoSpace):
		return "etcd has no room: compact and defragment it, raise its quota, and disarm the alarm (etcdctl alarm disarm)"
	case is(rpctypes.ErrRequestTooLarge):
		return "raise etcd's --max-request-bytes to its default of 1.5 MiB at least"
	case is(rpctypes.ErrTooManyOps):
		return "raise etcd's --max-txn-ops to its default of 128 at least"
	case s.lastHandshake() != nil:
		return "see to the certificates of etcd and of this replica"
	case is(rpctypes.ErrNoLeader, rpctypes.ErrTimeout, rpctypes.ErrTimeoutDueToLeaderFail, rpctypes.ErrTimeoutDueToConnectionLost, rpctypes.ErrLeaderChanged):
		return "see that most of etcd's members run and reach each other"
	case is(context.DeadlineExceeded):
		return fmt.Sprintf("nobody has answered within %v: see that etcd runs, has a quorum, and is reachable", s.cfg.Timeout)
	case unavailable(err):
		return "see that etcd runs, has a quorum, and is reachable"
	}
	return ""
}
