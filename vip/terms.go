package vip

import (
	"net/netip"
	"slices"
)

// StaticTag is the tag by which a resource asks for an address of its own
// choice for its service, one a tag: "meshvip.io/vip: 240.0.0.9".
const StaticTag = "meshvip.io/vip"

// Terms are what a mesh asks of an entry beside its name and its outbounds.
// Most entries have none. Terms are immutable.
type Terms struct {
	// Static are the addresses that the entry is to have, at most one a family,
	// v4 first. They lie in a pool, and are allocated like others.
	Static []netip.Addr
	// Given are the addresses that Kuma gave to the entry, sorted, none twice.
	// They are answered as they stand, wherever they lie, and are not ours: an
	// entry that has any gets none from a pool, and two entries may have been
	// given the same.
	Given []netip.Addr
	// Hostnames are the full names that an entry of a kind that is keyed by its
	// mesh answers to: the one that a PTR shows first, none twice, without a
	// final dot. Other kinds have none: their names follow from their own.
	Hostnames []string
	// Follow says that only Kuma gives addresses to the entry: it gets none from
	// a pool, also while it has none.
	Follow bool
}

// Empty reports whether t asks for nothing.
func (t *Terms) Empty() bool {
	return t == nil || len(t.Static) == 0 && len(t.Given) == 0 && len(t.Hostnames) == 0 && !t.Follow
}

// Equal reports whether t and u ask for the same; nil is the same as empty.
func (t *Terms) Equal(u *Terms) bool {
	switch {
	case t == u:
		return true
	case t.Empty() || u.Empty():
		return t.Empty() && u.Empty()
	}
	return slices.Equal(t.Static, u.Static) && slices.Equal(t.Given, u.Given) && slices.Equal(t.Hostnames, u.Hostnames) &&
		t.Follow == u.Follow
}
