package allocator

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator/failpoint"
	"github.com/meshvip/coredns-meshvip/vip"
)

// Config is what an allocator works by.
type Config struct {
	// Layout is which addresses there are, and which are not for everybody.
	Layout Layout
	// Follows opens the allocator as one that follows what another writes: see
	// [Allocator.Follows].
	Follows bool
	// Confirm names a plan of moves that may be carried out (see [Moves]).
	Confirm string
	// ReportOnly lets a table that breaks an invariant stay as it is: what a
	// repair would do is logged, and not done.
	ReportOnly bool
	// Cooldown is how long a released address stays with its last owner.
	Cooldown time.Duration
	// MaxRelease bounds how many entries are released at once.
	MaxRelease Limit
	// Forget is how many past owners of addresses are remembered at least after
	// their cooldown; 0 is 100,000. As many as there are entries always are.
	Forget int
	// OnCommit, if not nil, is told of every commit, after it is durable and
	// before Apply returns. The allocator is locked meanwhile.
	OnCommit func(Commit)
	// Logger, if not nil, is told what an operator should know.
	Logger *slog.Logger
	// Now is the wall clock, for serials; Running is monotonic time, for
	// cooldowns. Nil: the real ones.
	Now     func() time.Time
	Running func() time.Duration
}

// Commit is what one transaction changed.
type Commit struct {
	Meta Meta
	Rows []RowChange // by key
	// Addrs are the addresses that changed hands, in their order. A repair does
	// not tell of them.
	Addrs []AddrChange
	// Meshes are the meshes whose table changed, sorted; MeshesGone those
	// whose table is no more; MeshesNew those of Meshes that have one from now on.
	Meshes, MeshesNew, MeshesGone []string
	// Allocated, Returned and Released count addresses, as in [Report].
	Allocated, Returned, Released int
	// Moves are the entries that got another address.
	Moves []Move
	// Took is how long the store took to make it durable.
	Took time.Duration
}

// Report tells what became of a batch.
type Report struct {
	// Allocated, Returned and Released count addresses: given to an entry for
	// the first time, given back to their last owner, and given up.
	Allocated, Returned, Released int
	// Exhausted are the entries that asked for an address in vain. Those that
	// wait already ask again only when there is one.
	Exhausted []vip.Key
	// Held are the releases that wait for the operator.
	Held []Hold
	// Refused is what was left out of the batch: entries without a name, and
	// their like.
	Refused []Refusal
}

// Allocator owns a table and its store. Its methods are safe for concurrent
// use; a change excludes every other call for as long as it is committed.
type Allocator struct {
	mu    sync.Mutex
	store Store
	cfg   Config
	t     *table
	// follows: another allocates, and the table is what the store shows.
	follows bool
	held    heldBack
	reasons map[string]string
	// incomplete is what the last batch lacked; held releases may not go while
	// it is not empty.
	incomplete string
	damaged    []Damage
	start      time.Duration // cfg.Running when the table's clock stood at base
	base       time.Duration
	doubt      *doubt
	closed     bool
	shared     bool // other replicas follow when this one leads
	chunk      int  // rows of a transaction
	// broken: the store breaks invariants, and the table is what a repair will
	// make of it. repaired counts its steps.
	broken   bool
	repaired int
	// reach is the last revision that a repair may have come to.
	reach uint64
	// half is a reconciliation that is not finished.
	half *half
	// reread: the store is to be loaded again before anything is written.
	reread bool
	tried  []Step // of a repair whose outcome is not known
	// served is the table's clock when waiting entries were last served.
	served time.Duration
	// whys says of entries that the commit on its way moves, or that a repair
	// has taken an address from, why.
	whys map[seat]Move
	// notes say of static addresses that are not had, why not.
	notes map[seat]string
	// moves are those that wait, as they were told last; unread: they may be
	// others by now.
	moves  Moves
	unread bool
	// wish is when they are to be looked at again, as in a plan.
	wish time.Duration
	// stale is what was last told of Config.Confirm.
	stale string
	// order has the keys in their order, once somebody has asked for it.
	order order
}

// started is the zero of the process's monotonic time.
var started = time.Now()

// Open loads the table of a store, verifies it, and makes cfg its
// configuration. It writes nothing: a table that breaks an invariant is repaired
// in the store by the first change (see [Allocator.Repair]). It returns the
// store's errors. The store is the allocator's from then on, and the caller's
// still if Open fails.
func Open(ctx context.Context, store Store, cfg Config) (*Allocator, error) {
	cfg.setDefaults()
	if err := cfg.Layout.Check(); err != nil {
		return nil, err
	}
	cfg.Layout = cfg.Layout.clone()
	state, err := store.Load(ctx)
	if err != nil {
		return nil, err
	}
	a := &Allocator{
		store: store, cfg: cfg, shared: cfg.Follows, chunk: chunkRows, damaged: state.Damaged, base: state.Meta.Clock, start: cfg.Running(),
		whys: make(map[seat]Move), notes: make(map[seat]string), unread: true, follows: cfg.Follows,
	}
	a.tellDamaged()
	a.take(state)
	if !a.follows {
		a.tellRetired()
	}
	return a, nil
}

// tellDamaged names the records that were set aside.
func (a *Allocator) tellDamaged() {
	for _, d := range a.damaged {
		a.cfg.Logger.Error("a record of the store cannot be read and is set aside; its address stays reserved",
			"record", d.Place, "error", d.Err)
	}
}

// Configure changes what the allocator works by: the layout, the cooldown, the
// limit, what is confirmed, and whether to repair. The rest of cfg does not count.
// Nothing moves: rows in a pool that is no longer configured stay where they
// are, and the pool gives out nothing more. What the change makes possible is
// done by the next Apply or Tick. One that follows only keeps it for the time
// when it leads.
func (a *Allocator) Configure(cfg Config) error {
	if err := cfg.Layout.Check(); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	was := a.cfg.Layout
	if !a.follows {
		// A longer cooldown may give somebody who waits their own back.
		a.t.relaid = a.t.relaid || a.cfg.Cooldown != cfg.Cooldown
	}
	a.cfg.Layout, a.cfg.Cooldown, a.cfg.MaxRelease = cfg.Layout.clone(), cfg.Cooldown, cfg.MaxRelease
	a.cfg.Confirm, a.cfg.ReportOnly = cfg.Confirm, cfg.ReportOnly
	if a.follows {
		return nil
	}
	a.unread = true
	if !was.equal(cfg.Layout) {
		a.t.lay(a.cfg.Layout)
		a.tellRetired()
	}
	return nil
}

// tellRetired names the pools that are kept only for the rows in them.
func (a *Allocator) tellRetired() {
	for _, p := range a.t.meta.Pools {
		if p.Retired {
			a.cfg.Logger.Warn("a pool is no longer configured: its entries keep their addresses, and it gives out no more;"+
				" it is dropped when the last of them has gone and cooled down, or when their move is confirmed",
				"pool", p.Prefix, "entries", a.t.used[p.Prefix])
		}
	}
}

func (c *Config) setDefaults() {
	if c.Forget == 0 {
		c.Forget = rememberAtLeast
	}
	if c.OnCommit == nil {
		c.OnCommit = func(Commit) {}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Running == nil {
		c.Running = func() time.Duration { return time.Since(started) }
	}
}

// mergePools returns the pools of a table under a configuration: those that
// are configured, in that order and where they stood, then the others,
// retired: what they gave stays where it is.
func mergePools(have []Pool, want Layout) []Pool {
	merged := make([]Pool, 0, len(want.Pools))
	for _, r := range want.Pools {
		p := newPool(r.Prefix)
		for _, h := range have {
			if h.Prefix == r.Prefix {
				p.Next = h.Next
			}
		}
		merged = append(merged, p)
	}
	for _, h := range have {
		if !slices.ContainsFunc(want.Pools, func(r Range) bool { return r.Prefix == h.Prefix }) {
			h.Retired = true
			merged = append(merged, h)
		}
	}
	return merged
}

// clock returns the table's running time. It never stands still or goes back.
func (a *Allocator) clock() time.Duration {
	return max(a.running(), a.t.meta.Clock+1)
}

// running is the clock without what the last commit says of it.
func (a *Allocator) running() time.Duration { return a.base + a.cfg.Running() - a.start }

// unix returns the wall clock as a serial.
func (a *Allocator) unix() uint32 { return uint32(a.cfg.Now().Unix()) }

// Apply makes the table what a batch asks for, and returns when that is
// durable. If it fails, what it reports is void, a part of a large batch may
// have been applied, and the caller should bring a full batch later.
func (a *Allocator) Apply(ctx context.Context, b vip.Batch) (Report, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.mayWrite(ctx); err != nil {
		return Report{}, err
	}
	b, refused := a.t.refuse(b, a.store.Limits())
	for _, r := range refused {
		a.cfg.Logger.Warn("left out of the table", "what", r.String())
	}
	p, err := a.change(ctx, b)
	if err != nil {
		return Report{}, err
	}
	report := p.report()
	report.Refused = refused
	return report, nil
}

// change plans a batch and commits the plan.
func (a *Allocator) change(ctx context.Context, b vip.Batch) (*plan, error) {
	if err := a.lapse(ctx); err != nil {
		return nil, err
	}
	p := a.newPlan(b.Changes())
	p.ask(b, a.cfg.MaxRelease)
	failpoint.Hit("planned")
	a.expect(p)
	err := a.commit(ctx, p.delta(a.unix(), a.t.meta.Synced || b.Full && !b.Unread), func() {
		a.logHolds(p)
		a.held, a.reasons, a.incomplete = p.held, p.reasons, b.Incomplete
	})
	if err == nil {
		a.note(p)
		a.t.relaid, a.served = false, p.now
	}
	return p, err
}

// Tick lets time and the operator do their work: entries that wait get the
// addresses whose cooldown or quarantine is over, held releases that are allowed now go, moves
// that are confirmed are made, owners of long ago are forgotten, and the table's
// clock is made durable while addresses cool. Call it about once a minute, when
// [Allocator.Due] says so, and after Configure.
func (a *Allocator) Tick(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.mayWrite(ctx); err != nil {
		return err
	}
	before := a.t.meta.Revision
	if _, err := a.change(ctx, vip.Batch{Incomplete: a.incomplete}); err != nil {
		return err
	}
	if _, err := a.move(ctx, ""); err != nil {
		return err
	}
	if err := a.forget(ctx); err != nil {
		return err
	}
	if a.t.meta.Revision == before && a.t.cooling(a.clock()-a.cfg.Cooldown) {
		return a.commit(ctx, a.metaDelta(), func() {})
	}
	return nil
}

// SetOptions raises the serial if options, a fingerprint of whatever else
// answers depend on, is not what the table has seen last.
func (a *Allocator) SetOptions(ctx context.Context, options string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.mayWrite(ctx); err != nil || a.t.meta.Options == options {
		return err
	}
	d := a.metaDelta()
	d.Meta.Options = options
	d.Meta.Serial = nextSerial(d.Meta.Serial, a.unix())
	return a.commit(ctx, d, func() {})
}

// Close closes the store, to which one that leads writes the table's clock before.
// Rows that were handed out stay valid.
func (a *Allocator) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil
	}
	a.closed = true
	var err error
	if !a.follows && a.doubt == nil && a.t.cooling(a.clock()-a.cfg.Cooldown) {
		// Or the cooldown would be up to a minute longer than it was.
		err = a.commit(context.Background(), a.metaDelta(), func() {})
	}
	return errors.Join(err, a.store.Close())
}
