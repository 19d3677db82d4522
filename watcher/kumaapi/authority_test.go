package kumaapi

import (
	"context"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher/kumaapi/fakekuma"
)

// tables are Kuma's, in a test.
type tables struct {
	given   map[string][]netip.Addr // by mesh and key
	changed chan struct{}
}

func (t *tables) Changed() <-chan struct{} { return t.changed }

func (t *tables) Given(mesh string, key vip.Key) []netip.Addr {
	return t.given[mesh+" "+key.String()]
}

func newTables(given ...string) *tables {
	t := &tables{given: make(map[string][]netip.Addr), changed: make(chan struct{}, 1)}
	for i := 0; i < len(given); i += 2 {
		t.given[given[i]] = append(t.given[given[i]], netip.MustParseAddr(given[i+1]))
	}
	return t
}

func TestWhoFollowsKumaGetsNoAddressFromAPool(t *testing.T) {
	t.Parallel()
	k := twoMeshes()
	k.Set(func(s *fakekuma.Settings) { s.CIDR = "240.0.0.0/4" })
	k.Put("meshservices", ms("s", "241.0.0.1", "fd00::1"), ms("u"))
	newRig(t, k, Options{Follow: true}).pass().
		want("0:api! 0:bin! 0:web! 1:httpbin.org! 3:default/s<241.0.0.1<fd00::1! 3:default/u! m/0:db! m/0:far! m/0:web!").
		problems(`in mesh "default", 0:api, and 4 more, has no address from Kuma, and gets none from a pool: Kuma keeps the addresses...follow TABLES`,
			`in mesh "m", 0:db, and 2 more, has no address`)
}

func TestKumasTablesGiveTheAddressesThatItsAPIDoesNot(t *testing.T) {
	t.Parallel()
	k := twoMeshes()
	given := newTables("default 0:api", "240.0.0.1", "default 0:web", "240.0.0.2", "default 1:httpbin.org", "240.0.0.3",
		"m 0:web", "240.0.0.2", "m 0:db", "240.0.0.4", "m 0:far", "240.0.0.5", "m 0:gone", "240.0.0.6")
	r := newRig(t, k, Options{Follow: true, Tables: given}).pass().
		want("0:api<240.0.0.1! 0:bin! 0:web<240.0.0.2! 1:httpbin.org<240.0.0.3! m/0:db<240.0.0.4! m/0:far<240.0.0.5! m/0:web<240.0.0.2!").
		problems(`in mesh "default", 0:bin has no address from Kuma...give a newer one`)
	given.given["default 0:bin"] = []netip.Addr{netip.MustParseAddr("240.0.0.7")}
	r.f.mirror.retold()
	r.feed.puts = nil
	r.f.tell()
	r.wantPuts("/meshes/default/external-services/x").problems()
	r.pass().wantPuts()
}

func TestAddressesOfTablesAreSortedAndOfServicesOnly(t *testing.T) {
	t.Parallel()
	k := fakekuma.New()
	k.Put("dataplanes", dp("default", "a", "web"))
	k.Put("meshservices", ms("s", "241.0.0.1"))
	given := newTables("default 0:web", "fd00::1", "default 0:web", "240.0.0.1", "default 0:web", "fd00::1", "default 3:default/s", "240.0.0.9")
	newRig(t, k, Options{Follow: true, Tables: given}).pass().want("0:web<240.0.0.1<fd00::1! 3:default/s<241.0.0.1!").problems()
}

func TestTheCountOfEntriesWithoutAnAddressFollowsWhatComesAndGoes(t *testing.T) {
	t.Parallel()
	r := newRig(t, fakekuma.New(), Options{Follow: true}).pass().problems()
	r.kuma.Put("dataplanes", dp("default", "a", "web"), dp("default", "b", "web"))
	r.pass().problems("0:web has no address")
	r.kuma.Put("dataplanes", dp("default", "a", "api"))
	r.pass().problems("0:api, and 1 more, has no address")
	r.kuma.Clear("dataplanes")
	r.pass().pass().problems()
	r.kuma.Put("meshservices", ms("s"))
	r.pass().problems("3:default/s has no address from Kuma, and gets none from a pool: wait until Kuma has given it one")
	r.kuma.Put("meshservices", ms("s", "241.0.0.1"))
	r.pass().problems()
}

func TestATagForAnAddressDoesNotCountWhereKumaIsFollowed(t *testing.T) {
	t.Parallel()
	const pinned = `{"type":"Dataplane","mesh":"default","name":"a","networking":{"inbound":[{"port":80,"tags":{"kuma.io/service":"web","meshvip.io/vip":"240.0.0.9"}}]}}`
	k := fakekuma.New()
	k.Put("dataplanes", pinned)
	newRig(t, k, Options{}).pass().want("0:web=240.0.0.9").problems()
	newRig(t, k, Options{Follow: true, Tables: newTables("default 0:web", "240.0.0.1")}).pass().want("0:web<240.0.0.1!").
		problems("/dataplanes/a: ...its tag meshvip.io/vip does not count")
}

func TestTablesCountOnlyWhereKumaIsFollowed(t *testing.T) {
	t.Parallel()
	newRig(t, twoMeshes(), Options{Tables: newTables("default 0:web", "240.0.0.2")}).pass().want(all)
}

func TestTablesThatChangeCountAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k, given := twoMeshes(), newTables()
		r := newRig(t, k, Options{Follow: true, Tables: given, Interval: time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.f.Run(ctx, r.feed) }()
		synctest.Wait()
		k.Requests()
		r.want("0:api! 0:bin! 0:web! 1:httpbin.org! m/0:db! m/0:far! m/0:web!")
		given.given["m 0:db"] = []netip.Addr{netip.MustParseAddr("240.0.0.4")}
		given.changed <- struct{}{}
		synctest.Wait()
		r.want("0:api! 0:bin! 0:web! 1:httpbin.org! m/0:db<240.0.0.4! m/0:far! m/0:web!")
		if asked := k.Requests(); len(asked) > 0 {
			t.Errorf("asked %q", asked)
		}
		close(given.changed)
		synctest.Wait()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
