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
//     address of an entry that is listed throughout.
//   - Many releases at once are held until they are confirmed (see [Limit]).
//   - The same table and the same batch give the same result, whatever the
//     order inside the batch.
//   - The cost of a change follows the change, not the table.
//
// # Where each is decided
//
//	pool.go      the ranges, and which of their addresses may be given out
//	table.go     the table in memory, changed only by a committed [Delta]
//	refuse.go    what no table can hold is left out of a batch
//	plan.go      (table, batch) → delta: a pure function
//	assign.go    which address an entry gets
//	cooldown.go  released addresses in the order in which they may be reused
//	hold.go      releases that are held back
//	store.go     what a store must do
//	split.go     large deltas as several transactions
//	adopt.go     rows of another table taken over into an empty one
//	check.go     the invariants, as code
//	allocator.go the thin shell: one batch, one plan, one commit, one callback
//
// # Caveats
//
// An [Allocator] is the only writer of its store. Rows that it hands out are
// immutable and stay valid for ever. [Config.OnCommit] runs while the allocator
// is locked: it must not call the allocator back.
package allocator
