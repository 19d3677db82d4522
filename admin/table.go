package admin

import (
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/names"
	"github.com/meshvip/coredns-meshvip/vip"
)

// Table is what a [Handler] serves: an address table and the parts around it.
// Parts that there are not are nil, and what they would know is unknown. It is
// not changed while it is served.
type Table struct {
	// Alloc is the table itself. It is required.
	Alloc *allocator.Allocator
	// Index and Zones say which names entries have: Zones are the forward zones
	// of all server blocks in their order, lower case, with the final dot.
	Index *names.Index
	Zones []string
	// ZonesNow, if not nil, counts in the place of Zones where they may change.
	ZonesNow func() []string
	// Sources says how the sources fare.
	Sources func() []Source
	// Resources says which resources ask for an entry.
	Resources func(vip.Key) []Resource
	// Changes remembers what commits did. Who makes it closes it.
	Changes *Recorder
	// Started is when the server started, Version its version, Store where the
	// table is durable, as the Corefile says it.
	Started time.Time
	Version string
	Store   string
	// Offline: there is no server.
	Offline bool
	// Replication says what part the server has in a table that others have too.
	// It is nil, or returns nil, where nobody else does.
	Replication func() *Replication
}

// Replication is the part of a server in a table that several have.
type Replication struct {
	// Leads: it is the one that allocates, and not one that follows.
	Leads bool
	// Leader is the name of the one that allocates; empty where none does, or it
	// is not known.
	Leader string
	// Lag is by how many commits the table is behind the store, as it was asked
	// last; Age is how long ago the table was known to be what the store has.
	Lag uint64
	Age time.Duration
}
