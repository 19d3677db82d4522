package admin

import (
	"net/netip"
	"time"
)

// Changes answers GET /v1/changes: commits, the oldest first.
type Changes struct {
	// Complete: all changes since the asked serial are here or follow. False
	// where the server does not remember as far back.
	Complete bool `json:"complete"`
	// Next is what to ask with as since to go on from here.
	Next string `json:"next"`
	// More: there are more changes after these already.
	More    bool     `json:"more"`
	Changes []Change `json:"changes"`
}

// Change is one commit of the table.
type Change struct {
	// ID is "SERIAL.REVISION", what to go on from after this change.
	ID       string    `json:"id"`
	Serial   uint32    `json:"serial"`
	Revision uint64    `json:"revision"`
	Time     time.Time `json:"time"`
	Events   []Event   `json:"events"`
}

// What happened, in an [Event].
const (
	Allocated    = "allocated"     // Entry got To, which nobody had, or another has had
	Returned     = "returned"      // Entry got To back
	ReleasedAddr = "released"      // Entry gave up From
	Moved        = "moved"         // Entry has To in the place of From
	Listed       = "listed"        // Mesh lists Entry
	Unlisted     = "unlisted"      // Mesh no longer lists Entry
	Changed      = "changed"       // Mesh says something else of Entry
	GivenChanged = "given_changed" // Kuma gave Entry what Given says
	Forgotten    = "forgotten"     // it is forgotten that Entry had From
	MeshCreated  = "mesh_created"  // Mesh has a table
	MeshGone     = "mesh_gone"     // Mesh has none any more
)

// Event is one thing that a commit did.
type Event struct {
	// What happened: see [Allocated] and its like.
	What  string       `json:"what"`
	Entry string       `json:"entry,omitempty"`
	Mesh  string       `json:"mesh,omitempty"`
	From  netip.Addr   `json:"from,omitzero"`
	To    netip.Addr   `json:"to,omitzero"`
	Given []netip.Addr `json:"given,omitempty"`
	// Why says of a move what was wrong with From.
	Why string `json:"why,omitempty"`
}

// Gap is the data of the stream's event "gap": changes are missing here, those
// after Since and before Next. It comes first where since reaches too far back,
// and last, before the end, where a client was too slow.
type Gap struct {
	Since string `json:"since"`
	Next  string `json:"next"`
}
