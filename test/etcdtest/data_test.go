package etcdtest

import (
	"errors"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

func TestAWatchFromBeforeACompactionIsRefused(t *testing.T) {
	t.Parallel()
	s := Start(t, WithUnsafeNoFsync())
	c := s.Client(t)
	old := put(t, c, "key", "1")
	now := put(t, c, "key", "2")
	if got := s.Compact(t); got != now {
		t.Errorf("compacted to %d, want %d", got, now)
	}
	r := <-c.Watch(bounded(t), "key", clientv3.WithRev(old))
	if !errors.Is(r.Err(), rpctypes.ErrCompacted) || r.CompactRevision != now {
		t.Errorf("got %v at %d, want %v at %d", r.Err(), r.CompactRevision, rpctypes.ErrCompacted, now)
	}
	holds(t, c, "key", "2")
}

func TestDefragGivesSpaceBack(t *testing.T) {
	t.Parallel()
	s := Start(t, WithUnsafeNoFsync())
	c := s.Client(t)
	size := func() int64 {
		r, err := c.Status(bounded(t), s.Endpoint())
		if err != nil {
			t.Fatal(err)
		}
		return r.DbSize
	}
	for range 8 {
		put(t, c, "key", strings.Repeat("x", 1<<20))
	}
	put(t, c, "key", "small")
	s.Compact(t)
	full := size()
	s.Defrag(t)
	if now := size(); now > full/2 {
		t.Errorf("%d bytes of %d after the defragmentation", now, full)
	}
	holds(t, c, "key", "small")
}

func TestARestoredServerIsWhereItsSnapshotWas(t *testing.T) {
	t.Parallel()
	s := Start(t, WithUnsafeNoFsync())
	c := s.Client(t)
	then := put(t, c, "key", "old")
	snapshot := s.Snapshot(t)
	put(t, c, "key", "new")
	put(t, c, "other", "new")
	for range 2 { // a snapshot may be restored more than once
		s.Restore(t, snapshot)
		if now := holds(t, c, "key", "old"); now != then {
			t.Errorf("revision %d, want %d", now, then)
		}
		holds(t, c, "other", "")
		if again := put(t, c, "other", "again"); again != then+1 {
			t.Errorf("the next revision is %d, want %d once more", again, then+1)
		}
	}
	s.Kill() // restoring one that is dead, too
	s.Restore(t, snapshot)
	holds(t, c, "key", "old")
}

func TestOnlyWhoHasAPasswordIsServed(t *testing.T) {
	t.Parallel()
	s := Start(t, WithUnsafeNoFsync())
	nobody := s.Client(t)
	s.EnableAuth(t, "secret", "meshvip", "word", "/meshvip/")
	if _, err := nobody.Put(bounded(t), "/meshvip/key", "value"); err == nil {
		t.Error("nobody may write")
	}
	as := func(password string) (*clientv3.Client, error) {
		return clientv3.New(clientv3.Config{
			Endpoints: s.Endpoints(), Username: "meshvip", Password: password, DialTimeout: patience, Logger: zap.NewNop(),
		})
	}
	if c, err := as("wrong"); err == nil {
		c.Close()
		t.Error("a wrong password is accepted")
	}
	user, err := as("word")
	if err != nil {
		t.Fatal(err)
	}
	defer user.Close()
	put(t, user, "/meshvip/key", "value")
	if _, err := user.Put(bounded(t), "/other/key", "value"); !errors.Is(err, rpctypes.ErrPermissionDenied) {
		t.Errorf("the user writes elsewhere: %v, want %v", err, rpctypes.ErrPermissionDenied)
	}
	// Root's tools go on, and so do those of a restarted server.
	s.Restore(t, s.Snapshot(t))
	s.Compact(t)
	s.Defrag(t)
	holds(t, s.Client(t), "/meshvip/key", "value")
}
