package allocator_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
)

// goodState is a state with something of everything: web in two meshes, db that
// waits, and an address that old gave back.
func goodState() allocator.State {
	web, db, old := vip.Key{Name: "web"}, vip.Entry{Kind: vip.Host, Name: "db"}, vip.Key{Name: "old"}
	return allocator.State{
		Meta: allocator.Meta{Revision: 3, Serial: 9, Clock: 100, Pools: []allocator.Pool{
			{Prefix: prefixes("10.0.0.0/29")[0], Next: addr("10.0.0.3")}, {Prefix: prefixes("fd00::/126")[0]},
		}},
		Rows: []*vip.Row{
			{
				Entry: vip.Entry{Name: "Web"}, V4: addr("10.0.0.1"), V6: addr("fd00::1"),
				Listings: []vip.Listing{{Mesh: "a", Name: "web"}, {Mesh: "b", Name: "Web", Outbounds: []vip.Outbound{{Port: 1}, {Port: 2}}}},
			},
			{Entry: db, Listings: []vip.Listing{{Mesh: "b", Name: "db"}}},
		},
		Addrs: []allocator.Held{
			{Addr: addr("10.0.0.1"), Holding: allocator.Holding{Owner: web}},
			{Addr: addr("fd00::1"), Holding: allocator.Holding{Owner: web}},
			{Addr: addr("10.0.0.2"), Holding: allocator.Holding{Owner: old, Released: true, At: 100, Mesh: "gone"}},
		},
		Meshes: []string{"a", "b", "empty"},
	}
}

func TestEveryBreachIsNamed(t *testing.T) {
	t.Parallel()
	if err := allocator.Check(goodState()); err != nil {
		t.Fatalf("a sound state: %v", err)
	}
	if err := allocator.Check(allocator.State{}); err != nil {
		t.Fatalf("an empty state: %v", err)
	}
	for want, spoil := range map[string]func(s *allocator.State){
		"address 10.0.0.1 has two keys, of 0:web and 0:other": func(s *allocator.State) {
			s.Addrs = append(s.Addrs, allocator.Held{Addr: addr("10.0.0.1"), Holding: allocator.Holding{Owner: vip.Key{Name: "other"}}})
		},
		"entry 0:web has address 10.0.0.1, which has no key":          func(s *allocator.State) { s.Addrs = s.Addrs[1:] },
		"entry 0:web has address fd00::1, which is the key of 0:mine": func(s *allocator.State) { s.Addrs[1].Owner.Name = "mine" },
		"entry 0:web has address 10.0.0.1, which is released":         func(s *allocator.State) { s.Addrs[0].Released = true },
		"entry 0:web has address 10.0.0.9, which lies in no pool": func(s *allocator.State) {
			s.Rows[0].V4, s.Addrs[0].Addr = addr("10.0.0.9"), addr("10.0.0.9")
		},
		"address 10.0.0.1 is held by 0:web, whose row has [fd00::1]": func(s *allocator.State) { s.Rows[0].V4 = netip.Addr{} },
		"address 10.0.0.1 is held by 0:web, which has no row":        func(s *allocator.State) { s.Rows = s.Rows[1:] },
		"of the wrong families":                                      func(s *allocator.State) { s.Rows[0].V4, s.Rows[0].V6 = s.Rows[0].V6, s.Rows[0].V4 },
		"entry 1:db has two rows":                                    func(s *allocator.State) { s.Rows = append(s.Rows, s.Rows[1]) },
		"entry 1:db is listed by no mesh":                            func(s *allocator.State) { s.Rows[1].Listings = nil },
		`entry 0:web has listings out of order: "b", "a"`: func(s *allocator.State) {
			l := s.Rows[0].Listings
			l[0], l[1] = l[1], l[0]
		},
		`entry 0:web has listings out of order: "b", "b"`: func(s *allocator.State) { s.Rows[0].Listings[0].Mesh = "b" },
		`entry 0:web is shown as "web", want "Web"`:       func(s *allocator.State) { s.Rows[0].Entry.Name = "web" },
		`entry 1:db is spelled "d b" in mesh "b"`:         func(s *allocator.State) { s.Rows[1].Listings[0].Name = "d b" },
		`entry 0:web has outbounds out of order`:          func(s *allocator.State) { s.Rows[0].Listings[1].Outbounds[0].Port = 3 },
		`entry 0:web is listed by mesh "a", which has no table`: func(s *allocator.State) {
			s.Meshes = s.Meshes[1:]
		},
		`mesh "a" has two tables`:                                   func(s *allocator.State) { s.Meshes = append(s.Meshes, "a") },
		"address 10.0.0.2 was released at 101ns, after the table's": func(s *allocator.State) { s.Addrs[2].At++ },
		"the serial is 0 at revision 3":                             func(s *allocator.State) { s.Meta.Serial = 0 },
		"pool 10.0.0.0/29 stands twice":                             func(s *allocator.State) { s.Meta.Pools[1] = s.Meta.Pools[0] },
		"the cursor 10.0.0.8 of pool 10.0.0.0/29 lies outside it":   func(s *allocator.State) { s.Meta.Pools[0].Next = addr("10.0.0.8") },
		"quarantine zero IPRange is no range": func(s *allocator.State) {
			s.Meta.Quarantine = []allocator.Quarantine{{Until: 1}}
		},
		"entry 7:db: ": func(s *allocator.State) { s.Rows[1].Entry.Kind = 7 },
	} {
		s := goodState()
		spoil(&s)
		if err := allocator.Check(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestWhatIsSetAsideIsNoBreach(t *testing.T) {
	t.Parallel()
	s := goodState()
	s.Addrs = s.Addrs[1:]
	s.Damaged = []allocator.Damage{{Place: "addresses/10.0.0.1", Err: errFault, Addr: addr("10.0.0.1")}}
	if err := allocator.Check(s); err != nil {
		t.Errorf("an address key set aside: %v", err)
	}
	s = goodState()
	s.Rows = s.Rows[1:]
	s.Damaged = []allocator.Damage{{Place: "entries/0:web", Err: errFault}}
	if err := allocator.Check(s); err != nil {
		t.Errorf("a row set aside: %v", err)
	}
}

func TestManyBreachesAreCounted(t *testing.T) {
	t.Parallel()
	s := goodState()
	for i := range 100 {
		s.Rows = append(s.Rows, &vip.Row{Entry: vip.Entry{Name: fmt.Sprint(i)}})
	}
	if err := allocator.Check(s); err == nil || strings.Count(err.Error(), "\n") != 20 || !strings.Contains(err.Error(), "and 80 more") {
		t.Errorf("Check: %v", err)
	}
}

// TestVerifySeesWhatTheStoreHasOtherwise changes a store behind the back of its
// allocator.
func TestVerifySeesWhatTheStoreHasOtherwise(t *testing.T) {
	t.Parallel()
	for want, spoil := range map[string]func(s *allocator.State){
		"the store is at revision 4":                                  func(s *allocator.State) { s.Meta.Revision++ },
		"entry 0:web differs between store and table":                 func(s *allocator.State) { s.Rows[0].Listings[0].Outbounds = []vip.Outbound{{Port: 9}} },
		"address 10.0.0.2 differs between store and table":            func(s *allocator.State) { s.Addrs[2].At-- },
		"address 10.0.0.4 differs between store and table":            func(s *allocator.State) { s.Addrs[2].Addr = addr("10.0.0.4") },
		"the store has 2 entries in 2 meshes, the table 2 in 3":       func(s *allocator.State) { s.Meshes = s.Meshes[:2] },
		"the store has 1 entries in 3 meshes, the table 2 in 3":       func(s *allocator.State) { s.Rows = s.Rows[:1] },
		"entry 0:web has address 10.0.0.1, which is the key of 0:his": func(s *allocator.State) { s.Addrs[0].Owner.Name = "his" },
	} {
		store := &canned{Store: memstore.New(), state: goodState()}
		a, err := allocator.Open(t.Context(), store, allocator.Config{Layout: layout("10.0.0.0/29", "fd00::/126")})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Verify(t.Context()); err != nil {
			t.Fatal(err)
		}
		store.state = goodState()
		spoil(&store.state)
		if err := a.Verify(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
