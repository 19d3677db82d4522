// Package watcher turns what sources report into batches of updates for the
// address table: which entries every mesh asks for, and what changed.
//
// A [Source] follows one place that desired state comes from; package
// watcher/file follows a directory of resource files. [Desired] is the pure
// core that sources share: it holds what each resource of each place asks for,
// and reduces it to one request for each mesh and entry. Package watcher/kuma
// is the resource model.
//
// # How many resources become one request
//
// Ten Dataplanes of one service are one request, and so is a service that
// several ExternalServices give. The spelling of the request is the first of
// all spellings in sort order; its outbounds are the union of all outbounds, and
// its terms that of all terms. Only when the last resource stops asking is the
// entry dropped. Requests are compared with what was handed over last, so a
// resource that is written again without change, or that moves from one file to
// another, is no change.
//
// # Policies
//
// Most resources ask for something on their own. What VirtualOutbounds, crossMesh
// listeners of MeshGateways and HostnameGenerators give follows from several
// resources together. It is worked out before the merge and asked for like the
// rest: for each name and port, and each mesh, one claim of the policy that has it.
//
//   - A VirtualOutbound gives (name, port) to the services of its mesh that it
//     selects. Of several offers the one has it whose selector has most tags, then
//     most exact ones, then that of the youngest policy, then of the first by name,
//     then that of the smaller tags. Kuma lets a Dataplane that it happens to list
//     first decide between two services; here the same rule holds for all offers.
//   - A gateway gives the names of its crossMesh listeners to every mesh that
//     exists. Of several gateways the first by mesh and name has (name, port); in a
//     mesh in which a VirtualOutbound gives it to a service, the service has it.
//   - A HostnameGenerator names destinations on whose names Kuma has not decided.
//     In each mesh the first to claim a name has it, of whatever kind: what is in a
//     status first, then by generator (those of our own zone, the oldest, by name),
//     then by destination (the oldest, by name). A destination has all names that
//     it wins, in the order of the generators.
//
// # Clashes
//
// They are settled by rules without memory, and reported as a [Problem]:
//
//   - A resource (type, mesh, name) that several places declare counts as the
//     first place in sort order has it, within a place the first in order.
//   - Two ExternalServices of one mesh with the same host and port: the first
//     by resource name has it. The other keeps its service entry.
//   - Resources of one mesh that ask for several addresses of a family for one
//     entry: the smallest address counts. An IPv4 address from one and an IPv6
//     address from another are no clash. What two meshes ask for one entry is not
//     settled here: each has its own request.
//   - What a policy could not give is told once for each way in which it fails,
//     with one example: a template that makes no name or port of a service, or a
//     name that another has.
//   - What is asked for in a mesh that no Mesh resource declares waits until
//     one does, and so do its policies. The mesh "default" exists without being declared, and its Mesh
//     resource may come and go.
//
// # Cost
//
// Putting a place costs what the place declares, taking a delta costs what
// changed since the last one; neither grows with the whole. Only a full batch
// and the declaration or end of a mesh walk all their entries.
//
// Policies see services by their tags: inbounds with equal tags are looked at
// once, and only by policies of their mesh that may select them; a template runs
// once for the values that go into it. A changed VirtualOutbound looks at the
// services that it names, or at all of its mesh, a changed HostnameGenerator at
// all destinations that generators name, a gateway's listener at every mesh. A
// table without policies keeps nothing for them but the tags of inbounds, each set
// of tags once; the first policy walks the whole, once.
package watcher
