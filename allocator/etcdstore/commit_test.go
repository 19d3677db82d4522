package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/test/etcdtest"
	"github.com/meshvip/coredns-meshvip/vip"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// refuses fails the test unless a store refuses a delta with an error that wraps
// want and says why.
func refuses(t *testing.T, s *Store, d allocator.Delta, want error, why string) {
	t.Helper()
	err := s.Commit(context.Background(), d)
	if err == nil || want != nil && !errors.Is(err, want) || !strings.Contains(err.Error(), why) {
		t.Errorf("the commit returned %v, want %v because of %q", err, want, why)
	}
}

// atRevision fails the test unless a store is at a revision.
func atRevision(t *testing.T, s *Store, want uint64) {
	t.Helper()
	if rev, err := s.Revision(context.Background()); err != nil || rev != want {
		t.Errorf("revision %d, %v; want %d", rev, err, want)
	}
}

// TestWhoIsNotTheLeaderWritesNothing, whether it never was or has been deposed.
func TestWhoIsNotTheLeaderWritesNothing(t *testing.T) {
	t.Parallel()
	cfg := config()
	follower := opened(t, cfg)
	refuses(t, follower, gives(0, "web", "240.0.0.1"), allocator.ErrFollows, "")

	first := elected(t, cfg)
	committed(t, first, gives(0, "web", "240.0.0.1"))
	second := opened(t, cfg)
	loaded(t, second)
	lead(t, second) // and first does not know it
	refuses(t, first, gives(1, "late", "240.0.0.2"), allocator.ErrFollows, "leader no more")
	second.SetCooldown(time.Hour)
	committed(t, second, gives(1, "db", "240.0.0.2"))
	if m, _, _, err := second.readMeta(t.Context()); err != nil || m.Cooldown != time.Hour {
		t.Errorf("the table shows a cooldown of %v, %v", m.Cooldown, err)
	}
	refuses(t, first, gives(1, "late", "240.0.0.3"), allocator.ErrFollows, "leader no more")

	second.setFence(nil)
	refuses(t, second, gives(2, "x", "240.0.0.4"), allocator.ErrFollows, "")
	if rows := loaded(t, follower).Rows; len(rows) != 2 {
		t.Errorf("loaded %d rows, want 2", len(rows))
	}
}

// TestALeaderThatMissedACommitIsRefused: it may be the leader, and yet not know
// the table.
func TestALeaderThatMissedACommitIsRefused(t *testing.T) {
	t.Parallel()
	cfg := config()
	first, second := elected(t, cfg), opened(t, cfg)
	loaded(t, second)
	committed(t, first, gives(0, "web", "240.0.0.1"))
	lead(t, second)
	refuses(t, second, gives(0, "db", "240.0.0.2"), allocator.ErrConflict, "revision 1")
	if _, err := second.Revision(t.Context()); !errors.Is(err, allocator.ErrConflict) {
		t.Errorf("it is told the revision: %v", err)
	}
	loaded(t, second)
	committed(t, second, gives(1, "db", "240.0.0.2"))
}

// TestAnAddressThatSomebodyElseWroteIsNotTaken: the key decides, not what the
// meta says.
func TestAnAddressThatSomebodyElseWroteIsNotTaken(t *testing.T) {
	t.Parallel()
	s := elected(t, config())
	committed(t, s, gives(0, "web", "240.0.0.1"))
	client := etcd.Client(t)
	if _, err := client.Put(t.Context(), s.prefix+"addresses/240.0.0.2", `{"owner":{"kind":0,"name":"x"}}`); err != nil {
		t.Fatal(err)
	}
	refuses(t, s, gives(1, "db", "240.0.0.2"), allocator.ErrConflict, "240.0.0.2")
	atRevision(t, s, 1)

	release := allocator.Delta{Base: 1, Meta: gives(1, "", "240.0.0.1").Meta, Addrs: []allocator.AddrChange{{
		Addr: netip.MustParseAddr("240.0.0.1"), Old: &allocator.Holding{Owner: vip.Key{Name: "web"}},
		New: &allocator.Holding{Owner: vip.Key{Name: "web"}, Released: true},
	}}}
	for _, value := range []string{"", "{", `{"owner":{"kind":0,"name":"db"}}`, `{"owner":{"kind":0,"name":"web"},"released":true}`} {
		if _, err := client.Put(t.Context(), s.prefix+"addresses/240.0.0.1", value); err != nil {
			t.Fatal(err)
		}
		refuses(t, s, release, allocator.ErrConflict, "240.0.0.1")
	}
	if _, err := client.Delete(t.Context(), s.prefix+"addresses/240.0.0.1"); err != nil {
		t.Fatal(err)
	}
	refuses(t, s, release, allocator.ErrConflict, "240.0.0.1")
}

// TestAnAddressWrittenBetweenReadAndWriteIsNotTaken: the holding that was read is
// compared by when it was written.
func TestAnAddressWrittenBetweenReadAndWriteIsNotTaken(t *testing.T) {
	t.Parallel()
	s := elected(t, config())
	committed(t, s, gives(0, "web", "240.0.0.1"))
	addr, was := netip.MustParseAddr("240.0.0.1"), &allocator.Holding{Owner: vip.Key{Name: "web"}}
	d := allocator.Delta{Base: 1, Meta: gives(1, "", "240.0.0.1").Meta, Addrs: []allocator.AddrChange{{Addr: addr, Old: was}}}
	held, err := s.held(t.Context(), d.Addrs)
	if err != nil {
		t.Fatal(err)
	}
	// The same value, written again.
	client := etcd.Client(t)
	got, err := client.Get(t.Context(), s.prefix+addressKey(addr))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Put(t.Context(), s.prefix+addressKey(addr), string(got.Kvs[0].Value)); err != nil {
		t.Fatal(err)
	}
	tx, err := s.transaction(d, s.fence.Load(), s.position(), held)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Txn(t.Context()).If(tx.ifs...).Then(tx.ops...).Else(tx.elses...).Commit()
	if err != nil || resp.Succeeded {
		t.Fatalf("the transaction went through: %v, %v", resp, err)
	}
	if _, err := tx.refused(resp); !errors.Is(err, allocator.ErrConflict) || !strings.Contains(err.Error(), "240.0.0.1") {
		t.Errorf("it was refused with %v", err)
	}
}

// TestATransactionThatArrivesTwiceIsDoneOnce, and known as one's own.
func TestATransactionThatArrivesTwiceIsDoneOnce(t *testing.T) {
	t.Parallel()
	s := elected(t, config())
	loaded(t, s)
	tx, err := s.begin(gives(0, "web", "240.0.0.1"), s.fence.Load(), s.position(), nil)
	if err != nil {
		t.Fatal(err)
	}
	client := etcd.Client(t)
	send := func() *clientv3.TxnResponse {
		resp, err := client.Txn(t.Context()).If(tx.ifs...).Then(tx.ops...).Else(tx.elses...).Commit()
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	if first := send(); !first.Succeeded {
		t.Fatal("the first was refused")
	}
	second := send()
	if second.Succeeded {
		t.Fatal("the second was not refused")
	}
	if rev, err := tx.refused(second); err != nil || rev == 0 {
		t.Errorf("its own transaction is refused: %v", err)
	}
	atRevision(t, s, 1)
	committed(t, s, gives(1, "db", "240.0.0.2"))
}

// TestADeltaBeyondTheLimitsIsNotSent.
func TestADeltaBeyondTheLimitsIsNotSent(t *testing.T) {
	t.Parallel()
	s := elected(t, config())
	d := gives(0, "web", "240.0.0.1")
	for i := range s.Limits().Keys {
		d.MeshesNew = append(d.MeshesNew, fmt.Sprintf("mesh-%03d", i))
	}
	refuses(t, s, d, nil, "more than a transaction takes")
	d = gives(0, "web", "240.0.0.1")
	d.Rows[0].New.Listings[0].Outbounds = []vip.Outbound{{Origin: strings.Repeat("x", 2*s.Limits().Bytes)}}
	refuses(t, s, d, nil, "more than a transaction takes")
	atRevision(t, s, 0)
	committed(t, s, gives(0, "web", "240.0.0.1"))
}

// TestAFullTransactionIsTaken: the limits that are told are etcd's.
func TestAFullTransactionIsTaken(t *testing.T) {
	t.Parallel()
	s := elected(t, config())
	committed(t, s, gives(0, "web", "240.0.0.1"))
	d := gives(1, "x", "240.0.0.2")
	d.Addrs, d.Rows = nil, nil
	addr := netip.MustParseAddr("240.0.1.0")
	for range s.Limits().Keys - 2 {
		d.Addrs = append(d.Addrs, allocator.AddrChange{Addr: addr, New: &allocator.Holding{Owner: vip.Key{Name: "x"}, Released: true}})
		addr = addr.Next()
	}
	committed(t, s, d)
	again := d
	again.Base, again.Meta.Revision, again.Meta.Serial = 2, 3, 3
	again.Addrs = nil
	for _, c := range d.Addrs {
		again.Addrs = append(again.Addrs, allocator.AddrChange{Addr: c.Addr, Old: c.New})
	}
	committed(t, s, again)
	if n := len(loaded(t, s).Addrs); n != 1 {
		t.Errorf("%d addresses are left, want 1", n)
	}
}

// TestTheLargestDeltaIsTaken, whatever texts it has, and however they are written.
func TestTheLargestDeltaIsTaken(t *testing.T) {
	t.Parallel()
	s := elected(t, config())
	for i, text := range []string{"x", "\x01", "\xff", "\u2028", "\"", "<", "é"} {
		d := gives(uint64(i), fmt.Sprint("svc-", i), fmt.Sprint("240.0.0.", i+1))
		origin := &d.Rows[0].New.Listings[0].Outbounds
		n := s.Limits().Bytes / len(text)
		for size := s.Limits().Bytes + 1; size > s.Limits().Bytes; n -= 512 {
			*origin = []vip.Outbound{{Origin: strings.Repeat(text, n)}}
			_, size = d.Cost()
		}
		committed(t, s, d)
	}
	loaded(t, s)
}

// TestALostReplyIsAskedFor: whether a commit is there is known before the next.
func TestALostReplyIsAskedFor(t *testing.T) {
	t.Parallel()
	proxy := etcdtest.NewProxy(t, etcd.Addr())
	cfg := config()
	cfg.Endpoints, cfg.Timeout = []string{"http://" + proxy.Addr()}, 2*time.Second
	s := elected(t, cfg)
	loaded(t, s)
	for i, lose := range []func(){proxy.DropReplies, proxy.Blackhole, proxy.Cut} {
		was := s.position().rev
		lose()
		err := s.Commit(t.Context(), gives(was, fmt.Sprint("svc-", i), fmt.Sprint("240.0.1.", i)))
		if err == nil || errors.Is(err, allocator.ErrConflict) {
			t.Fatalf("%d: a commit without reply returned %v", i, err)
		}
		proxy.Heal()
		there, err := askUntilAnswered(t, s)
		switch {
		case errors.Is(err, allocator.ErrConflict):
			loaded(t, s) // it came after it was asked for
		case err != nil:
			t.Fatal(err)
		}
		// What was told holds: the next commit goes through on it, or it is there.
		if err := s.Commit(t.Context(), gives(s.position().rev, fmt.Sprint("next-", i), fmt.Sprint("240.0.2.", i))); err != nil && !errors.Is(err, allocator.ErrConflict) {
			t.Fatal(err)
		} else if err != nil {
			t.Logf("%d: asked, it was at %d, and then came: %v", i, there, err)
		}
		loaded(t, s)
		atRevision(t, s, s.position().rev)
	}
}

// askUntilAnswered asks for the revision until etcd can be reached.
func askUntilAnswered(t *testing.T, s *Store) (uint64, error) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		rev, err := s.Revision(t.Context())
		if err == nil || errors.Is(err, allocator.ErrConflict) || time.Now().After(end) {
			return rev, err
		}
	}
}

// TestACommitThatIsThereIsKnownFromItsName though its reply was lost.
func TestACommitThatIsThereIsKnownFromItsName(t *testing.T) {
	t.Parallel()
	s := elected(t, config())
	loaded(t, s)
	tx, err := s.begin(gives(0, "web", "240.0.0.1"), s.fence.Load(), s.position(), nil)
	if err != nil {
		t.Fatal(err)
	}
	atRevision(t, s, 0) // it is not there

	// And now it is, later than asked: that is no silent difference.
	if _, err := etcd.Client(t).Txn(t.Context()).If(tx.ifs...).Then(tx.ops...).Commit(); err != nil {
		t.Fatal(err)
	}
	refuses(t, s, gives(0, "db", "240.0.0.2"), allocator.ErrConflict, "revision 1")
	if _, err := s.Revision(t.Context()); !errors.Is(err, allocator.ErrConflict) {
		t.Errorf("it tells a revision: %v", err)
	}
	loaded(t, s)

	// One that is there when it is asked for is.
	tx, err = s.begin(gives(1, "db", "240.0.0.2"), s.fence.Load(), s.position(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := etcd.Client(t).Txn(t.Context()).If(tx.ifs...).Then(tx.ops...).Commit(); err != nil {
		t.Fatal(err)
	}
	atRevision(t, s, 2)
	committed(t, s, gives(2, "x", "240.0.0.3"))
}

// TestACommitIsNotBrokenOffByItsCaller: what has been sent is waited for.
func TestACommitIsNotBrokenOffByItsCaller(t *testing.T) {
	t.Parallel()
	proxy := etcdtest.NewProxy(t, etcd.Addr())
	cfg := config()
	cfg.Endpoints = []string{"http://" + proxy.Addr()}
	s := elected(t, cfg)
	loaded(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	proxy.Blackhole()
	done := make(chan error)
	go func() { done <- s.Commit(ctx, gives(0, "web", "240.0.0.1")) }()
	soon(t, "a commit that is under way", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.pending != nil
	})
	cancel()
	proxy.Heal()
	if err := <-done; err != nil {
		t.Error(err)
	}
	atRevision(t, s, 1)
}

// TestCloseEndsWhatIsUnderWay, and whoever waits for it is told.
func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	proxy := etcdtest.NewProxy(t, etcd.Addr())
	cfg := config()
	cfg.Endpoints, cfg.Timeout = []string{"http://" + proxy.Addr()}, time.Hour
	s := elected(t, cfg)
	loaded(t, s)
	proxy.Blackhole()
	done := make(chan error)
	for _, do := range []func() error{
		func() error { return s.Commit(context.Background(), gives(0, "web", "240.0.0.1")) },
		func() error { _, err := s.Load(context.Background()); return err },
		func() error { _, err := s.Revision(context.Background()); return err },
	} {
		go func() { done <- do() }()
	}
	soon(t, "a commit that is under way", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.pending != nil
	})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for range 3 {
		if err := <-done; !errors.Is(err, allocator.ErrClosed) {
			t.Errorf("it returned %v", err)
		}
	}
}

// TestATableThatHasGoneIsAConflict: who had it does not begin another.
func TestATableThatHasGoneIsAConflict(t *testing.T) {
	t.Parallel()
	s := elected(t, config())
	committed(t, s, gives(0, "web", "240.0.0.1"))
	if _, err := etcd.Client(t).Delete(t.Context(), s.prefix, clientv3.WithPrefix()); err != nil {
		t.Fatal(err)
	}
	lead(t, s)
	refuses(t, s, gives(1, "db", "240.0.0.2"), allocator.ErrConflict, "the table has gone")
	if _, err := s.Revision(t.Context()); !errors.Is(err, allocator.ErrConflict) {
		t.Errorf("asking returned %v", err)
	}
	if keys := dump(t, s); len(keys) != 1 { // the leader's
		t.Errorf("there are keys: %s", keys)
	}
}
