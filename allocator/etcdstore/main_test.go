package etcdstore

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/meshvip/coredns-meshvip/test/etcdtest"
	"go.uber.org/goleak"
)

// etcd is the server of all tests that do no harm to it. Each has a prefix of
// its own.
var etcd *etcdtest.Server

func TestMain(m *testing.M) { goleak.VerifyTestMain(served{m}) }

// served runs tests with an etcd.
type served struct{ *testing.M }

func (m served) Run() int {
	flag.Parse()
	if w := flag.Lookup("test.fuzzworker"); w != nil && w.Value.String() == "true" {
		return m.M.Run() // of a test that asks nobody
	}
	s, stop, err := etcdtest.StartMain(etcdtest.WithUnsafeNoFsync())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer stop()
	etcd = s
	return m.M.Run()
}
