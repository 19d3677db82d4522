package allocator

import (
	"net/netip"

	"github.com/meshvip/coredns-meshvip/vip"
)

// Patch is a transaction that another replica has committed, as the store shows
// it afterwards: what each key that was written holds now.
type Patch struct {
	// Base is the revision before, and Meta.Revision is Base + 1.
	Base uint64
	Meta Meta
	// Rows are the addresses of entries that were written; Listings what meshes
	// say of entries; Addrs who has an address. Each key stands there once.
	Rows     []RowPatch
	Listings []ListingPatch
	Addrs    []AddrPatch
	// MeshesNew and MeshesGone are the meshes whose table is created and deleted.
	MeshesNew, MeshesGone []string
}

// RowPatch is an entry's addresses, or that the entry has gone.
type RowPatch struct {
	Key    vip.Key
	V4, V6 netip.Addr
	Gone   bool
}

// ListingPatch is what a mesh says of an entry; Listing is nil where it lists it
// no more.
type ListingPatch struct {
	Key     vip.Key
	Mesh    string
	Listing *vip.Listing
}

// AddrPatch is who has an address; Holding is nil where that is forgotten.
type AddrPatch struct {
	Addr    netip.Addr
	Holding *Holding
}
