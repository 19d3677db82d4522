// Package kumatable reads the tables of virtual IPs that Kuma's control plane
// keeps, in each of the formats that it ever had, and writes the last two.
//
// A control plane has one table for each mesh, in a Config (on Kubernetes a
// ConfigMap) by the name kuma-MESH-dns-vips. The formats, oldest first:
//
//	0  {"backend":"240.0.0.1"}, by the name kuma-dns-vips, for all meshes
//	1  {"backend":"240.0.0.1"}
//	2  {"0:backend":"240.0.0.1","1:books.example":"240.0.0.2"}
//	3  {"0:backend":{"address":"240.0.0.1","outbounds":[{"Port":80,"TagSet":{…},"Origin":"service"}]}}
//	4  {"v":{"backend":{"oe":[{"t":{…},"ap":[{"a":"240.0.0.1","d":"…","p":80,"o":"svc"}]}]}}}
//
// [Decode] reads the text of one table, [Reader] what people have at hand:
// files, directories, ConfigMaps as kubectl prints them, what SQL finds in
// Kuma's database. [Conflicts] finds the addresses and entries on which tables
// do not agree.
//
// # Contract
//
// A row that cannot be read is set aside with an error that names it, and the
// others are read. The rows are not judged: two rows may claim one address, and
// two rows may be of one entry. Who takes them over judges.
//
// An address that a table has only to point at it is not a VIP, and no row: the
// address of a Kubernetes Service, or of a host that is an IP address. It is
// told apart, as a [Foreign].
//
// The package does no input or output but in [Reader]. Reading takes time and
// memory in proportion to the text. Most of the memory is the rows: with what is
// garbage by then some 1.5 KB for each, which is eight times a text of format 3,
// and twenty times one of format 4, which is shorter. See [Reader] for what is
// bounded.
//
// # Caveats
//
//   - Formats 0 and 1 are one text. A table by the name kuma-dns-vips is of
//     format 0. It has the services of all meshes, and does not say which: its
//     rows are read as listed by the mesh "default", or by the one that the
//     Reader is told. An entry has one address in all of its meshes, so the
//     others find that address when they list it.
//   - Formats 0 to 2 have no outbounds. A service gets the one that Kuma itself
//     gave it when it rewrote such a table, that of its service tag; hosts have
//     none.
//   - Format 4 tells an entry's type by the origin of its outbounds, and leaves
//     out the name of a host that is an IP address: what is left is an address
//     without a name, a [Foreign].
//   - An entry has one address in each of the formats. Of an entry with both
//     families [Encode3] and [Encode4] write the IPv4 one.
package kumatable
