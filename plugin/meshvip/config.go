package meshvip

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coredns/coredns/plugin/pkg/fall"
	"github.com/meshvip/coredns-meshvip/allocator"
	"go4.org/netipx"
)

// Defaults of the properties that may be left out.
const (
	defaultStoreFile   = "meshvip.db" // in the root directory
	defaultTTL         = 60           // seconds
	defaultNegativeTTL = 5            // seconds
	defaultCooldown    = 24 * time.Hour
	defaultKumaZone    = "default" // Kuma's own default
	defaultKumaDomain  = "mesh"    // Kuma's own default

	// maxTTL bounds ttl and negative_ttl, in seconds. As in CoreDNS's
	// kubernetes plugin; 0 is allowed and asks that nothing is cached.
	maxTTL = 3600
)

// Config is one server block's meshvip.
type Config struct {
	// Place is where the plugin stands, "Corefile:3".
	Place   string
	Runtime RuntimeConfig
	Block   BlockConfig
}

// Stated is the value of a property, and where the Corefile states it. Where
// it does not, the value is the default.
type Stated[T any] struct {
	Value T
	// Place is "Corefile:3", or empty where the value is the default.
	Place string
}

// Stated reports whether the Corefile states the property.
func (s Stated[T]) Stated() bool { return s.Place != "" }

// RuntimeConfig holds the properties that belong to the runtime, which several
// server blocks may share: one block states them, and the others repeat them
// or leave them out.
type RuntimeConfig struct {
	// Place is where the plugin stands that the properties were read from.
	Place string
	// Pools are sorted by address and do not overlap. No pool means that the
	// block states none.
	Pools []PoolConfig
	// Statics are sorted by entry. Each address and each family of an entry
	// stands there once.
	Statics []StaticConfig
	// Sources are where desired state comes from, in the order of the Corefile.
	// No source means that the block states none.
	Sources []SourceConfig
	Store   Stated[StoreConfig]
	// Cooldown is how long a released address stays with its last owner.
	Cooldown Stated[time.Duration]
	// KumaZone is the name of our own Kuma zone.
	KumaZone Stated[string]
	// KumaDomain is the DNS domain that Kuma names gateways in.
	KumaDomain Stated[string]
	// MaxRelease has no value where it is not stated: the allocator's own rule
	// holds then.
	MaxRelease Stated[MaxRelease]
	// Confirm names the plan of moves that may be carried out; empty: none.
	Confirm Stated[string]
	// Repair says what becomes of a table that breaks its rules.
	Repair Stated[RepairMode]
	// Publish says where tables are published to, and how.
	Publish Stated[PublishConfig]
	// Admin is the address of the admin interface, "unix:PATH" or "HOST:PORT";
	// empty where there is none.
	Admin Stated[string]
}

// PoolConfig is one range that addresses are taken from.
type PoolConfig struct {
	Prefix netip.Prefix // masked
	Place  string
	// Exclude and Reserve lie in Prefix, and not in each other. Each is sorted,
	// and what overlaps or touches is joined: equal sets are equal lists.
	Exclude, Reserve []netipx.IPRange
	Drain            bool
}

// equal reports whether c and o say the same, wherever they stand.
func (c PoolConfig) equal(o PoolConfig) bool {
	return c.Prefix == o.Prefix && c.Drain == o.Drain &&
		slices.Equal(c.Exclude, o.Exclude) && slices.Equal(c.Reserve, o.Reserve)
}

// PublishConfig says where tables are published to, and how.
type PublishConfig struct {
	Dir string // the absolute path of the directory, or empty
	// Tags and BackendRefs are the forms of outbounds: those that name the tag of
	// a service, and those that refer to one of Kuma's newer resources.
	Tags, BackendRefs bool
}

// String returns the property as the Corefile writes it.
func (p PublishConfig) String() string {
	s := p.Dir
	if p.Tags {
		s += " tags"
	}
	if p.BackendRefs {
		s += " backendRef"
	}
	return s
}

// StoreConfig says where the table is durable.
type StoreConfig struct {
	Kind string     // "bolt", "memory" or "etcd"
	Path string     // bolt: the absolute path of the file
	Etcd EtcdConfig // etcd: where and how
}

// String returns the store as the Corefile writes it.
func (s StoreConfig) String() string {
	switch s.Kind {
	case storeEtcd:
		return s.Kind + " " + s.Etcd.String()
	case "bolt":
		return s.Kind + " " + s.Path
	}
	return s.Kind
}

// MaxRelease is how many entries may be released at once.
type MaxRelease struct {
	N       int
	Percent bool // N is a percentage, 0-100, of a mesh's entries
}

// String returns the limit as the Corefile writes it.
func (m MaxRelease) String() string {
	if m.Percent {
		return strconv.Itoa(m.N) + "%"
	}
	return strconv.Itoa(m.N)
}

// RepairMode says what becomes of a table that breaks its rules.
type RepairMode string

// The ways to repair: at the start, and when a Corefile that states it is
// loaded; or never, and to say only what there is to be repaired.
const (
	RepairTable  RepairMode = ""
	RepairReport RepairMode = "report"
)

// String returns the property as the Corefile writes it.
func (m RepairMode) String() string { return strings.TrimSpace("repair " + string(m)) }

// layout returns what the allocator is to know of addresses.
func (r RuntimeConfig) layout() allocator.Layout {
	var l allocator.Layout
	for _, p := range r.Pools {
		l.Pools = append(l.Pools, allocator.Range{Prefix: p.Prefix, Exclude: p.Exclude, Reserve: p.Reserve, Drain: p.Drain})
	}
	for _, s := range r.Statics {
		l.Statics = append(l.Statics, allocator.Static{Key: s.Key, Addr: s.Addr})
	}
	return l
}

// Prefixes returns the ranges of the pools, in their order.
func (r RuntimeConfig) Prefixes() []netip.Prefix {
	prefixes := make([]netip.Prefix, len(r.Pools))
	for i, p := range r.Pools {
		prefixes[i] = p.Prefix
	}
	return prefixes
}

// Stated reports whether the block states any property of the runtime. A block
// that states none refers to the runtime of another.
func (r RuntimeConfig) Stated() bool {
	return len(r.Pools) > 0 || len(r.Statics) > 0 || len(r.Sources) > 0 || r.Store.Stated() || r.Cooldown.Stated() ||
		r.KumaZone.Stated() || r.KumaDomain.Stated() || r.MaxRelease.Stated() || r.Confirm.Stated() || r.Repair.Stated() || r.Publish.Stated() ||
		r.Admin.Stated()
}

// BlockConfig holds the properties of one server block.
type BlockConfig struct {
	// Forward are the zones that names are answered in: lower case, fully
	// qualified, in the order of the Corefile, none twice.
	Forward []string
	// Reverse are the ranges of the reverse zones that the block lists, each on
	// an octet (v4) or nibble (v6) boundary. Empty: the block answers for every
	// pool.
	Reverse []netip.Prefix
	// TTL is of every record but a negative answer's SOA, in seconds.
	TTL Stated[uint32]
	// NegativeTTL is the SOA's minimum, in seconds.
	NegativeTTL Stated[uint32]
	// Meshes are the meshes whose entries are answered, sorted; empty: all.
	Meshes Stated[[]string]
	// NS are the addresses of ns.dns.ZONE.
	NS Stated[[]netip.Addr]
	// StaleServe says that the table is answered from however long etcd has not
	// been heard of.
	StaleServe Stated[bool]
	// Fall names the zones in which a name that does not exist is passed to the
	// next plugin.
	Fall fall.F
}
