// Package kuma is the part of Kuma's resource model that asks for VIPs: it
// decodes resources from bytes, and says which entries of which mesh a
// resource gives. It does no input or output.
//
// # What it reads
//
// [Decode] takes YAML with any number of documents, or JSON, in either of
// Kuma's two forms: the Universal form (type, mesh, name) and the Kubernetes
// form (apiVersion kuma.io/v1alpha1, kind, metadata, spec), alone, in a List
// as "kubectl get -o yaml" prints it, or as the items of an answer of Kuma's
// REST API. Types and fields that it does not know are skipped without a word.
//
// The tag [vip.StaticTag] beside a service tag, in an inbound of a Dataplane or
// in an ExternalService, asks for an address for that service, one a tag. It
// asks for nothing in what a ZoneIngress lists: another zone has its own
// addresses. It selects no destination and is not among the tags of an outbound.
//
// Of a MeshService, MeshExternalService or MeshMultiZoneService ([Destination])
// the ports are read, and what Kuma wrote into its status: hostnames and
// addresses. One without a status has a VIP that no name leads to.
//
// # What goes wrong, and how far
//
// Three grades of failure are told apart, because the right reaction differs.
//
//   - The bytes cannot be read as documents: broken or cut syntax, a NUL byte,
//     text that is not UTF-8, a key twice in one mapping, aliases that expand
//     without bound, a document that is no mapping. Nothing of the stream can
//     be trusted then, not even what it leaves out, so Decode returns an error
//     and no resources.
//   - A document reads well but is not a valid resource. It is set aside as an
//     [Invalid] with as much of its identity as could be read, and its
//     siblings count. The identity matters to the caller: a resource that is
//     set aside has not been deleted.
//   - A value is wrong that the resource can do without: a VIP tag, a hostname,
//     address or port of a destination. It is passed over and told
//     ([Resource.Faults]), and all else of the resource counts: nobody loses a
//     name because of it.
//
// # Caveats
//
// Values are never converted to strings: "mesh: 1" and "name: yes" are errors
// that ask for quotes, although some YAML tools accept them. On Kubernetes the
// name of a namespaced resource is "name.namespace", as in Kuma itself, also in
// the key of its entry; the mesh of a destination is the label kuma.io/mesh there
// and nothing else.
//
// Kuma copies the labels of a pod into the tags of each of its inbounds. A pod
// behind two services asks with one label for one address for both, and one of
// them is refused it.
package kuma
