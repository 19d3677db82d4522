// Package chaos runs several replicas on one table in etcd, breaks them in every
// way it knows while services come and go and clients ask, and then proves from
// what was seen that no address was given twice.
//
// # What runs
//
// Three CoreDNS processes, built from this tree, all with the same directory of
// resource files as their source, each with its own way to etcd: a proxy that can
// be cut, stalled, or made to lose the replies. One etcd, or a cluster of three.
// The pool is small, so that addresses change hands all the time.
//
//   - A churn (churn_test.go) adds and removes services and whole meshes, and notes
//     its intents: from when to when a name was listed for certain. Some names are
//     stable: they are listed throughout.
//   - An injector (inject_test.go, inject_etcd_test.go) does harm, one thing after the
//     other or several at once, and notes each fault from its beginning until it was
//     healed.
//   - Clients (client_test.go) ask every replica all the while for the address of
//     names and for the name of every address of the pool, and note question, answer,
//     and when each was sent and received.
//   - A witness (witness_test.go) watches the table in etcd itself, not by way of the
//     proxies, and so sees each transaction with what it wrote. When it took place is
//     known within bounds: not before the last moment at which a linearizable read
//     was sent that did not show it, and not after it was seen.
//
// All moments are of one clock, that of the test's process. So is the machine's:
// what is proved here is nothing about clocks that run at different speeds.
//
// # What is checked
//
// A claim is an answer that joins a name and an address, forwards or in reverse.
// The history of claims and transactions is judged afterwards, by these rules:
//
//   - Every address is a register (model_test.go), checked with porcupine: its value
//     is its owner, and whether it is released, and at what time of the table's own
//     clock. Transactions write it, in the order of etcd's revisions, and claims read
//     it. A write that takes an address from an owner that has it, or before the
//     cooldown has passed since the release, is no step of the register; nor is a
//     claim of somebody who does not have the address. A claim may be as old as
//     cooldown - ttl, since a replica which is cut off answers that long; so a claim is a
//     read at some moment between that long before the question and the answer.
//   - The same, claim by claim, by a slow and obvious check (owners_test.go) that names
//     the claim which is wrong.
//   - No name is denied, and no address, that was somebody's throughout the time that the
//     answer may be of.
//   - Between an answer that gives an address to one name and an answer that gives it
//     to another at least ttl passes, so that no resolver has the former still. If no
//     fault was in force at the former, at least cooldown passes, less a tolerance.
//     That an address was cooling when a replica was cut off is why it is not
//     cooldown always: the replica may go on for cooldown - ttl.
//   - No name moves (moves_test.go): an entry that gets another address than it had last
//     gets it while somebody else has the former, or a replica has logged why.
//   - Nobody is released who was listed throughout.
//   - A stable name has one address throughout and is never denied (service_test.go);
//     and a replica that runs and was in contact within the last cooldown - ttl, less
//     what it takes to connect again, does not refuse to answer.
//   - At the end all faults are healed and the churn rests. Then all replicas show the
//     same serial, and transfer the same zones; what they show is what is listed; each
//     PTR is confirmed by an address and each address by a PTR; and allocator.Check finds
//     nothing in what etcd holds.
//
// # A snapshot that is restored
//
// takes etcd back, and its revisions with it. The witness notes the break: the
// transactions that follow are of another epoch. The registers are not taken back,
// because clients were told what was lost. The replica that leads writes the table
// again as it knows it, and to the registers it must look as if nothing had been
// lost.
//
// # The checker can fail
//
// planted_test.go feeds it histories with an address given twice, one given within
// the cooldown, an entry that moved, and others, and sees that each is found.
//
// # Forms
//
// "go test ./test/chaos" injects each fault once, on one etcd. With MESHVIP_CHAOS=10m
// faults are injected at random for so long on three etcds; MESHVIP_SEED repeats a
// choice of faults, though not their timing. The report goes to bin/chaos-report.txt.
package chaos
