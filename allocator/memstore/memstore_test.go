package memstore_test

import (
	"testing"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/allocator/storetest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContractWithLimits(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) storetest.Subject {
		return storetest.Subject{Store: memstore.NewLimited(allocator.Limits{Keys: 128, Bytes: 512 << 10})}
	})
}

func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) storetest.Subject {
		return storetest.Subject{Store: memstore.New()}
	})
}
