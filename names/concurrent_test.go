package names

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/meshvip/coredns-meshvip/vip"
)

// checkRecord says what is wrong with a record that was found by name, asked
// for in zone "mesh.".
func checkRecord(r *Record, name string) error {
	s := spell(r.Row, octets("mesh."))
	full := append(s.others, s.absolute, s.literal)
	switch {
	case r.Dotted != "" && r.Dotted != s.dotted, r.Literal != "" && !slices.Contains(full, r.Literal):
		return fmt.Errorf("%v has a name that is not its entry's: %+v", r.Row.Entry, r)
	case !slices.Contains(append(r.names(nil), r.claimed(nil)...), name) && name != r.Dotted+".mesh." && name != r.Literal+".mesh.":
		return fmt.Errorf("%q found %v, which does not have it: %+v", name, r.Row.Entry, r)
	case !slices.Equal(answersOf(r), oracleAddrs(r.Row)):
		return fmt.Errorf("%v answers %v", r.Row, answersOf(r))
	}
	return nil
}

const (
	churned = 64 // entries of each sort
	zone    = "mesh."
)

// churn makes up changes of rows: entries come and go, move, are told other
// hostnames, and share addresses now and then.
type churn struct {
	*rand.Rand
	live map[vip.Key]*vip.Row
	used map[netip.Addr]bool
}

func (c *churn) addr() netip.Addr {
	return netip.AddrFrom4([4]byte{240, 0, 0, byte(c.IntN(2 * churned))})
}

// next returns one change, which live has then.
func (c *churn) next() Change {
	names := []string{"a.%d", "a_%d", "%d", "%d_b"}
	e := vip.Entry{Name: fmt.Sprintf(names[c.IntN(len(names))], c.IntN(churned))}
	terms := new(vip.Terms)
	switch c.IntN(6) {
	case 0, 1:
		e.Kind, e.Name = vip.FQDN, e.Name+".mesh"
	case 2:
		e.Kind, e.Mesh, e.Name = vip.MeshService, fmt.Sprintf("m%d", 1+c.IntN(3)), fmt.Sprint(c.IntN(churned))
		for range c.IntN(4) {
			terms.Given = append(terms.Given, c.addr())
			terms.Hostnames = append(terms.Hostnames, fmt.Sprintf("a.%d.mesh", c.IntN(churned)))
		}
		slices.SortFunc(terms.Given, netip.Addr.Compare)
		terms.Given = slices.Compact(terms.Given)
	}
	ch := Change{Old: c.live[e.Key()]}
	delete(c.live, e.Key())
	if ch.Old != nil {
		delete(c.used, ch.Old.V4)
	}
	if ch.Old != nil && c.IntN(2) == 0 {
		return ch
	}
	ch.New = &vip.Row{Entry: e, Listings: []vip.Listing{{Mesh: cmp.Or(e.Mesh, "m1"), Name: e.Name, Terms: terms}}}
	if addr := c.addr(); len(terms.Given) == 0 && (!c.used[addr] || c.IntN(8) == 0) {
		c.used[addr] = true
		ch.New.V4 = addr
	}
	c.live[e.Key()] = ch.New
	return ch
}

// still are entries of which something never changes, so that every answer
// about it is known, whatever else does.
type still struct {
	service, named  *vip.Row // nothing of them changes
	given           *vip.Row // one of its addresses, and one of its hostnames, stay
	partly, sharing *vip.Row // one address stays; one comes and goes at service's
	// local is of mesh m2, and one of its hostnames and addresses stay; rival is
	// of m1, comes before it at both, and comes and goes.
	local, rival *vip.Row
}

func newStill(t *testing.T) *still {
	s := &still{service: row(t, "0:still_x.%y", "240.255.0.1", "m1"), named: row(t, "2:still.fqdn.mesh", "240.255.0.2", "m1")}
	s.given = told(t, "3:m1/still", "still.told.mesh", "240.255.1.1 240.255.1.2")
	s.partly = row(t, "2:partly.mesh", "240.255.0.4", "m1")
	s.local = told(t, "3:m2/local", "local.mesh", "10.255.0.1")
	return s
}

// next changes what changes of the still ones.
func (s *still) next(t *testing.T, step int) []Change {
	given := told(t, "3:m1/still", fmt.Sprintf("x%d.mesh still.told.mesh y.mesh", step%3)[step%2*8:], fmt.Sprintf("240.255.1.1 240.255.1.%d", 2+step%3))
	partly := row(t, "2:partly.mesh", "240.255.0.4", "m1")
	partly.V6 = netip.AddrFrom16([16]byte{0xfd, 15: byte(step)})
	local := told(t, "3:m2/local", fmt.Sprintf("z%d.mesh local.mesh", step%3)[step%2*8:], fmt.Sprintf("10.255.0.1 10.255.0.%d", 2+step%3))
	changes := []Change{{s.given, given}, {s.partly, partly}, {s.local, local}}
	var rival *vip.Row
	if step%5 < 3 {
		rival = told(t, "3:m1/local", "local.mesh", fmt.Sprintf("10.255.0.%d", 1+step%2))
	}
	if s.rival != nil || rival != nil {
		changes = append(changes, Change{s.rival, rival})
	}
	s.local, s.rival = local, rival
	if s.sharing == nil {
		s.sharing = told(t, "3:m1/guest", "guest.mesh", "240.255.0.1 240.255.0.2")
		changes = append(changes, Change{New: s.sharing})
	} else {
		changes = append(changes, Change{Old: s.sharing})
		s.sharing = nil
	}
	s.given, s.partly = given, partly
	return changes
}

// check asks for all that never changes.
func (s *still) check(v *View) error {
	for addr, want := range map[string]string{
		"240.255.0.1": "still.x.%y.mesh.", "240.255.0.2": "still.fqdn.mesh.", "240.255.0.4": "partly.mesh.",
	} {
		if got := v.PTR(netip.MustParseAddr(addr), []string{zone}); got != want {
			return fmt.Errorf("%s, which %s has all the while, has the PTR %q", addr, want, got)
		}
	}
	addr := netip.MustParseAddr("240.255.1.1")
	if r, result := v.Forward("still.told.mesh.", zone); result != Found || !r.Has(addr) {
		return fmt.Errorf("the hostname and the address that stay are %v, %v", result, r)
	}
	if v.PTR(addr, []string{zone}) == "" {
		return fmt.Errorf("the given address that stays has no PTR")
	}
	if _, result := v.Forward("x.%y.mesh.", zone); result != Empty {
		return fmt.Errorf("the ancestor that nobody touches is %v", result)
	}
	if !v.Below(netip.MustParsePrefix("240.255.0.0/24")) || !v.Below(netip.MustParsePrefix("240.255.1.0/24")) {
		return fmt.Errorf("the addresses that stay are not below their prefixes")
	}
	return nil
}

// checkLocal asks the view of m2 for what never changes there.
func (s *still) checkLocal(v *View) error {
	addr := netip.MustParseAddr("10.255.0.1")
	if r, result := v.Forward("local.mesh.", zone); result != Found || r.Row.Entry.Mesh != "m2" || !r.Has(addr) {
		return fmt.Errorf("in the view of m2 its hostname is %v, %v", result, r)
	}
	if ptr := v.PTR(addr, []string{zone}); ptr == "" {
		return fmt.Errorf("in the view of m2 the address that stays has no PTR")
	}
	if !v.Below(netip.MustParsePrefix("10.255.0.0/24")) {
		return fmt.Errorf("in the view of m2 the address that stays is not below its prefix")
	}
	return nil
}

// checkAnswers asks for something at random.
func checkAnswers(v *View, rng *rand.Rand) error {
	for _, format := range []string{"a.%d.mesh.", "a_%d.mesh.", "%d.mesh.", "%d.b.mesh."} {
		name := fmt.Sprintf(format, rng.IntN(churned))
		if r, result := v.Forward(name, zone); result == Found {
			if err := checkRecord(r, name); err != nil {
				return err
			}
		}
	}
	addr := netip.AddrFrom4([4]byte{240, 0, 0, byte(rng.IntN(2 * churned))})
	r := v.Reverse(addr)
	if r == nil {
		return nil
	}
	if !r.Has(addr) {
		return fmt.Errorf("Reverse(%v) is %v", addr, r.Row)
	}
	if ptr := v.PTR(addr, []string{zone}); ptr != "" && v.Reverse(addr) == r {
		return checkRecord(r, ptr)
	}
	return nil
}

// TestEveryAnswerIsOfOneRecordWhileAWriterChurns has readers check each answer
// while entries come and go, move, and take names and addresses from one
// another, and while views open and zones change.
func TestEveryAnswerIsOfOneRecordWhileAWriterChurns(t *testing.T) {
	t.Parallel()
	const steps = 3000
	x := NewIndex()
	x.SetZones([]string{zone})
	v := x.View(nil)
	defer v.Close()
	s := newStill(t)
	x.Apply(adds(s.service, s.named, s.given, s.partly, s.local))
	local := x.View([]string{"m2"})
	defer local.Close()

	var done atomic.Bool
	var wg sync.WaitGroup
	for seed := range uint64(3) {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(seed, seed))
			for !done.Load() {
				err := checkAnswers(v, rng)
				if err == nil {
					err = checkAnswers(local, rng)
				}
				if err == nil {
					err = s.check(v)
				}
				if err == nil {
					err = s.checkLocal(local)
				}
				if err != nil {
					t.Error(err)
					done.Store(true)
				}
			}
		})
	}

	c := &churn{rand.New(rand.NewPCG(1, 2)), make(map[vip.Key]*vip.Row), make(map[netip.Addr]bool)}
	for step := 0; step < steps && !done.Load(); step++ {
		x.Apply(append(s.next(t, step), c.next()))
		switch step % 100 {
		case 10:
			x.View([]string{"m1"}).Close()
		case 20:
			x.SetZones([]string{zone, "other."})
		case 30:
			x.SetZones([]string{zone})
		case 40:
			x.Conflicts()
		}
	}
	done.Store(true)
	wg.Wait()
	// At rest every PTR leads back to its address.
	for _, row := range c.live {
		for _, addr := range oracleAddrs(row) {
			ptr := v.PTR(addr, []string{zone})
			if ptr == "" {
				continue
			}
			if f, result := v.Forward(ptr, zone); result != Found || !f.Has(addr) {
				t.Errorf("%v has the PTR %q, which gives %v", addr, ptr, f)
			}
		}
	}
}
