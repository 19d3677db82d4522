// Package admin is the interface by which an operator sees, verifies and steers
// an address table: HTTP and JSON, and a client of it. openapi.yaml describes it
// and is served with it.
//
// # How to run it
//
// A server makes a recorder before it opens the table, and a handler after it:
//
//	changes := admin.NewRecorder()
//	cfg.OnCommit = func(c allocator.Commit) { index.Apply(…); changes.Record(c) }
//	alloc, err := allocator.Open(ctx, store, cfg)
//	changes.Begin(alloc.Stats().Meta)
//
//	l, err := admin.Listen("unix:/data/meshvip.db.sock")
//	s := admin.NewServer(admin.Handler(&admin.Table{Alloc: alloc, Changes: changes, …}), log)
//	go s.Serve(l)
//	…
//	s.Close()       // ends streams, waits for answers, removes the socket
//	changes.Close() // then the table may be closed
//
// A tool that has opened a store by itself serves it to itself: the same handler
// without a server, [InProcess]. What such a table lacks, such as sources, is
// answered as unknown, and not as empty.
//
// # What it promises
//
//   - GET changes nothing. What POST changes is named exactly: a plan of moves and
//     a hold have names that are digests of what they are, and where that is
//     another by now nothing is done, with the code [Conflict].
//   - Where several servers have the table, all can be asked, and the one that
//     allocates makes changes: others refuse with [Conflict], and name it.
//   - An answer costs what it says, not what the table has. Exceptions are
//     verify, plan and backup, which read all of it, one at a time, and the names
//     in conflicts. The first page of the table sorts its keys once.
//   - No query of DNS waits for it. Changes of the table wait while it looks
//     something up, and while verify reads the store back.
//   - A socket can be opened by its owner alone, from its first moment on. Over
//     TCP no web page is answered; whoever else can reach the address may do
//     everything, for nobody is asked who they are.
//   - Memory is bounded: of bodies, of recent changes, and of streams. A client of
//     a stream is a place in what the recorder remembers. One that is too slow is
//     told what it missed, and cut off.
//
// # Where each is
//
//	api*.go       what is said: the types of bodies and answers
//	table.go      what is served
//	handler.go    paths, methods, parameters
//	request.go    what is refused before it is looked at
//	answer.go     errors and JSON
//	serve_*.go    one answer each
//	role.go       what is different where several servers have the table
//	names.go      names as answers show them
//	recorder.go   recent commits; events.go: what a commit did
//	stream.go     server-sent events
//	server.go     listening and closing; listen.go: the socket
//	client.go     the client; watch.go: streams; inprocess.go: without a server
//
// # Caveats
//
// An entry's name may have bytes that JSON cannot carry: they are shown as U+FFFD,
// and such an entry cannot be asked for by its text. Pages go on behind it all the
// same.
//
// Times of releases are estimates, where the store does not know them: they are
// counted on the table's clock, which stands while no server runs.
package admin
