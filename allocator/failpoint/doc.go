// Package failpoint names the places between every two steps of a change, so
// that a test can have the process die at exactly one of them.
//
// [Hit] compiles to nothing, unless the build tag failpoints is set. With it,
//
//	MESHVIP_FAILPOINT=NAME:N
//
// in the environment makes the N-th hit of NAME kill the process by SIGKILL on
// the spot: nothing deferred runs and nothing is flushed. It writes the line
// "failpoint NAME" to standard error before, so that a test can tell this death
// from others. With
//
//	MESHVIP_FAILPOINT=NAME:N:DURATION
//
// it stands still there that long before it dies, while all else goes on: what
// is answered meanwhile must be true after the death.
//
// # The points
//
// In the order in which a change meets them:
//
//	planned          a batch is planned, and nothing is written
//	before-store     a transaction is about to go to the store
//	store-begun      the store's transaction has begun, on the revision of the plan
//	store-addresses  the address keys are written
//	store-meshes     the tables of new meshes are made
//	store-half       half of the rows are written
//	store-rows       all rows are written
//	store-gone       the tables of meshes that go are deleted
//	store-meta       the meta is written, and the store has yet to commit
//	store-committed  the store has committed
//	durable          the allocator knows that, and its table does not have it yet
//	table            the table has it, and the index does not yet
//	index            the index has it, and the serial is still the old one
//	serial           the serial is the new one, and the publisher does not know yet
//	publish          the tables of the meshes are about to be published
//	published        the files of one mesh are written, and maybe not those of others
//
// A name stands at one place only, as a string in the call of Hit. A test holds
// this list to the code.
package failpoint
