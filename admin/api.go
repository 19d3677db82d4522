package admin

import (
	"net/netip"
	"time"
)

// The types of this file and of the api_*.go beside it are what the interface
// says, in JSON. Times are RFC 3339, durations seconds, addresses and prefixes
// text, and entries the text form of [vip.Entry.String]: "0:backend", or
// "3:mesh/name" for the kinds that are keyed by their mesh. Lists are never
// null. What is not known, because the server lacks the part that knows it, is
// not said, and named in the answer's Unknown.

// Status answers GET /v1/status: the server and its table at a glance.
type Status struct {
	// Version is the server's.
	Version string `json:"version"`
	// Offline: no server runs. The store was opened by the tool itself, and
	// what only a server knows is unknown.
	Offline bool `json:"offline"`
	// Store says where the table is, as the Corefile does: "bolt /data/meshvip.db".
	Store string `json:"store"`
	// StoreID is the random name that the store got when it was created.
	StoreID string `json:"store_id"`
	// Serial is the SOA serial, Revision counts commits, Generation the plans of
	// moves that were carried out.
	Serial     uint32 `json:"serial"`
	Revision   uint64 `json:"revision"`
	Generation uint64 `json:"generation"`
	// Loaded: the table has been read. Synced: the sources were read completely
	// once, so that what is not in the table is known not to exist.
	Loaded bool `json:"loaded"`
	Synced bool `json:"synced"`
	// Started is when the server started.
	Started time.Time `json:"started,omitzero"`
	// CooldownSeconds is how long a released address stays with its owner.
	CooldownSeconds float64 `json:"cooldown_seconds"`
	// MaxRelease is how many entries may be released at once, in words.
	MaxRelease string `json:"max_release"`
	// Zones are the forward zones that names are answered in.
	Zones []string `json:"zones"`
	// Confirm is the plan of moves that the configuration lets go, if any.
	Confirm string `json:"confirm,omitempty"`
	Counts  Counts `json:"counts"`
	// Role is "single" where nobody else has the table, "leader" or "follower"
	// where several have it; not said where no server runs. Leader is the name of
	// the one that allocates, if there is one.
	Role   string `json:"role,omitempty"`
	Leader string `json:"leader,omitempty"`
	// LagRevisions is by how many commits the table is behind the store, and
	// ContactAgeSeconds how long ago it was known to be what the store has. Both
	// are said where several have the table.
	LagRevisions      *uint64  `json:"lag_revisions,omitempty"`
	ContactAgeSeconds *float64 `json:"contact_age_seconds,omitempty"`
}

// The roles of servers.
const (
	Single   = "single"
	Leads    = "leader"
	Follower = "follower"
)

// Counts are how many there are of everything.
type Counts struct {
	Entries int `json:"entries"`
	Meshes  int `json:"meshes"`
	// Waiting entries lack an address, Refused static addresses are not had,
	// Held entries are no longer listed and kept all the same, Moves wait for
	// their confirmation, Damaged records could not be read.
	Waiting int `json:"waiting"`
	Refused int `json:"refused"`
	Held    int `json:"held"`
	Moves   int `json:"moves"`
	Damaged int `json:"damaged"`
	// Repaired are steps of repair since the start.
	Repaired int `json:"repaired"`
}

// Meshes answers GET /v1/meshes.
type Meshes struct {
	Meshes []Mesh `json:"meshes"`
}

// Mesh is a mesh that has a table, and how many entries it lists.
type Mesh struct {
	Name    string `json:"name"`
	Entries int    `json:"entries"`
}

// Pools answers GET /v1/pools: in the order in which they are used, retired ones
// last.
type Pools struct {
	Pools []Pool `json:"pools"`
}

// Pool is a range that addresses are taken from. Numbers are of addresses.
type Pool struct {
	Prefix netip.Prefix `json:"prefix"`
	// Retired: it is no longer configured, and is kept for those in it. Drain:
	// it gives out no new address.
	Retired bool `json:"retired"`
	Drain   bool `json:"drain"`
	// Size is what the pool can give out, statics included and excluded
	// addresses not, at most 2^63-1.
	Size uint64 `json:"size"`
	// Live have an entry; Cooling had one, and nobody else gets them yet; Past
	// had one, and may be had by others. Free are Size without those that are
	// live or cool down.
	Live    uint64 `json:"live"`
	Cooling uint64 `json:"cooling"`
	Past    uint64 `json:"past"`
	Free    uint64 `json:"free"`
	// Next is the address that the pool would give a newcomer now; none where
	// it would give none.
	Next netip.Addr `json:"next,omitzero"`
	// Exclude are given to nobody, Reserve to statics only: "FROM-TO".
	Exclude []string `json:"exclude"`
	Reserve []string `json:"reserve"`
}

// Sources answers GET /v1/sources. A follower has none: the one that allocates
// follows them.
type Sources struct {
	Sources []Source `json:"sources"`
	// Incomplete says what of the sources could not be read by now. While it is
	// not empty nothing is released.
	Incomplete string `json:"incomplete,omitempty"`
}

// Source is a place that desired state comes from, and how it fares.
type Source struct {
	// Name is as the Corefile has it: "file /etc/meshvip".
	Name string `json:"name"`
	// Synced: it was read completely once.
	Synced bool `json:"synced"`
	// LastSync is when it was last read well.
	LastSync time.Time `json:"last_sync,omitzero"`
	// Errors counts the problems since the start.
	Errors uint64 `json:"errors"`
	// Problems are what is wrong now.
	Problems []Problem `json:"problems"`
}

// Problem is something about a source that an operator should put right.
type Problem struct {
	Place string `json:"place"`
	What  string `json:"what"`
}

// Verified answers GET /v1/verify: the store, read back and held against the
// invariants and against the table in memory.
type Verified struct {
	OK bool `json:"ok"`
	// Breaches are what is wrong, one a line.
	Breaches []string `json:"breaches"`
	Serial   uint32   `json:"serial"`
	Revision uint64   `json:"revision"`
}

// Failure is the body of every answer that is an error.
type Failure struct {
	// Error says what is wrong and what to do about it.
	Error string `json:"error"`
	Code  Code   `json:"code"`
}

// Code sorts errors by what a caller can do about them.
type Code string

// The codes of errors.
const (
	// NotFound: there is no such thing, or no such path.
	NotFound Code = "not_found"
	// BadRequest: the request is wrong, and will be.
	BadRequest Code = "bad_request"
	// Conflict: what is to be done is another by now: look again.
	Conflict Code = "conflict"
	// Unavailable: not now, or not by this server.
	Unavailable Code = "unavailable"
	// Internal: the server failed.
	Internal Code = "internal"
)
