package allocator

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"

	"github.com/meshvip/coredns-meshvip/vip"
)

// Result is what became of an address that a table brings.
type Result string

// What can become of it.
const (
	// Kept: the entry has the address that it had.
	Kept Result = "kept"
	// Conflict: another entry has it, and the entry got another address.
	Conflict Result = "conflict"
	// Moved: the entry cannot have it for another reason, and got another.
	Moved Result = "moved"
	// New: the entry had none, and has one now.
	New Result = "new"
	// Waits: the entry has no address yet, for whatever reason.
	Waits Result = "waits"
	// LeftOut: the entry is not in the table.
	LeftOut Result = "left out"
)

// Rule is what decided that an entry does not keep an address.
type Rule string

// The rules, in no order; several claims to one address are settled by the first
// three, in this order.
const (
	// RuleStatic: it is the winner's by the operator's choice.
	RuleStatic Rule = "static"
	// RuleHolder: the winner has it in the table that the others are brought to.
	RuleHolder Rule = "holder"
	// RuleKey: the winner claims it too, and has the smaller key.
	RuleKey Rule = "key"
	// RuleMesh: an earlier mesh says another address for the same entry.
	RuleMesh Rule = "mesh"
	// RuleCooldown: the winner had it last, and it cools down.
	RuleCooldown Rule = "cooldown"
	// RuleQuarantine: somebody who is not known may have had it.
	RuleQuarantine Rule = "quarantine"
	// RulePool: it lies in no pool (see Outcome.Pool), or the pool has it for
	// nobody, or for others.
	RulePool Rule = "pool"
	// RuleGiven: Kuma gave it to an entry, or gave the entry others.
	RuleGiven Rule = "given"
	// RuleUnreadable: the record of who has it cannot be read.
	RuleUnreadable Rule = "unreadable"
	// RuleName: the entry's name is an IP address, which needs no other.
	RuleName Rule = "name"
	// RuleInvalid: no table can hold such an entry, or such a mesh.
	RuleInvalid Rule = "invalid"
)

// Outcome is what became of one address that a mesh's table has for an entry, or
// of an entry for which it has none.
type Outcome struct {
	Mesh string
	// Entry is spelled as the mesh does.
	Entry vip.Entry
	// From is the address in the table that is brought, the zero Addr if it has
	// none; To the one of its family that the entry has now, or where Kuma gave
	// it others, the first of those.
	From, To netip.Addr
	Result   Result
	// Rule says why From was not kept, Why the same in words, with what to do
	// about it. Both are empty where it was, or where there is no From.
	Rule Rule
	Why  string
	// Winner is who has From instead, by RuleStatic, RuleHolder, RuleKey and
	// RuleCooldown; by RuleMesh, WinnerMesh is the mesh whose address counts.
	Winner     vip.Key
	WinnerMesh string
	// Pool is the pool that could be configured so that From is kept, where it
	// lies in none.
	Pool netip.Prefix
}

// Import is what became of tables that were brought.
type Import struct {
	// Outcomes are sorted by entry, then by mesh, then by address.
	Outcomes []Outcome
	// Pools are those of the outcomes, none twice: with all of them configured
	// no address lies outside.
	Pools []netip.Prefix
}

// Count returns how many of the outcomes are of a result.
func (i Import) Count(r Result) (n int) {
	for _, o := range i.Outcomes {
		if o.Result == r {
			n++
		}
	}
	return n
}

// PlanImport returns what becomes of a table, the zero State for a new one, when
// rows are brought to it with the addresses that they have: the next state, and
// what became of each address. It changes nothing, is as good as pure (it asks
// cfg for the time), and leaves s as it is.
//
// Each row has what one mesh says of an entry; several of one entry become one
// row. What cannot stand is settled by the rules of repair: a static address
// before an automatic one, then the present holder, then the smaller key; of one
// entry with several addresses, the first mesh has the word. Nobody who is in the
// table already loses an address. Who is left without one gets another, in the
// same step, as far as the pools have any. What an entry had and nobody has any
// more cools down from now on.
//
// A static address that an entry does not claim is no reason to take the one away
// that it does: that is a move like any other, for the operator to confirm.
func PlanImport(s State, rows []*vip.Row, cfg Config) (State, Import, error) {
	cfg.setDefaults()
	cfg.Logger = slog.New(slog.DiscardHandler)
	if err := cfg.Layout.Check(); err != nil {
		return State{}, Import{}, err
	}
	if err := Check(s); err != nil {
		return State{}, Import{}, fmt.Errorf("the table breaks invariants: let it be repaired first: %w", err)
	}
	a := &Allocator{cfg: cfg, damaged: s.Damaged, base: s.Meta.Clock, start: cfg.Running()}
	a.t = newTable(s, cfg.Layout)
	p, done := a.planImport(rows)
	if d := p.delta(a.unix(), s.Meta.Synced); d != nil {
		a.t.apply(*d)
	}
	return a.t.state(s.Damaged), done, nil
}

// Import brings rows to the table, as [PlanImport] says, in one transaction, all
// of it or nothing, if the store takes as much in one. After an error other than the context's it may be there all
// the same, as after any commit.
func (a *Allocator) Import(ctx context.Context, rows []*vip.Row) (Import, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.mayWrite(ctx); err != nil {
		return Import{}, err
	}
	p, done := a.planImport(rows)
	a.expect(p)
	chunk := a.chunk
	a.chunk = max(chunk, len(p.edits))
	err := a.commit(ctx, p.delta(a.unix(), a.t.meta.Synced), func() {})
	a.chunk = chunk
	if err != nil {
		return Import{}, fmt.Errorf("importing %d rows: %w", len(rows), err)
	}
	a.note(p)
	a.t.relaid, a.served = false, p.now
	return done, nil
}

// planImport plans to bring rows to the table.
func (a *Allocator) planImport(rows []*vip.Row) (*plan, Import) {
	p := a.newPlan(len(rows))
	defer p.stopReuse()
	i := importer{plan: p}
	i.list(rows)
	i.settle()
	p.assign()
	return p, i.outcomes()
}
