// Package etcdtest gives tests real etcd processes on loopback, and ways to hurt
// them: nodes that are killed, paused, restarted, compacted and restored, and a
// proxy that loses what a network may lose.
//
// The binaries are those that the module tools/etcd pins. They are built by the Go
// toolchain into bin/ of the checkout when a test first asks for them.
//
// Caveats:
//
//   - All that a server does outlives nothing: processes end with the test, and
//     on Linux with the test binary, however that ends.
//   - Methods without a testing.TB fail the test that started the server, so call
//     them from its goroutine or from those of its subtests.
//   - Tests that share a server, see StartMain, each want a prefix of their own.
package etcdtest
