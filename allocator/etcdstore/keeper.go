package etcdstore

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// again is the pause before what failed is tried again.
	again = 500 * time.Millisecond
	// mute is how long a watch may say nothing of what etcd is known to have.
	mute = 10 * time.Second
)

// keeper is the goroutine that keeps the table. Of a replica it alone lets the
// table follow, lead or be read again; while a term lasts, whoever leads writes.
type keeper struct {
	*Replica
	next     int64 // the etcd revision that the watch has to tell of next
	events   <-chan clientv3.WatchResponse
	unwatch  context.CancelFunc
	watchers sync.WaitGroup
	rewatch  time.Time     // not before that
	resume   time.Time     // no term begins before that
	since    time.Duration // contacts of before count no more
	etcd     int64         // etcd's own revision, as it was seen last
	// steady is since when etcd has answered without a break, last when it did so
	// last.
	steady, last time.Duration
	waiting      *contact // what it told has not all come by the watch yet
	// torn says why the table has to be read again; "" where it need not.
	torn string
	told string // the error that was logged last
	seat *seat
	won  time.Duration // when that was heard of
	term *Term
	led  string // the term that this replica has led last, and on the same seat
}

func (k *keeper) run(ctx context.Context) {
	defer k.end()
	retry := time.NewTimer(0)
	defer retry.Stop()
	for ctx.Err() == nil {
		if k.advance(ctx) {
			retry.Stop()
		} else {
			retry.Reset(again)
		}
		var lost, ended <-chan struct{}
		if k.seat != nil {
			lost = k.seat.lost
		}
		if k.term != nil {
			ended = k.term.ended
			if k.term.ctx.Err() != nil {
				lost = nil // it is ending
			}
		}
		select {
		case <-ctx.Done():
		case <-retry.C:
		case resp, ok := <-k.events:
			k.watched(resp, ok)
		case c := <-k.contacts:
			k.contacted(c)
		case s := <-k.seats:
			k.seat, k.won, k.led = s, now(), ""
		case <-lost:
			k.endTerm("")
			k.unseat()
		case <-ended:
			k.stepDown()
		case <-k.doubts:
			k.doubt("a commit was refused")
		}
	}
}

// advance does what can be done now. It reports whether it did: if not, it is
// to be tried again.
func (k *keeper) advance(ctx context.Context) (done bool) {
	if k.term == nil {
		var err error
		switch {
		case k.seat != nil && !k.seat.gone() && !k.seat.given():
			if time.Now().Before(k.resume) {
				return false
			}
			err = k.begin(ctx)
		case k.torn != "":
			err = k.reread(ctx)
		}
		if err != nil {
			if !errors.Is(err, errHearing) {
				k.complain(ctx, err)
			}
			return false
		}
		k.told = ""
	}
	if k.events == nil {
		if time.Now().Before(k.rewatch) {
			return false
		}
		k.watch(ctx)
	}
	return true
}

// complain logs an error once.
func (k *keeper) complain(ctx context.Context, err error) {
	if ctx.Err() == nil && err.Error() != k.told {
		k.told = err.Error()
		if errors.Is(err, allocator.ErrDamaged) {
			k.log.Error("what etcd says of the table cannot be read: what was read before is answered, and nothing is allocated;"+
				" leave the replicas running and delete all keys of the prefix, and they write the table back, or stop them and restore a backup",
				"prefix", k.store.prefix, "error", err)
			return
		}
		k.log.Error("the table cannot be read from etcd: what was read before is answered; trying again", "error", err)
	}
}

// end ends what is under way when the replica ends.
func (k *keeper) end() {
	k.stopWatch()
	if k.term != nil {
		k.term.stop()
		select {
		case t := <-k.terms: // which nobody has taken
			t.End()
		default:
		}
		<-k.term.ended
		k.stepDown()
	}
	k.unseat()
	k.watchers.Wait()
}

// doubt notes that the table may not be what etcd has.
func (k *keeper) doubt(why string) {
	if k.term != nil {
		k.endTerm(why)
		return
	}
	k.torn = why
}

var _ Table = (*allocator.Allocator)(nil)
