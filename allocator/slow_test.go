package allocator_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
)

// TestACooldownBeginsWhenTheReleaseIsDurable: followers answer with an address
// until they can see that it was released, however long that took.
func TestACooldownBeginsWhenTheReleaseIsDurable(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]bool{"a slow commit": false, "a commit whose reply is lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &clock{}
			store := &faulty{Store: memstore.New()}
			a, err := allocator.Open(t.Context(), store, allocator.Config{
				Layout: layout("10.0.0.0/31"), Cooldown: time.Minute, MaxRelease: anyRelease, Follows: true,
				Now: func() time.Time { return c.wall }, Running: func() time.Duration { return c.running },
			})
			if err != nil {
				t.Fatal(err)
			}
			a.Lead()
			apply(t, a, full(set("m", "first", "second")))
			store.after = lost
			store.look = func() { c.running += 40 * time.Second }
			if _, err := a.Apply(t.Context(), part(drop("m", "first"))); (err != nil) != lost {
				t.Fatal(err)
			}
			store.look = nil
			tick(t, a)
			apply(t, a, part(set("m", "third")))
			c.running += 59 * time.Second
			tick(t, a)
			if addrs := addrsOf(a, "third"); len(addrs) > 0 {
				t.Errorf("%v is given 59 s after its release was durable", addrs)
			}
			c.running += 2 * time.Second
			tick(t, a)
			if addrs := addrsOf(a, "third"); len(addrs) == 0 {
				t.Error("the address is not given after the cooldown")
			}
		})
	}
}

// addrsOf returns the addresses of a service.
func addrsOf(a *allocator.Allocator, name string) []netip.Addr {
	for _, r := range a.Rows() {
		if r.Entry.Name == name {
			return r.Addrs()
		}
	}
	return nil
}
