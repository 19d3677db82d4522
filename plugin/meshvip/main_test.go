package meshvip

import (
	"testing"

	clog "github.com/coredns/coredns/plugin/pkg/log"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	clog.Discard()
	goleak.VerifyTestMain(m,
		// Plugin hosts, beside which the benchmarks run, ends this goroutine
		// when its server does, and the benchmarks use it without one.
		goleak.IgnoreAnyFunction("github.com/coredns/coredns/plugin/hosts.periodicHostsUpdate.func1"),
		// Plugin ready forgets the listener of an instance that fails to start.
		goleak.IgnoreAnyFunction("github.com/coredns/coredns/plugin/ready.(*ready).onStartup.func2"))
}
