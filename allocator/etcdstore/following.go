package etcdstore

import (
	"context"
	"errors"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// watch begins a watch, in a goroutine of its own: etcd may not be there.
func (k *keeper) watch(ctx context.Context) {
	ctx, stop := context.WithCancel(clientv3.WithRequireLeader(ctx))
	events := make(chan clientv3.WatchResponse)
	k.events, k.unwatch = events, stop
	from := k.next
	k.watchers.Go(func() {
		defer close(events)
		defer stop()
		for resp := range k.store.client.Watch(ctx, k.store.prefix, clientv3.WithPrefix(), clientv3.WithRev(from)) {
			select {
			case events <- resp:
			case <-ctx.Done():
				return
			}
		}
	})
}

// stopWatch ends the watch: what comes next is told by another.
func (k *keeper) stopWatch() {
	if k.events != nil {
		k.unwatch()
		k.events, k.unwatch = nil, nil
	}
}

// watched takes over what a watch tells.
func (k *keeper) watched(resp clientv3.WatchResponse, ok bool) {
	if err := resp.Err(); !ok || err != nil {
		k.stopWatch()
		k.rewatch = time.Now().Add(again)
		if resp.CompactRevision != 0 {
			k.doubt("etcd has compacted what the watch had yet to tell")
			k.next = resp.CompactRevision
		}
		if err != nil {
			k.log.Info("the watch on etcd has ended, and is begun again", "error", err)
		}
		if k.hooks.WatchRestarted != nil {
			k.hooks.WatchRestarted()
		}
		return
	}
	for events := resp.Events; len(events) > 0; {
		rev, n := events[0].Kv.ModRevision, 0
		for n < len(events) && events[n].Kv.ModRevision == rev {
			n++
		}
		k.follow(k.ours(events[:n]))
		events, k.next = events[n:], rev+1
		if k.events == nil {
			return // the rest comes again, or is read
		}
	}
}

// ours returns the events of the table's own keys.
func (k *keeper) ours(events []*clientv3.Event) []*clientv3.Event {
	election := k.store.prefix + keyLeader
	own := make([]*clientv3.Event, 0, len(events))
	for _, e := range events {
		if !strings.HasPrefix(string(e.Kv.Key), election) {
			own = append(own, e)
		}
	}
	return own
}

// follow takes one transaction over.
func (k *keeper) follow(events []*clientv3.Event) {
	if len(events) == 0 || k.torn != "" {
		return
	}
	patch, now, err := decodeTxn(k.store.prefix, events)
	if k.term != nil {
		if err != nil || !k.store.owns(now) {
			k.endTerm("somebody else has written to the table in etcd")
		}
		return
	}
	own := k.store.position()
	switch {
	case err != nil:
	case now.rev <= own.rev && now.commit == own.commit:
		return // it was read
	case now.after != own.commit:
		err = errors.New("a transaction does not follow the one before it")
	default:
		err = k.table.Follow(patch)
	}
	if err != nil {
		k.log.Info("what the watch on etcd tells cannot be followed: the table is read again", "error", err)
		k.torn = err.Error()
		return
	}
	k.store.adopted(now)
	if k.waiting != nil && now.rev >= k.waiting.now.rev {
		k.confirm(k.waiting.sent)
		k.waiting = nil
	}
}

// contacted takes over what etcd has answered.
func (k *keeper) contacted(c contact) {
	if c.sent < k.since {
		return // it was another table, or another etcd
	}
	if c.sent-k.last > 3*askEvery || c.revision < k.etcd {
		k.steady = c.sent
	}
	k.last = c.sent
	k.verify(c)
	switch {
	case c.revision < k.etcd:
		// A watch for a revision that is still to come says nothing until then.
		k.stopWatch()
		k.doubt("etcd has gone back to an older revision: was it restored from a snapshot?")
	case !c.has(c.before):
		k.doubt("the table in etcd lacks what this replica has: was etcd restored from a snapshot?")
	default:
		k.compare(c)
	}
	k.etcd = c.revision
}

// compare notes how far the table is behind.
func (k *keeper) compare(c contact) {
	own := k.store.position()
	if k.hooks.Lag != nil {
		k.hooks.Lag(c.now.rev - min(own.rev, c.now.rev))
	}
	switch {
	case k.torn != "":
	case own.rev >= c.now.rev:
		k.confirm(c.sent)
		k.waiting = nil
	case k.term != nil:
		// It may have been deposed, and not know yet: what it has is no better than
		// that of others. If etcd has its own last commit, that is known soon.
	case k.waiting == nil:
		k.waiting = &c
	case c.sent-k.waiting.sent > mute:
		k.stopWatch()
		k.doubt("the watch on etcd says nothing of what etcd has")
	}
}

// errBack is the error of a table that has gone back.
var errBack = errors.New("the table in etcd lacks what this replica has answered: was etcd restored from a snapshot?" +
	" Answers go on from what this replica has, until one that allocates has brought the table up to date")

// reread reads the table again, unless it has gone back: then what this replica
// has is worth more.
func (k *keeper) reread(ctx context.Context) error {
	c, err := k.ask(ctx)
	if err != nil {
		return err
	}
	own := k.store.position()
	// What was answered a cooldown ago is nobody's any more.
	if c.lacks(own) && k.Age() < k.store.cooldownNow() {
		return errBack
	}
	return k.reload(ctx)
}

// reload makes the table what etcd has.
func (k *keeper) reload(ctx context.Context) error {
	sent := now()
	if err := k.table.Reload(ctx); err != nil {
		return err
	}
	k.restart()
	k.confirm(sent)
	return nil
}

// restart lets the watch go on from what was read.
func (k *keeper) restart() {
	k.stopWatch()
	k.next, k.torn, k.waiting, k.since = k.store.loadedAt()+1, "", nil, now()
	if k.hooks.WatchRestarted != nil {
		k.hooks.WatchRestarted()
	}
}
