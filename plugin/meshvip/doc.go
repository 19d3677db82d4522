// Package meshvip is a CoreDNS plugin that answers DNS for the virtual IPs
// (VIPs) of the services of a mesh: addresses and ports for names, names for
// addresses, and what a zone needs at its apex.
//
// # The answering side
//
// A [Handler] answers for one server block. It reads three things, none of
// which takes a lock or waits: an index of names, a view of it that shows the
// meshes of the block, and the table's state (serial, loaded, synced, pools).
// A query goes through these steps:
//
//	zone match → what stands at the name → does it have the type → reply
//
// The zones of a block and of the table's pools, with all that is derived from
// them, are one immutable set that is made anew when the pools change.
//
// # The configuration
//
// One server block's properties are a [Config]. Those that belong to the
// runtime (pool, source, store and their kin) may be stated by several blocks
// that share one; those that belong to the block may differ.
//
// # Caveats
//
//   - Records of a reply are built for that reply: plugins that come later in
//     the chain change them in place.
//   - The class of a question is not looked at, as in CoreDNS's own plugins:
//     the server refuses other classes than IN before any plugin sees them,
//     unless chaos or forward is loaded, for which it lets them pass.
//   - Ports of an entry are those that the meshes of the block say. What has
//     none has no SRV record, but for services and hosts: they have port 80.
//   - What plugin metadata is told is looked up when it is asked for, so that it
//     may be newer than the answer.
//   - ANY is answered as in CoreDNS's own plugins: there is no record of the
//     type ANY, so the reply is NODATA where the name exists.
//   - Reverse zones come from the pools. A server-block key, or the root zone,
//     must route them to the block.
package meshvip
