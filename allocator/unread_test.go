package allocator_test

import (
	"testing"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
)

// TestATableIsInStepOnlyWhenAllSourcesWereRead: until then a name that is not in it
// may well exist.
func TestATableIsInStepOnlyWhenAllSourcesWereRead(t *testing.T) {
	t.Parallel()
	a := open(t, memstore.New(), nil, allocator.Config{Layout: layout("10.0.0.0/28")})
	b := full(set("m", "web"))
	b.Incomplete, b.Unread = "a source that is out of reach", true
	apply(t, a, b)
	if a.Stats().Meta.Synced {
		t.Error("synced, although a source was never read")
	}
	b.Incomplete, b.Unread = "one file of many", false
	apply(t, a, b)
	if !a.Stats().Meta.Synced {
		t.Error("not synced, although all sources were read")
	}
	apply(t, a, vip.Batch{Incomplete: "a source that is out of reach", Unread: true})
	if !a.Stats().Meta.Synced {
		t.Error("no longer synced")
	}
}
