// Package etcdstore keeps a table in etcd, for several replicas: one of them is
// elected and writes, all others follow.
//
// # Keys
//
// All keys have one prefix, such as /meshvip/. Texts in keys are escaped as
// [url.PathEscape] does, so that a mesh or a name may hold any byte; a place has
// one key, and what is spelled otherwise is none. KIND is a number, as in
// [vip.Kind]; OF is the mesh of entries that are keyed by theirs, and is left out
// for others. Values are JSON, what is zero is left out, and texts that are not
// UTF-8 are {"base64":"..."}: see package record. Times of the table's clock are
// nanoseconds.
//
//	addresses/ADDRESS             who has an address, or had it last; since and at
//	                              are when that began, and when it was given back
//	  addresses/240.0.0.1         {"owner":{"kind":0,"name":"backend"},"since":1764633600}
//	  addresses/240.0.0.2         {"owner":{"kind":0,"name":"web"},"released":true,"at":90000000000,"mesh":"default"}
//	entries/KIND[/OF]/NAME        the addresses of an entry
//	  entries/0/backend           {"v4":"240.0.0.1","v6":"fd00::1"}
//	format                        the version of all this
//	  format                      {"format":1}
//	import                        a table is being written: nobody reads it yet
//	  import                      {"import":"K3Z..."}
//	leader/elected/LEASE          candidates, the oldest of which is elected
//	  leader/elected/694d7f4a     replica-1
//	leader/claims/REPLICA         a replica knows what the table has lost: see below
//	  leader/claims/R7X...        {"id":"R7X...","replica":"replica-2","revision":7}
//	meshes/MESH                   a mesh has a table
//	  meshes/default              {"mesh":"default"}
//	meshes/MESH/KIND[/OF]/NAME    what a mesh says of an entry
//	  meshes/default/0/backend    {"name":"backend","outbounds":[{"port":80,"tags":[["kuma.io/service","backend"]],"origin":"service"}]}
//	  meshes/default/3/default/db {"name":"db","given":["10.1.0.1"],"hostnames":["db.mesh"],"follow":true}
//	meta                          what the table says of itself
//	  meta                        {"id":"5KQ...","revision":7,"clock":60000000000,"generation":1,"synced":true,"options":"...",
//	                              "pools":[{"prefix":"240.0.0.0/4","next":"240.0.0.3"},{"prefix":"10.0.0.0/8","retired":true}],
//	                              "quarantine":[{"from":"240.0.0.9","to":"240.0.0.12","until":3600000000000}],
//	                              "cooldown":3600000000000,"commit":"W2X...","after":"B7T...","terms":[{"id":"Q4M...","from":3}]}
//	serial                        the version that the SOA record shows
//	  serial                      {"serial":1764633600}
//
// In meta, commit is a random name of the transaction that wrote it, and after
// that of the one before. Terms are the last 64 times in which a replica led, each
// from the revision that it wrote first; by them a replica knows whether the table
// still has what it has seen, or was put back to an older state.
//
// # Commits
//
// A commit is one transaction. It is held against three things: the leader's key,
// by its CreateRevision, so that who was deposed writes nothing, however late its
// request comes; the value of meta, so that it follows the commit that it was
// planned on; and each address key, so that nobody takes what another has. It
// writes meta and serial always, so that each transaction is seen whole by whoever
// follows.
//
// This store sends a transaction once. Should etcd's client, which takes a word
// such as "cancelled" from a server for leave to try again, or something between
// send it twice, the second is refused, because meta says otherwise by then, and
// Commit knows its own.
//
// When a reply is lost, Revision asks etcd whether the commit is there. One that
// arrives even later than that makes the next commit a conflict.
//
// # Replicas
//
// A [Replica] keeps a table in step with the store. It follows by a watch; each
// transaction names the one before it, so that nothing is missed unnoticed, and
// what cannot be followed is read again as a whole. Once a second it asks etcd,
// linearizably, what there is: as soon as the watch has told of that, everything
// that was committed before the question is in the table, which [Replica.Age]
// counts from. So does a replica that leads, to see that it still does.
//
// Elections are those of etcd's package concurrency. A term begins with a table
// that is what etcd has, and ends with the lease, with the first doubt about the
// table, or when somebody else writes: then it is read again, and the next term
// begins.
//
// # When etcd goes back
//
// An etcd that was restored from a snapshot lacks what was answered since, and does
// not know it. By meta's terms a replica sees that. It goes on by what it has,
// claims to know more, and stands for election, even where it does not allocate
// otherwise; who leads and knows less gives way, to the claim with the highest
// revision. That replica makes the table again what it remembers
// ([allocator.Allocator.Reconcile]); until the last part is there, meta says
// "reconciling", and nobody reads it. Then meta's "reconciled" is one more, and all
// take over what there is. A term begins only when etcd has answered for two
// seconds, so that claims have been made by then.
//
// If no replica remembers, nobody can know: stop all of them, restore etcd, and
// what was given out since the snapshot may be given out again.
//
// # Caveats
//
// A table that is read is read at one revision of etcd, in pages: compactions more
// often than a table can be read let that be begun again, three times at most.
//
// Limits are those of etcd as it comes: 128 operations and 1.5 MiB in a
// transaction. A delta's size is an estimate, which may be half of what it takes.
//
// Damaged records are set aside, as in package boltstore. JSON has no checksums:
// what a disk loses is etcd's to notice.
package etcdstore
