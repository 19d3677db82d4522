package allocator_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
	"go4.org/netipx"
	"pgregory.net/rapid"
)

// machine drives an allocator and the oracle side by side. Its checks are in
// property_test.go.
type machine struct {
	store *faulty
	// limits are the store's. Where it has any, no reply is lost: how far a change
	// has come then is not for the oracle to say (see parts_property_test.go).
	limits allocator.Limits
	clock  clock
	cfg    allocator.Config
	a      *allocator.Allocator
	o      *oracle
	start  time.Duration // clock.running when a was opened
	base   time.Duration // the table's clock then
	lost   bool          // the reply to the last commit is lost, and not yet found out
	// told is the table as OnCommit told of it; all is what the store had after
	// the last step.
	told map[vip.Key]*vip.Row
	all  allocator.State
	// toldMoves are the moves that OnCommit told of in the step at hand.
	toldMoves []allocator.Move
	// last is who had an address last, and since when nobody does.
	last map[netip.Addr]release
	// reported, if not nil, is what the last Apply reported.
	reported *allocator.Report
	// ticked: the step at hand was a Tick that was done. looked: what should
	// move was looked at anew in it.
	ticked, looked bool
	// doubtful: the step at hand began with a commit in doubt.
	doubtful bool
	// expected, if not empty, is what a twin that was started anew made of the
	// batch of the step at hand.
	expected string
	// ids say what the plan of each name would move.
	ids map[string]string
}

func newMachine(t *rapid.T) *machine {
	limits := rapid.SampledFrom([]allocator.Limits{{}, {}, {}, {Keys: 8}, {Keys: 11}}).Draw(t, "limits")
	m := &machine{
		store: &faulty{Store: memstore.NewLimited(limits)}, limits: limits, o: newOracle(), clock: clock{wall: time.Unix(1e9, 0)},
		told: make(map[vip.Key]*vip.Row), last: make(map[netip.Addr]release), ids: make(map[string]string),
	}
	m.cfg = allocator.Config{
		Layout: someLayout().Draw(t, "layout"), Cooldown: m.someCooldown().Draw(t, "cooldown"), MaxRelease: someLimit().Draw(t, "limit"),
		Forget:  rapid.SampledFrom([]int{1, 3, 1000}).Draw(t, "forget"),
		Now:     func() time.Time { return m.clock.wall },
		Running: func() time.Duration { return m.clock.running },
		OnCommit: func(c allocator.Commit) {
			for _, r := range c.Rows {
				if delete(m.told, r.Key); r.New != nil {
					m.told[r.Key] = r.New
				}
			}
			m.toldMoves = append(m.toldMoves, c.Moves...)
		},
	}
	m.store.look = func() {
		if err := allocator.Check(m.load(t)); err != nil {
			t.Fatalf("after a commit: %v", err)
		}
	}
	m.o.forget = m.cfg.Forget
	m.quarantine(t)
	m.open(t)
	return m
}

// someCooldown draws a cooldown; where a change may be in parts, one that does not
// end in the nanoseconds between these, for the oracle knows them as one.
func (m *machine) someCooldown() *rapid.Generator[time.Duration] {
	if m.limits == (allocator.Limits{}) {
		return someCooldown()
	}
	return rapid.SampledFrom([]time.Duration{time.Minute + time.Millisecond, time.Hour + time.Millisecond})
}

// quarantine makes the store, which nobody has open, one that was restored and
// does not know who had some addresses.
func (m *machine) quarantine(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "restored") > 0 {
		return
	}
	meta := m.load(t).Meta
	for range rapid.IntRange(1, 2).Draw(t, "quarantines") {
		from := somePlace().Draw(t, "quarantine")
		to := from
		for range rapid.IntRange(0, 4).Draw(t, "more") {
			to = to.Next()
		}
		until := meta.Clock + rapid.SampledFrom([]time.Duration{1, time.Minute, 30 * time.Minute}).Draw(t, "for")
		meta.Quarantine = append(meta.Quarantine, allocator.Quarantine{Range: netipx.IPRangeFrom(from, to), Until: until})
	}
	d := allocator.Delta{Base: meta.Revision, Meta: meta}
	d.Meta.Revision++
	d.Meta.Serial++
	if err := m.store.Store.Commit(context.Background(), d); err != nil {
		t.Fatal(err)
	}
	m.o.quarantine = slices.Clone(meta.Quarantine)
	t.Logf("quarantined: %v", meta.Quarantine)
}

// open opens the allocator as it would be after a restart.
func (m *machine) open(t *rapid.T) {
	a, err := allocator.Open(context.Background(), m.store, m.cfg)
	if err != nil {
		t.Fatalf("opening: %v", err)
	}
	m.a, m.start, m.base = a, m.clock.running, m.load(t).Meta.Clock
	m.lost, m.store.silent = false, false
	m.o.held, m.o.incomplete = make(map[string]holding), ""
	m.told = make(map[vip.Key]*vip.Row)
	for _, r := range a.Rows() {
		m.told[r.Key()] = r
	}
	m.follow(t)
}

// follow gives the oracle the configuration.
func (m *machine) follow(t *rapid.T) {
	t.Logf("layout %v, cooldown %v, limit %v", m.cfg.Layout, m.cfg.Cooldown, m.cfg.MaxRelease)
	m.o.layout, m.o.cooldown, m.o.limit = m.cfg.Layout, m.cfg.Cooldown, m.cfg.MaxRelease
}

func (m *machine) load(t *rapid.T) allocator.State {
	s, err := m.store.Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// since is the table's clock, unless that has to stay ahead of the last commit.
func (m *machine) since() time.Duration { return m.base + m.clock.running - m.start }

// change runs an operation that may commit, under a fault that is drawn. The
// oracle does the same in steps, as far as the operation can have come.
func (m *machine) change(t *rapid.T, steps []func(o *oracle) bool, do func() error) (done bool) {
	faults := []string{"", "", "", "", "before", "after"}
	if m.limits != (allocator.Limits{}) {
		faults = faults[:5]
	}
	fault := rapid.SampledFrom(faults).Draw(t, "fault")
	m.store.before, m.store.after = fault == "before", fault == "after"
	stuck := m.lost && m.store.silent
	commits := m.store.commits
	err := do()
	t.Logf("fault %q: %v", fault, err)
	m.store.before, m.store.after = false, false
	if stuck {
		if err == nil || m.store.commits != commits {
			t.Fatalf("went on with a commit in doubt: %v", err)
		}
		return false
	}
	if err != nil && (!errors.Is(err, errFault) || fault == "") {
		t.Fatalf("failed: %v", err)
	}
	m.lost = err != nil
	wrote := 0
	for _, step := range steps {
		next := m.o.clone()
		writes := step(next)
		if writes && err != nil && fault == "before" {
			break
		}
		if *m.o = *next; writes {
			wrote++
			if err != nil {
				break // it is done, and nobody knows yet
			}
		}
	}
	m.clockWritten(t, m.store.commits-commits, wrote, err == nil && len(steps) == tickStages)
	return err == nil
}

// clockWritten: an operation has written what it changed, or, where it is a Tick
// that changes nothing, the clock while addresses cool down.
func (m *machine) clockWritten(t *rapid.T, commits, wrote int, tick bool) {
	if m.limits != (allocator.Limits{}) && wrote > 0 && commits > wrote {
		m.inParts(t, commits)
		commits = wrote
	}
	now := m.o.at(m.since())
	cooling := len(m.o.quarantine) > 0
	for _, r := range m.o.past {
		cooling = cooling || r.at > now-m.o.cooldown
	}
	if commits == 1 && wrote == 0 {
		m.o.commitAsIs(now, func() {})
		return
	}
	if commits != wrote || tick && wrote == 0 && cooling {
		t.Fatalf("%d commits, want %d; an address cools down: %v", commits, wrote, cooling)
	}
}

// inParts tells the oracle that a step was written in n parts: each is a little later
// than the one before.
func (m *machine) inParts(t *rapid.T, n int) {
	s := m.load(t)
	near := func(at, want time.Duration) time.Duration {
		if d := at - want; 0 <= d && d < time.Duration(n) {
			return at
		}
		return want
	}
	m.o.clock = near(s.Meta.Clock, m.o.clock)
	for _, h := range s.Addrs {
		if was, ok := m.o.past[h.Addr]; ok && h.Released && was.owner == h.Owner {
			m.o.past[h.Addr] = release{h.Owner, near(h.At, was.at)}
		}
	}
}

func (m *machine) apply(t *rapid.T) {
	b := someBatch().Draw(t, "batch")
	t.Logf("apply %s", batchText(b))
	m.twin(t, b)
	m.change(t, []func(o *oracle) bool{
		func(o *oracle) bool { return o.lapse(m.since()) },
		func(o *oracle) bool { return o.apply(b, m.since()) },
	}, func() error {
		r, err := m.a.Apply(context.Background(), b)
		if err == nil {
			m.reported = &r
		}
		return err
	})
}

func (m *machine) tick(t *rapid.T) {
	m.ticked = m.change(t, stages(m.since(), m.confirmed), func() error { return m.a.Tick(context.Background()) })
	m.looked = m.looked && m.ticked
}

// confirmed reports whether the plan that is confirmed is the one that id says.
func (m *machine) confirmed(id string) bool {
	return m.cfg.Confirm != "" && m.ids[m.cfg.Confirm] == id
}

// confirm lets the operator confirm the plan that waits, one that waited once,
// or one that never was.
func (m *machine) confirm(t *rapid.T) {
	name := m.a.Moves().Name
	if m.ids[name] == "" { // the Tick that found it failed later
		name = ""
	}
	names := []string{name, name, "0-00000000", ""}
	for name := range m.ids {
		names = append(names, name)
	}
	slices.Sort(names[4:])
	m.cfg.Confirm = rapid.SampledFrom(names).Draw(t, "plan")
	m.look(t)
}

// look has the allocator look at everything anew, as a reload would.
func (m *machine) look(t *rapid.T) {
	if err := m.a.Configure(m.cfg); err != nil {
		t.Fatal(err)
	}
	m.looked = true
	m.tick(t)
}

func (m *machine) advance(t *rapid.T) {
	d := rapid.SampledFrom([]time.Duration{1, time.Second, 59 * time.Second, time.Minute, time.Hour}).Draw(t, "time")
	m.clock.running += d
	m.clock.wall = m.clock.wall.Add(d)
	t.Logf("%v later", d)
}

func (m *machine) jump(t *rapid.T) {
	m.clock.wall = m.clock.wall.Add(time.Duration(rapid.IntRange(-1000, 1000).Draw(t, "hours")) * time.Hour)
}

// setOptions tells of what else answers depend on: of the table it changes the
// serial only.
func (m *machine) setOptions(t *rapid.T) {
	options := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "options")
	m.change(t, []func(o *oracle) bool{func(o *oracle) bool {
		if o.options == options {
			return false
		}
		return o.commitAsIs(o.at(m.since()), func() { o.options = options })
	}}, func() error { return m.a.SetOptions(context.Background(), options) })
}

func (m *machine) silence(t *rapid.T) {
	m.store.silent = rapid.Bool().Draw(t, "silent")
}

func (m *machine) configure(t *rapid.T) {
	if rapid.Bool().Draw(t, "other layout") {
		m.cfg.Layout = someLayout().Draw(t, "layout")
	}
	m.cfg.Cooldown, m.cfg.MaxRelease = m.someCooldown().Draw(t, "cooldown"), someLimit().Draw(t, "limit")
	if err := m.a.Configure(m.cfg); err != nil {
		t.Fatal(err)
	}
	m.follow(t)
}

func (m *machine) restart(t *rapid.T) {
	if rapid.Bool().Draw(t, "cleanly") {
		commits := m.store.commits
		if err := m.a.Close(); err != nil {
			t.Fatalf("closing: %v", err)
		}
		m.clockWritten(t, m.store.commits-commits, 0, !m.lost)
	}
	m.clock.running = time.Duration(rapid.IntRange(0, 1000).Draw(t, "new process's time"))
	if rapid.Bool().Draw(t, "other layout") {
		m.cfg.Layout = someLayout().Draw(t, "layout")
	}
	m.quarantine(t)
	m.open(t)
}

// batchText returns a batch in words, for whoever reads why a test failed.
func batchText(b vip.Batch) string {
	text := fmt.Sprintf("full %v, incomplete %q:", b.Full, b.Incomplete)
	for _, u := range b.Meshes {
		text += fmt.Sprintf(" mesh %s, gone %v, drops %v, sets", u.Mesh, u.Gone, u.Drop)
		for _, r := range u.Set {
			text += fmt.Sprintf(" %v %v", r.Entry, r.Outbounds[0].Port)
			if r.Terms != nil {
				text += fmt.Sprintf(" (static %v, given %v, follow %v)", r.Terms.Static, r.Terms.Given, r.Terms.Follow)
			}
		}
		text += ";"
	}
	return text
}
