package watcher

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
)

// firstWait bounds how long the first batch waits for sources that have not
// tried to read yet: a first sync is one plan over all that can be read.
const firstWait = 10 * time.Second

// Union is the desired state of several sources as one. Each source tells its
// own [Feed], and an entry goes when none lists it any more. What the sources say
// is joined as if it came from one: a policy of one counts for the resources of
// another, and a mesh that one declares is there for all. Its methods may be
// called by any goroutine; [Union.Next] and [Union.Applied] by one at a time.
type Union struct {
	mu       sync.Mutex
	desired  *Desired
	feeds    []*feed
	began    time.Time
	delivery delivery
	stale    bool // problems may be others than were told
	problems Problems
	status   Status
	changed  chan struct{} // has one when there may be something to hand over
}

// feed is one source's part in a union.
type feed struct {
	u    *Union
	name string // of the source, for messages
	n    int    // which one, from 0
	// pending is what was put since the last Commit, order the places in the
	// order in which they were put first.
	pending  map[string][]Resource
	order    []string
	reported bool
	state    State
	places   map[string]struct{}
}

// NewUnion returns the desired state of sources of which nothing is known yet.
// names are what messages call them.
func NewUnion(names ...string) *Union {
	u := &Union{desired: NewDesired(), delivery: delivery{full: true}, stale: true, changed: make(chan struct{}, 1)}
	for n, name := range names {
		u.feeds = append(u.feeds, &feed{
			u: u, name: name, n: n,
			pending: make(map[string][]Resource), places: make(map[string]struct{}),
		})
	}
	u.desired.sources = len(names)
	u.desired.apart = func(a, b string) bool { return u.of(a) != u.of(b) }
	return u
}

// Feed returns where source n, counted from 0, tells what it declares.
func (u *Union) Feed(n int) Feed { return u.feeds[n] }

// Follow says that only Kuma gives addresses to the names that policies give, and
// which; nil that it does not. Sources that follow Kuma say so of what they list
// by themselves. given must not change afterwards: where Kuma's tables do, Follow
// is called again.
func (u *Union) Follow(given GivenAddresses) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.desired.follow(given)
	u.stale = true
	u.wake()
}

// of returns the source that place belongs to, -1 if none.
func (u *Union) of(place string) int {
	for _, f := range u.feeds {
		if _, ok := f.places[place]; ok {
			return f.n
		}
	}
	return -1
}

// Place implements [Feed].
func (f *feed) Place(place string) []Resource {
	if rs, ok := f.pending[place]; ok {
		return rs
	}
	f.u.mu.Lock()
	defer f.u.mu.Unlock()
	return f.own(f.u.desired.Place(place), 0)
}

// Put implements [Feed].
func (f *feed) Put(place string, resources []Resource) {
	if _, again := f.pending[place]; !again {
		f.order = append(f.order, place)
	}
	f.pending[place] = resources
}

// Commit implements [Feed].
func (f *feed) Commit(s State) {
	u := f.u
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, place := range f.order {
		rs := f.pending[place]
		mark(f.places, place, len(rs) > 0)
		u.desired.Put(place, f.own(rs, f.n))
	}
	if len(f.order) == 0 && f.reported && f.state == s {
		return
	}
	clear(f.pending)
	f.order, f.reported, f.state, u.stale = nil, true, s, true
	u.wake()
}

// own returns resources as those of source n. What a resource asks for on its own
// counts in each source that lists it; a mesh and a policy are one and the same
// wherever they are listed.
func (f *feed) own(resources []Resource, n int) []Resource {
	if f.n == 0 {
		return resources // they are as they are
	}
	owned := make([]Resource, len(resources))
	for i, r := range resources {
		switch r.Type {
		case kuma.TypeMesh, kuma.TypeVirtualOutbound, kuma.TypeMeshGateway, kuma.TypeHostnameGenerator:
		default:
			r.Source = n
		}
		owned[i] = r
	}
	return owned
}

func (u *Union) wake() {
	select {
	case u.changed <- struct{}{}:
	default:
	}
}

// Next returns the batch to hand over now, and whether there is one. After that
// comes [Union.Applied].
func (u *Union) Next(now time.Time) (vip.Batch, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.began.IsZero() {
		u.began = now
	}
	if !u.ready(now) {
		return vip.Batch{}, false
	}
	unread := slices.ContainsFunc(u.feeds, func(f *feed) bool { return !f.state.Read })
	return u.delivery.next(now, u.desired, u.incomplete(), unread)
}

// ready reports whether something can be said of what is desired.
func (u *Union) ready(now time.Time) bool {
	read, waiting := false, false
	for _, f := range u.feeds {
		read = read || f.state.Read || len(f.places) > 0
		waiting = waiting || !f.reported
	}
	return read && (!waiting || !now.Before(u.began.Add(firstWait)))
}

// incomplete says what of all sources was never read well.
func (u *Union) incomplete() string {
	var whys []string
	for _, f := range u.feeds {
		switch {
		case !f.state.Read:
			whys = append(whys, f.name+" could not be read yet")
		case f.state.Incomplete != "":
			whys = append(whys, f.state.Incomplete)
		}
	}
	return strings.Join(whys, "; ")
}

// Applied says how the handing over of b ended.
func (u *Union) Applied(now time.Time, b vip.Batch, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.stale = true
	u.delivery.ended(now, b, err)
}

// Wake returns when [Union.Next] may have something even if nothing happens, the
// zero time if never.
func (u *Union) Wake() time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	t := u.delivery.retry
	for _, f := range u.feeds {
		if end := u.began.Add(firstWait); !f.reported && !u.began.IsZero() && (t.IsZero() || end.Before(t)) {
			t = end
		}
	}
	return t
}

// Run hands over what changed, until ctx is done: first a full batch, when the
// sources have tried to read and one of them could, then deltas. out blocks while
// the batch is applied. When it returns an error the state is kept, and a full
// batch comes later: after a second, doubling to 30 s, or with the next change.
// log gets what is wrong with what the sources say together, and what is right
// again.
func (u *Union) Run(ctx context.Context, log *slog.Logger, out func(vip.Batch) error) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		if b, ok := u.Next(time.Now()); ok {
			err := out(b)
			u.Applied(time.Now(), b, err)
			log.Debug("handed over", "full", b.Full, "incomplete", b.Incomplete,
				"meshes", len(b.Meshes), "changes", b.Changes(), "err", err)
		}
		u.tell(log)
		at := time.Now().Add(time.Hour)
		if t := u.Wake(); !t.IsZero() {
			at = t
		}
		timer.Reset(time.Until(at))
		select {
		case <-ctx.Done():
		case <-u.changed:
		case <-timer.C:
		}
	}
}

// tell logs what is wrong, where that has changed.
func (u *Union) tell(log *slog.Logger) {
	came, went := u.Assess()
	for _, p := range came {
		log.Warn(p.What, "place", p.Place)
	}
	for _, p := range went {
		log.Info("no longer a problem: "+p.What, "place", p.Place)
	}
}

// Assess brings what [Union.Status] returns up to date, and returns which problems
// came up and which went away. Its cost follows the number of problems.
func (u *Union) Assess() (came, went []Problem) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.stale {
		return nil, nil
	}
	ps := u.desired.Problems()
	if why := u.delivery.refused; why != "" {
		ps = append(ps, Problem{u.names(), fmt.Sprintf(
			"the changes could not be applied: %s; they are handed over again until they can be", why)})
	}
	came, went = u.problems.Set(ps)
	u.stale = false
	u.status = Status{Synced: u.delivery.synced, Errors: u.problems.Count, Problems: u.problems.Now}
	return came, went
}

// names returns the names of all sources.
func (u *Union) names() string {
	names := make([]string, len(u.feeds))
	for i, f := range u.feeds {
		names[i] = f.name
	}
	return strings.Join(names, ", ")
}

// Status returns what is wrong with what the sources say together: clashes
// between resources, and batches that could not be applied. It is Synced once a
// batch was handed over that had all of every source.
func (u *Union) Status() Status {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.status
}
