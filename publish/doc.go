// Package publish writes the address table where the proxies of the meshes can
// use it, mesh by mesh, and reads it back.
//
// A VIP is worth something when a proxy listens on it. For each mesh a [Dir]
// holds two files:
//
//   - MESH.json is the mesh's part of the table in Kuma's format 3. A server
//     with a new store takes the addresses up from it ([Dir.Read]), so that a
//     lost store does not renumber a mesh.
//   - MESH.outbounds.yaml is the list that networking.outbound of a Dataplane
//     takes where there is no transparent proxy: addresses and ports to listen
//     on, and the tags or the backendRef that they lead to ([Options]).
//
// # Contract
//
// A file is replaced as a whole: a reader sees the old text or the new one. It
// is on disk when [Dir.Write] returns, and it is not touched where its text
// would be the same, so that who watches it wakes up for changes only. The two
// files of a mesh are two replacements: a reader of both may see one of each
// state.
//
// The text depends on the rows and the mesh alone: the same table gives the
// same bytes.
//
// Rows that a file cannot carry are left out and reported ([SetAside]); rows
// that cannot be read are set aside with their key; others go on. JSON and YAML
// are Unicode, and a name that is not UTF-8 would come back as another one.
//
// # Caveats
//
//   - MESH.json has services, hosts and fqdns. Entries of Kuma's newer model
//     (MeshService and its kin) are not in it: Kuma has its own tables for the
//     addresses that it gave, and a lost store finds those in the resources
//     again. What a store gave to such an entry is lost with it.
//   - MESH.outbounds.yaml has what the options name. A Kuma that does not know a
//     way of naming refuses a Dataplane that has it.
//   - Format 3 has one address a row. Of an entry with both families it keeps
//     the IPv4 one; the outbounds have both.
//   - A directory belongs to one server. Within a process any number of Dirs
//     may be open on it, but one mesh wants one writer at a time.
//   - A mesh's name and a suffix make a file's name, which systems limit to 255
//     bytes: a mesh whose name takes over 240, escapes included, has no files.
//   - Format 3 does not tell a mesh from another: the file's name does. Do not
//     rename files.
package publish
