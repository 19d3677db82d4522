// Package allocator keeps the address table: which entry has which virtual IP,
// for all meshes together, durable in a [Store].
//
// # What it promises
//
//   - An address belongs to at most one entry, over all meshes, addresses that
//     are cooling down included; an entry has at most one address a family.
//     The store holds a key for every address and refuses a commit that would
//     take one from somebody else.
//   - An address is visible only after the commit that gave it is on disk.
//   - A released address keeps its last owner for [Config.Cooldown], counted on
//     the table's own clock, and goes to another entry only after that, and
//     only when no address is left that was never used. An owner that comes
//     back gets its address back for as long as nobody else has it.
//   - Nothing moves by itself: no batch, restart or order of events changes the
//     address of an entry that is listed throughout. What a new [Layout] puts
//     out of place stays there until the operator confirms the plan of [Moves].
//   - A static address is never taken from somebody: it is refused, or waited
//     for. An address that Kuma gave is nobody's to give.
//   - Many releases at once are held until they are confirmed (see [Limit]).
//   - The same table and the same batch give the same result, whatever the
//     order inside the batch.
//   - A table that breaks an invariant is repaired with the least change, or
//     only reported, and never silently.
//   - The cost of a change follows the change, not the table and not the pools.
//   - Of several replicas over one store one leads, which allocates. All others
//     follow what it commits, write nothing, and show the same table, pools
//     included; each can take over at any time, and no cooldown is shortened by it.
//
// # Where each is decided
//
//	layout.go     what a configuration says of addresses
//	pool.go       the ranges, and which of their addresses may be given out
//	space.go      a pool under a layout: who may stay at which address
//	gaps.go       addresses that a pool's cursor passed over, and that are free
//	table.go      the table in memory, changed only by a committed [Delta]
//	build.go      the table of a state, and whether it is sound
//	refuse.go     what no table can hold is left out of a batch
//	plan.go       (table, batch) → delta: a pure function
//	statics.go    addresses of the operator's choice
//	assign.go     which address an entry gets else
//	waiting.go    entries that lack an address, in their order
//	cooldown.go   released addresses in the order in which they may be reused
//	quarantine.go addresses of which it is not known who had them last
//	due.go        when time will do something by itself
//	forget.go     who had an address long ago
//	hold.go       releases that are held back
//	moves.go      what a layout would move, and the operator's word for it
//	store.go      what a store must do
//	cost.go       what a delta takes of one commit
//	split.go      large deltas as several transactions
//	cutter.go     what goes into which, and rows in steps
//	commit.go     durable, then in the table, then told; and commits in doubt
//	role.go       who leads and who follows
//	patch.go      what a follower sees of a commit
//	follower.go   (table, patch) → delta: a pure function
//	follow.go     what another has committed, in the table
//	reload.go     the table read again
//	reconcile.go  a store that went back to an older state, made again
//	rewrite.go    (state, state) → parts, each of which leaves a sound table
//	imports.go    tables of elsewhere, and what becomes of each of their addresses
//	backup.go     a whole state as a file, and back
//	restore.go    a backup and what is left of a table made one
//	adopt.go      rows of another table taken over into an empty one
//	check.go      the invariants, as code
//	mend.go       (state) → sound state: a pure function
//	repair.go     reading a store back, and mending it
//	difference.go two states → delta
//	allocator.go  the thin shell: one batch, one plan, one commit, one callback
//
// # Memory
//
// An entry takes some 450 bytes in the table, its row and its strings included,
// more with several meshes or outbounds; see the benchmarks.
//
// # Caveats
//
// An [Allocator] that leads is the only writer of its store, and it is the store
// that sees to that. One that follows shows a table that breaks invariants as a
// repair would make it, and reads it again with each commit until it is sound. Rows that it hands out are
// immutable and stay valid for ever. [Config.OnCommit] runs while the allocator
// is locked: it must not call the allocator back.
package allocator
