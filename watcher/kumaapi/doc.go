// Package kumaapi is the source that follows the REST API of a Kuma control plane.
//
// A pass lists every kind of resource completely, page by page, at an interval.
// Its items become resources as those of files do, by way of package
// watcher/kuma, and each resource is a place of its own, the URL under which the
// API has it. So what a change costs follows the change: pages and items whose
// bytes are those of the last pass are not read again.
//
// The decisions are made in a state machine ([mirror], unexported) that is told
// what was listed, and does no input or output. Around it, Run asks, waits and
// tells the feed.
//
// # Absence is not deletion
//
// What comes or changes counts at once. What is missing has to be missing twice.
//
//   - A kind that cannot be listed to its end keeps what was known of it; the
//     other kinds count. All kinds of a pass are one change.
//   - The pages of a listing are cut out of a list that is made anew for each, so
//     that a removal on one page can push an item of the next one out of sight.
//     A listing whose total does not hold is read again at once, and releases
//     nothing if it never does; and a resource is released only when two complete
//     listings in a row lack it.
//   - An item that is no valid resource is set aside. Its last good version stays.
//     Where its identity cannot be read, nothing that it may be goes away.
//   - A kind that the control plane does not know is neither an error nor an empty
//     list. What was listed of it before stays: somebody has upgraded Kuma, and
//     deleted nothing.
//   - Newer versions of Kuma have no service tags in Dataplanes. Where all of them
//     lose theirs at once, those that were known stay.
//
// What was never read well in the life of this process makes the state
// incomplete, and nothing is released while it is.
//
// # Who gives addresses
//
// A Global control plane gives no addresses, each zone does so for itself: it is
// refused, and asked again at long intervals whether it is one still. A
// control plane of a zone may give addresses itself. With [Options.Follow] its
// addresses are those that count: no entry of this source gets one from a pool.
// The API tells only those of MeshServices and their kin; [Options.Tables] tells
// the others.
//
// # What is sent where
//
// Only the host of the configured URL is asked: of the URL of a next page only the
// offset counts, and a redirect to another host is not followed. The environment's
// proxies are not used. Token, CA and client certificate are read from their files
// again, so that they can be replaced; no message shows the token.
//
// # Caveats
//
// A process that has just started does not know what an older version of Kuma
// listed: a kind that is absent then is as good as empty, and only the allocator's
// holds stand before its release. Names that policies give (those of VirtualOutbounds
// and of MeshGateways) are worked out in package watcher, from what all sources
// list: that Kuma is followed has to be told there for these.
package kumaapi
