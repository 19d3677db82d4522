package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator/record"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// witness watches a table in etcd from its beginning.
type witness struct {
	t      testing.TB
	h      *history
	client *clientv3.Client
	prefix string

	stop    context.CancelFunc // of the present watch
	running sync.WaitGroup

	mu      sync.Mutex
	epoch   int
	seen    int64   // the latest revision of etcd that the watch has told of
	probes  []probe // in the order in which they were sent
	leaders []string
	terms   map[string]bool // the leaders' keys
	last    txn
}

// probe is a linearizable read: what etcd does not show at rev took place after
// it was sent.
type probe struct {
	epoch int
	rev   int64
	sent  time.Duration
}

func newWitness(t testing.TB, h *history, client *clientv3.Client, prefix string) *witness {
	w := &witness{t: t, h: h, client: client, prefix: prefix, terms: make(map[string]bool)}
	t.Cleanup(w.rest)
	return w
}

// watch begins to watch: what took place from the revision on.
func (w *witness) watch(from int64) {
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	w.running.Go(func() {
		for next := from; ctx.Err() == nil; {
			// Without a leader, etcd ends the watch: it is begun anew elsewhere.
			for resp := range w.client.Watch(clientv3.WithRequireLeader(ctx), w.prefix, clientv3.WithPrefix(), clientv3.WithRev(next)) {
				if errors.Is(resp.Err(), rpctypes.ErrCompacted) {
					w.t.Errorf("the witness has missed what came after revision %d", next)
					return
				}
				for _, events := range byRevision(resp.Events) {
					w.saw(events)
					next = events[0].Kv.ModRevision + 1
				}
			}
			pause(ctx, 50*time.Millisecond)
		}
	})
	w.running.Go(func() {
		for ctx.Err() == nil {
			w.probe(ctx)
			pause(ctx, 20*time.Millisecond)
		}
	})
}

// rest ends the watch.
func (w *witness) rest() {
	if w.stop != nil {
		w.stop()
		w.running.Wait()
	}
}

// restored begins to watch again after a snapshot has been restored.
func (w *witness) restored(snapshot int64) {
	w.mu.Lock()
	w.epoch++
	w.seen = snapshot
	w.mu.Unlock()
	w.watch(snapshot + 1)
}

// caughtUp waits until the watch has told of all that etcd has, and returns its
// revision.
func (w *witness) caughtUp() (rev int64) {
	w.t.Helper()
	eventually(w.t, "the witness to have seen all that etcd has", func() bool {
		ctx, cancel := context.WithTimeout(w.t.Context(), time.Second)
		defer cancel()
		r, err := w.client.Get(ctx, w.prefix+"meta")
		if err != nil || len(r.Kvs) == 0 {
			return false
		}
		rev = r.Header.Revision
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.seen >= r.Kvs[0].ModRevision
	})
	return rev
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (w *witness) probe(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	w.mu.Lock()
	epoch := w.epoch
	w.mu.Unlock()
	sent := w.h.now()
	r, err := w.client.Get(ctx, w.prefix+"meta", clientv3.WithCountOnly())
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.probes); n > 0 && w.probes[n-1].rev == r.Header.Revision && w.probes[n-1].epoch == epoch {
		w.probes[n-1].sent = sent // a later one that shows no more
		return
	}
	w.probes = append(w.probes, probe{epoch, r.Header.Revision, sent})
}

// after is the last moment at which a transaction is known not to have taken place.
func (w *witness) after(epoch int, rev int64) time.Duration {
	for _, p := range slices.Backward(w.probes) {
		if p.epoch < epoch || p.epoch == epoch && p.rev < rev {
			return p.sent
		}
	}
	return 0
}

// byRevision splits events by etcd's revision.
func byRevision(events []*clientv3.Event) (split [][]*clientv3.Event) {
	for len(events) > 0 {
		n := 1
		for n < len(events) && events[n].Kv.ModRevision == events[0].Kv.ModRevision {
			n++
		}
		split, events = append(split, events[:n]), events[n:]
	}
	return split
}

// saw notes what one revision of etcd has changed.
func (w *witness) saw(events []*clientv3.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = events[0].Kv.ModRevision
	t := txn{epoch: w.epoch, rev: w.seen, hi: w.h.now(), serial: w.last.serial, keys: len(events)}
	t.lo = w.after(t.epoch, t.rev)
	ours := false
	for _, e := range events {
		key := strings.TrimPrefix(string(e.Kv.Key), w.prefix)
		if err := w.read(&t, key, e); err != nil {
			w.t.Errorf("key %s at revision %d: %v", e.Kv.Key, w.seen, err)
		}
		ours = ours || key == "meta"
	}
	if ours {
		w.last = t
		w.h.committed(t)
	}
}

// read adds what an event says to a transaction.
func (w *witness) read(t *txn, key string, e *clientv3.Event) error {
	place, rest, _ := strings.Cut(key, "/")
	switch {
	case strings.HasPrefix(key, "leader/claims/"): // what replicas tell each other
	case place == "leader" && e.IsCreate() && !w.terms[key]:
		w.terms[key] = true
		w.leaders = append(w.leaders, string(e.Kv.Value))
	case key == "meta":
		var m record.Meta
		if err := json.Unmarshal(e.Kv.Value, &m); err != nil {
			return err
		}
		t.revision, t.clock = m.Revision, m.Clock
	case key == "serial":
		var s struct{ Serial uint32 }
		if err := json.Unmarshal(e.Kv.Value, &s); err != nil {
			return err
		}
		t.serial = s.Serial
	case place == "addresses":
		text, err := url.PathUnescape(rest)
		if err != nil {
			return err
		}
		addr, err := netip.ParseAddr(text)
		if err != nil {
			return err
		}
		c := change{addr: addr}
		if e.Type == clientv3.EventTypePut {
			var h record.Holding
			if err := json.Unmarshal(e.Kv.Value, &h); err != nil {
				return err
			}
			c.holding = holding{dotted(string(h.Owner.Name)), h.Released, h.At}
		}
		t.changes = append(t.changes, c)
	}
	return nil
}

// written waits until the table has been written after some moment, and returns
// the serial that it had then.
func (w *witness) written(after time.Duration) (serial uint32) {
	w.t.Helper()
	eventually(w.t, fmt.Sprintf("a replica to write to the table after %v", after), func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		serial = w.last.serial
		return w.last.lo > after
	})
	return serial
}
