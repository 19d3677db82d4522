package allocator

import (
	"context"
	"errors"
	"iter"
	"net/netip"
	"time"

	"github.com/meshvip/coredns-meshvip/vip"
	"go4.org/netipx"
)

// Errors that a [Store] returns, wrapped with what and where.
var (
	// ErrConflict: the store is not in the state that the delta was planned
	// on, or somebody has an address that the delta takes. Nothing was written.
	ErrConflict = errors.New("the store has changed under the plan")
	// ErrLocked: another process has the store open.
	ErrLocked = errors.New("the store is in use by another process")
	// ErrDamaged: the store cannot be read. It was not written to.
	ErrDamaged = errors.New("the store is damaged")
	// ErrNewer: the store was written by a newer version. It was not written to.
	ErrNewer = errors.New("the store was written by a newer version")
	// ErrFollows: another replica allocates, and this one only follows the table.
	// Nothing was written.
	ErrFollows = errors.New("another replica allocates")
	// ErrClosed: the store, or the allocator, has been closed.
	ErrClosed = errors.New("closed")
)

// Store is where a table is durable. It is used by one allocator at a time,
// from one goroutine at a time.
//
// A store keeps one key for each address, and it is the store that enforces
// that an address has one holder: see Commit.
type Store interface {
	// Load returns everything that the store holds. Rows that it cannot read
	// are set aside in State.Damaged and left as they are; it returns
	// ErrDamaged, ErrNewer or ErrLocked where it cannot read the whole.
	Load(ctx context.Context) (State, error)
	// Commit makes d durable, all of it or nothing, before it returns nil. It
	// returns ErrConflict, having written nothing, unless the store's revision
	// is d.Base and the holding of every address in d.Addrs is still its Old,
	// whatever either says of Since.
	// What is beyond its Limits it refuses, having written nothing, too. After
	// any other error the caller does not know whether d was applied, and asks
	// Revision.
	Commit(ctx context.Context, d Delta) error
	// Revision returns the revision of the last commit that is known to be
	// durable. Where somebody else has committed since this store was loaded, it
	// returns ErrConflict.
	Revision(ctx context.Context) (uint64, error)
	// Limits returns what one Commit takes at most.
	Limits() Limits
	// Close releases the store. It does not wait for ever, and may be called
	// twice.
	Close() error
}

// Limits bound one Commit. A zero field is no bound.
type Limits struct {
	// Keys is how many keys a delta may write: see [Delta.Cost].
	Keys int
	// Bytes is how large a delta may be, by the same estimate.
	Bytes int
}

// Meta is what a table says of itself.
type Meta struct {
	// ID is a random name given to the store when it was created: two stores
	// with different IDs are different truths.
	ID string
	// Serial is the version that the SOA record shows: never 0 after the first
	// commit, never lower than it was, raised by whatever a query could see.
	Serial uint32
	// Revision counts commits.
	Revision uint64
	// Clock is the table's running time: it goes on only while an allocator
	// runs. Cooldowns are counted on it.
	Clock time.Duration
	// Pools are the ranges with their cursors, in the order of the
	// configuration, retired ones last: those that are configured no more.
	Pools []Pool
	// Generation counts the plans of moves that were confirmed and carried out.
	Generation uint64
	// Synced: all sources have been read once, so that a name which is not in the
	// table is known not to exist, but for what stands in parts that could not be
	// read.
	Synced bool
	// Options is a fingerprint of what else answers depend on.
	Options string
	// Quarantine are addresses of which it is not known who had them last.
	Quarantine []Quarantine
}

// Quarantine is a range of addresses that somebody may have had without the
// table's knowing, because it was restored from an older backup. Until the
// table's clock has reached Until, nobody gets one of them but an owner that the
// table remembers; then they are as free as others that a cursor has passed.
type Quarantine struct {
	Range netipx.IPRange
	Until time.Duration
}

// Holding is what the table knows of one address: who has it, or who had it
// last.
type Holding struct {
	Owner vip.Key
	// Released is true when the owner has given the address back. At is the
	// table's clock then, and Mesh the last mesh that listed the owner.
	Released bool
	At       time.Duration
	Mesh     string
	// Since is the wall clock in Unix seconds when the owner got the address, or
	// gave it back; 0 where that is not known. It is shown, and decides nothing.
	Since int64
}

// is reports whether h and o say the same but for Since.
func (h Holding) is(o Holding) bool {
	h.Since = o.Since
	return h == o
}

// Held is an address with its holding.
type Held struct {
	Addr netip.Addr
	Holding
}

// Damage is one record of a store that could not be read, and was set aside.
type Damage struct {
	// Place names the record: its bucket or prefix, and its key.
	Place string
	Err   error
	// Addr is the address that stays reserved because of it, if the record was
	// an address key.
	Addr netip.Addr
}

// State is the whole content of a store. The slices may be in any order.
type State struct {
	Meta Meta
	// Rows are the entries with the listings of every mesh.
	Rows []*vip.Row
	// Addrs are the address keys, as they stand.
	Addrs []Held
	// Meshes are the names of all meshes that have a table, empty ones too.
	Meshes  []string
	Damaged []Damage
}

// Unkeyed yields the addresses of rows of which the state has neither a key nor a
// record that was set aside, and whose they are: the key itself cannot be read, if
// some cannot.
func (s State) Unkeyed() iter.Seq2[netip.Addr, vip.Key] {
	known := make(map[netip.Addr]bool, len(s.Addrs)+len(s.Damaged))
	for _, h := range s.Addrs {
		known[h.Addr] = true
	}
	for _, d := range s.Damaged {
		known[d.Addr] = true
	}
	return func(yield func(netip.Addr, vip.Key) bool) {
		for _, row := range s.Rows {
			for _, a := range row.Addrs() {
				if !known[a] && !yield(a, row.Key()) {
					return
				}
			}
		}
	}
}

// RowChange is a row before and after: Old is nil for a row that is new, New
// for one that is gone.
type RowChange struct {
	Key      vip.Key
	Old, New *vip.Row
}

// AddrChange is a holding before and after. Old is nil where nobody ever had
// the address, or it is forgotten who had; New where it is to be forgotten: the
// key is deleted.
type AddrChange struct {
	Addr     netip.Addr
	Old, New *Holding
	// Fresh: the address was taken at the pool's cursor.
	Fresh bool
}

// Delta is one transaction: what to write so that a table becomes another.
type Delta struct {
	// Base is the revision that the delta was planned on.
	Base uint64
	// Meta is the table's meta afterwards; Meta.Revision is Base + 1, but where
	// a table that had gone back is made again (see [Allocator.Reconcile]): then
	// it is more.
	Meta Meta
	Rows []RowChange // by key
	// Addrs are the addresses that change hands, in their order.
	Addrs []AddrChange
	// MeshesNew and MeshesGone are the meshes whose table is created and
	// deleted, sorted. A mesh that goes has no listing left.
	MeshesNew, MeshesGone []string
}
