package chaos

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/etcdstore"
	"github.com/miekg/dns"
)

// quiet waits until all replicas show the same, and that is exactly what is listed.
// Nothing may change any more. It returns who has which address.
func (c *cluster) quiet(listed []string) map[string]netip.Addr {
	c.t.Helper()
	want := make(map[string]bool)
	for _, name := range slices.Concat(listed, c.h.stable) {
		want[name], want[dotted(name)] = true, true
	}
	var has map[string]netip.Addr
	why := "nobody was asked"
	defer func() {
		if c.t.Failed() {
			c.t.Logf("the replicas do not rest: %s", why)
		}
	}()
	eventually(c.t, "all replicas to show what is listed", func() bool {
		has, why = c.agreed(want)
		return why == ""
	})
	return has
}

// agreed says why the replicas do not show the same and what is wanted, "" if they
// do.
func (c *cluster) agreed(want map[string]bool) (has map[string]netip.Addr, why string) {
	var first []string
	for _, r := range c.replicas {
		zone, err := r.transfer("mesh.")
		if err != nil {
			return nil, fmt.Sprintf("replica %d: %v", r.n, err)
		}
		zone = withoutSOA(zone) // the timers follow the replica's own options
		if first == nil {
			first = zone
		}
		if diff := difference(first, zone); diff != "" {
			return nil, fmt.Sprintf("replicas %d and %d differ: %s", c.replicas[0].n, r.n, diff)
		}
		if a, b := c.replicas[0].serial(), r.serial(); a != b || a == 0 {
			return nil, fmt.Sprintf("replicas %d and %d are at serials %d and %d", c.replicas[0].n, r.n, a, b)
		}
	}
	has = addresses(first)
	delete(has, "ns.dns")
	if diff := difference(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(has))); diff != "" {
		return nil, "what is listed is not what is shown: " + diff
	}
	for _, r := range c.replicas {
		if why := r.confirms(has); why != "" {
			return nil, fmt.Sprintf("replica %d: %s", r.n, why)
		}
	}
	return has, ""
}

// confirms says why a replica's PTR records are not what the A records are in
// reverse, "" if they are. Nor have the other addresses of a small pool a name.
func (r *replica) confirms(has map[string]netip.Addr) string {
	want := make(map[string]string)
	if strings.Contains(r.block, "pool "+poolCIDR) {
		for _, addr := range usable(poolCIDR) {
			want[reverseName(addr)] = ""
		}
	}
	for name, addr := range has {
		if dotted(name) == name {
			want[reverseName(addr)] = name + ".mesh."
		}
	}
	got, err := r.many(slices.Collect(maps.Keys(want)), dns.TypePTR)
	if err != nil {
		return err.Error()
	}
	for question, name := range want {
		if got[question] != name {
			return fmt.Sprintf("%s is answered with %q, want %q", question, got[question], name)
		}
	}
	return ""
}

// addresses returns the A records of zone mesh, by the name below it.
func addresses(records []string) map[string]netip.Addr {
	has := make(map[string]netip.Addr)
	for _, line := range records {
		if f := strings.Fields(line); len(f) == 5 && f[3] == "A" {
			if addr, err := netip.ParseAddr(f[4]); err == nil {
				has[strings.TrimSuffix(f[0], ".mesh.")] = addr
			}
		}
	}
	return has
}

func withoutSOA(records []string) []string {
	kept := slices.DeleteFunc(records, func(line string) bool { return strings.Contains(line, "\tSOA\t") })
	slices.Sort(kept)
	return kept
}

// difference says what stands in only one of two lists, some of it.
func difference(a, b []string) string {
	var only []string
	for _, s := range a {
		if _, found := slices.BinarySearch(b, s); !found {
			only = append(only, "-"+s)
		}
	}
	for _, s := range b {
		if _, found := slices.BinarySearch(a, s); !found {
			only = append(only, "+"+s)
		}
	}
	return strings.Join(only[:min(len(only), 8)], " ")
}

// load reads the table that etcd holds, and checks that it is sound.
func (c *cluster) load() allocator.State {
	c.t.Helper()
	store, err := etcdstore.Open(etcdstore.Config{
		Endpoints: c.etcd[0].Endpoints(), Prefix: prefix, Timeout: patience, Lease: lease, Name: "test",
	})
	if err != nil {
		c.t.Fatal(err)
	}
	defer store.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	state, err := store.Load(ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, d := range state.Damaged {
		c.t.Errorf("etcd holds a damaged record at %s: %v", d.Place, d.Err)
	}
	if err := allocator.Check(state); err != nil {
		c.t.Errorf("the table in etcd is not sound:\n%v", err)
	}
	return state
}

// holds checks that the table in etcd is what clients are told, and what the
// witness has seen to become of it.
func (c *cluster) holds(has map[string]netip.Addr) allocator.State {
	c.t.Helper()
	c.w.caughtUp()
	state := c.load()
	owners := c.h.owners()
	for _, r := range state.Rows {
		name := dotted(r.Entry.Name)
		if has[name] != r.V4 {
			c.t.Errorf("%s is at %v in etcd, and told to be at %v", name, r.V4, has[name])
		}
		if owners[r.V4] != name {
			c.t.Errorf("%v is %s's in etcd, and the witness has seen it given to %q", r.V4, name, owners[r.V4])
		}
		delete(owners, r.V4)
	}
	if len(owners) > 0 {
		c.t.Errorf("the witness has seen these given, and etcd does not have them: %v", owners)
	}
	return state
}
