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
//   - What is asked for in a mesh that no Mesh resource declares waits until
//     one does. The mesh "default" exists without being declared, and its Mesh
//     resource may come and go.
//
// # Cost
//
// Putting a place costs what the place declares, taking a delta costs what
// changed since the last one; neither grows with the whole. Only a full batch
// and the declaration or end of a mesh walk all their entries.
package watcher
