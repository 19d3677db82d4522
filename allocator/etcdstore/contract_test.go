package etcdstore

import (
	"testing"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/storetest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Subject {
		cfg := config()
		return storetest.Subject{
			Store:  elected(t, cfg),
			Reopen: func(t *testing.T) allocator.Store { return elected(t, cfg) },
		}
	})
}
