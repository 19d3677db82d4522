// Package names says which DNS names an entry of the address table answers to,
// who has each name, and holds the index that queries read.
//
// # Names
//
// A service answers below every zone that is served, by two spellings: its name
// as it stands (literal) and its name with every "_" as "." (dotted). A host
// and an fqdn answer to their own name (absolute), in the zones that cover it.
// An entry of a kind that is keyed by its mesh answers to the hostnames that it
// is told, which are absolute names too, and to nothing else.
//
// Names are held in lower case and in the form in which miekg/dns prints a name
// that it read from the wire, escapes included, so that a question's name is
// looked up as it came, whatever bytes it has.
//
// A spelling with an empty label, a label over 63 octets, or over 253 octets in
// all is not served; other spellings of the entry are. What a service's
// spelling is in all depends on the zone: it is measured below the longest zone
// of [Index.SetZones], so that an entry has the same names in every zone.
//
// # Owners
//
// A name has one owner: fqdn before host before literal before dotted, then the
// smaller key. A hostname ranks as an fqdn, and as its kinds have the greater
// keys, an fqdn of that name comes before it. The rule has no memory, and it is
// applied before any view's filter: a name whose owner a view hides is not
// answered for another entry.
//
// But for one exception: where the owner has the name as a hostname, a view that
// hides it answers the name for the next entry of a mesh that has it as a
// hostname and is shown, if there is one. Meshes give their services the same
// hostnames, and each is right in its own mesh. So in a view of one mesh its own
// is answered, and in a view of several the smaller key's of those. Entries that
// are not keyed by their mesh gain nothing by that: a host or a service whose name
// is a hostname of any mesh loses it in all views. [Index.Conflicts] and events
// are about the name over all meshes, as in a view of all.
//
// Absolute names meet services only below a zone, so that a service can have its
// name in one zone and lose it in another: the index keeps both, and
// [View.Forward] asks for the absolute name first. The name ns.dns.ZONE belongs
// to the zone's apex and to no entry. In zone "." no service is served.
//
// An entry that waits, that is, whose row has no address, has no record and
// claims no name: it would take a name from an entry that can answer, and
// answer nothing. Its claims begin with its first address. What it claims
// follows from its key then, but for hostnames, which may change while it stays.
//
// # Addresses
//
// An entry has the addresses that the table gave it, one a family, and those
// that it was given by others: any number, anywhere. All of a family are the
// answer to its names, in one order, and each has a PTR. The PTR is the first
// hostname, of those that the entry has in the view, that a zone of the block
// covers.
//
// Two entries may have one address: where it was given to both, where it was
// given to one and the table gave it to the other, or in a damaged table. The
// names of both are answered with it. Its PTR is the entry's to which the table
// gave it, then the smaller key's, of those that the view shows; when that one
// goes, the next has it. Kuma counts addresses mesh by mesh, so the same one in
// two meshes is nothing odd. [Index.Conflicts] is about names and does not tell
// of it.
//
// # Reading and writing
//
// Any number of goroutines may query views while one goroutine at a time
// changes the index (a mutex sees to that). A query takes no lock and, but for
// the string that [View.PTR] returns, allocates nothing. The index is no
// snapshot: two queries may see two states of it, but each answer is one
// [Record], which is immutable. [View.Snapshot] takes a snapshot, and holds up the
// writer, not the readers, while it copies a pointer for each address.
//
// A change is published in the order: departing PTRs go, names are stored, new
// PTRs come. So is a move, in which an entry stays and an address of it changes,
// and a batch in which entries hand addresses to one another. An address and a
// name that both stay with an entry lead to one another all the while. A PTR is
// confirmed by a forward lookup when it is asked for.
//
// A view that hides meshes holds by itself who stands in for entries that it
// hides, as said above. What goes from there to the index's own names and
// addresses, or back, is in both for a moment, and a reader that finds it in
// neither looks whether something went meanwhile, and again if so.
//
// The cost of [Index.Apply] follows the change and not the index: it grows with
// the number of entries only where these claim the very hostname, or share the
// very address, that an entry of a view's meshes gets or gives up. [Index.Fill]
// takes a whole table in a fraction of that. [Index.SetZones], [Index.Conflicts]
// and the first [Index.View] of a set of meshes scan it.
//
// # Caveats
//
//   - [Index.Apply] believes its caller about Old: it must be the row that the
//     last change of the entry brought, and a batch holds an entry once.
//   - The zone's apex is [Empty] unless an entry has that very name, absolute.
//   - A given address that is no address, or that has a zone ("fe80::1%eth0"), is
//     left out: no reply can carry it.
//   - A view knows the zone that it is asked for and no other zone of the
//     block: that a name is an ancestor of another zone's apex is the caller's
//     to know.
package names
