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
// addresses. It selects no destination and is not among the tags of an outbound,
// no policy selects by it, and no template sees it.
//
// # What a resource gives
//
// What a resource asks for on its own are its claims ([Resource.Claims]). What
// counts only together with others is its part ([Resource.Part]), and package
// watcher joins the parts:
//
//   - A [VirtualOutbound] gives names, each with a port, to the services of its
//     mesh that it selects by their tags ([Claim].Tags): those of Dataplane
//     inbounds, of what a ZoneIngress lists in that mesh, and of ExternalServices,
//     of which, as in Kuma, no tag but the service is seen. It does not select
//     what an old-style ingress lists.
//   - A MeshGateway gives its crossMesh listeners a name in every mesh ([CrossMesh]).
//   - Of a MeshService, MeshExternalService or MeshMultiZoneService ([Destination])
//     the ports are read, and what Kuma wrote into its status: hostnames and
//     addresses. On the names of one whose status has none, and no word of
//     generators either, nobody has decided ([Unnamed]).
//   - A [HostnameGenerator] names these. Labels that Kuma puts on a resource when
//     it is applied, and templates and selectors rely on (kuma.io/mesh, /zone,
//     /origin, /env, /display-name), count as there where a document lacks them.
//
// Kuma breaks ties by the time at which a resource was made. Answers of its API
// and "kubectl get" tell that; files that somebody wrote do not, and as in Kuma a
// resource without it counts as the oldest. Among VirtualOutbounds the youngest
// comes first, among generators and destinations the oldest; without times, names
// decide.
//
// # Templates
//
// The templates of policies are Go's text/template, as in Kuma, on input that
// anybody may write. What they can do is bounded: "range", "define", "block" and
// "template" are refused when the policy is read, so that a template runs each of
// its nodes once at most; its text, what goes into it and what comes out of it
// have a greatest length, and so has what print, printf and the like make within.
//
// # Versions
//
// Which feed was read from which Kuma, and checked against what that one answers:
//
//	Mesh, Dataplane, ZoneIngress, ExternalService    test data of Kuma's repository; a control plane
//	VirtualOutbound                                  built from its source of 20 July 2026
//	MeshService, MeshExternalService,
//	HostnameGenerator                                the same control plane
//	MeshMultiZoneService                             the same control plane, whose listing of them is empty,
//	                                                 and Kuma's published code
//	old-style ingress Dataplane, MeshGateway         Kuma's published code
//
// From 2.7 on, what a version knows of these kinds has these forms. Kuma's main
// branch dropped MeshGateway, VirtualOutbound and ExternalService in July 2026, and
// the tags of inbounds in August 2026: a Dataplane written for it lists no service
// here.
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
//   - A value is wrong that the resource can do without: a VIP tag or another tag
//     of an inbound, a hostname, address or port of a destination, a listener of a
//     gateway, a label, a time. It is passed over and told ([Resource.Faults]),
//     and all else of the resource counts: nobody loses a name because of it. A
//     selector is no such value: without it a policy would select more.
//
// # Caveats
//
// Values are never converted to strings: "mesh: 1" and "name: yes" are errors
// that ask for quotes, although some YAML tools accept them. On Kubernetes the
// name of a namespaced resource is "name.namespace", as in Kuma itself, also in
// the key of its entry; the mesh of a destination is the label kuma.io/mesh there
// and nothing else.
//
// A control plane puts the tag kuma.io/zone on the inbounds of a Dataplane that is
// applied to it. In a file it is there where it is written, and policies that
// select by it, or name by it, need it there.
//
// Kuma copies the labels of a pod into the tags of each of its inbounds. A pod
// behind two services asks with one label for one address for both, and one of
// them is refused it.
package kuma
