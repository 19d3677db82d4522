package vip

// Request is one entry that a mesh asks a VIP for.
type Request struct {
	Entry     Entry
	Outbounds []Outbound // sorted by [Outbound.Compare], without repetition
	Terms     *Terms     // nil where it asks for nothing more
}

// MeshUpdate is what changed in what one mesh asks for. In a [Batch] that is
// full it is all that the mesh asks for.
type MeshUpdate struct {
	Mesh string
	// Gone says that the mesh itself is no more: its table goes with it. Set
	// and Drop are then empty.
	Gone bool
	// Set are the entries that are new or that changed, one for each key.
	Set []Request
	// Drop are the entries that the mesh no longer asks for. Empty in a full
	// batch, where whatever Set lacks is dropped.
	Drop []Key
}

// Batch is a set of updates that are applied as one: at most one update for
// each mesh. The order inside a batch means nothing.
type Batch struct {
	// Full says that the batch is the whole of what the sources ask for:
	// meshes and entries that it lacks are no longer asked for.
	Full bool
	// Incomplete is not empty where a part of a source could not be read: it
	// says which, for the operator. Nothing may be released because of an
	// incomplete batch; it may only add and change.
	Incomplete string
	// Unread says that some source has never been read at all: a name that
	// nobody lists may well exist. Incomplete is not empty then.
	Unread bool
	Meshes []MeshUpdate
}

// Changes returns how many entries the batch sets or drops.
func (b Batch) Changes() int {
	n := 0
	for _, m := range b.Meshes {
		n += len(m.Set) + len(m.Drop)
	}
	return n
}
