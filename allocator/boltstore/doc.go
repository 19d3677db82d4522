// Package boltstore keeps a table in one bbolt file.
//
// # Layout
//
//	meshvip/                format (uint32), id, meta
//	addresses/  ADDR        → holding: owner, since when, and when it was released
//	entries/    KEY         → the entry's addresses
//	meshes/     MESH/ KEY   → the mesh's listing: spelling, outbounds
//
// ADDR is 4 or 16 bytes in network order. KEY is the kind (one byte), the
// length of the mesh (uvarint), the mesh and the folded name. A value is a
// version byte, the content, and a CRC-32C over key, version and content, so
// that a rotten record is known as such and set aside alone.
//
// A store of format 1, whose listings have every text in full, or of format 2,
// which does not know since when who has an address, is read as it is and becomes
// one of format 3 with its first commit: what is written from then on an older
// version would not understand, and so it refuses the store.
//
// There is one key for each address that anybody has or had: that two entries
// have one address cannot be written down. A mesh's own table is the bucket of
// its name.
//
// [Create] makes the store of a state in one step, for imports and for restores:
// whole or not at all.
//
// # Caveats
//
// The file is locked (flock): a second process waits [Options.Timeout] and then
// gets [allocator.ErrLocked], and so does a second Open in this process. A
// file is looked at before bbolt opens it, and every page before bbolt follows
// it, because bbolt initialises an empty file and takes the process down on some
// that are cut short or overwritten. bbolt would go on with the older of its two
// metas where the newer is lost; this store does not, for it would give the
// addresses of the last commit again. Nothing is ever written to a file that
// could not be read.
package boltstore
