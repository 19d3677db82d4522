package interop

import (
	"net/netip"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// short is the negative TTL of the tests that wait for its end, in seconds.
// soon is far below the 60 seconds for which a resolver would keep a negative
// answer if it took the SOA's own TTL.
const (
	short = 3
	soon  = 30 * time.Second
)

// resolvers are the servers that stand between us and clients.
var resolvers = []struct {
	name  string
	start func(testing.TB, *daemon) *daemon
}{
	{"unbound forwarding", func(t testing.TB, d *daemon) *daemon {
		return startUnbound(t, "iterator", nil, "forward", d, zones...)
	}},
	// It asks as of a name server that it found, label by label (RFC 9156).
	{"unbound resolving", func(t testing.TB, d *daemon) *daemon {
		return startUnbound(t, "iterator", nil, "stub", d, zones...)
	}},
	{"BIND forwarding", func(t testing.TB, d *daemon) *daemon {
		return startBindResolver(t, d, "dnssec-validation no;", "", zones...)
	}},
}

// sameAs checks that r gives the addresses and names that d gives, having
// asked for an ancestor first: who takes "no such name" for "nothing below"
// (RFC 8020) would find nothing then.
func (r *daemon) sameAs(d *daemon) {
	r.t.Helper()
	for _, name := range []string{"kuma-demo.svc.5678.mesh.", "svc.6379.mesh.", "all.mesh."} {
		if m := r.ask(name, dns.TypeA); m.Rcode != dns.RcodeSuccess || len(m.Answer) != 0 || soaOf(m) == nil {
			r.t.Errorf("%s of the ancestor %s: %v", r.name, name, m)
		}
	}
	for _, name := range []string{
		"backend.mesh.", "BACKEND.mesh.", "catalogue.mesh.", "basket-cache.mesh.", "maps.mesh.", host, "backend.all.mesh.",
		"backend_kuma-demo_svc_5678.mesh.", "backend.kuma-demo.svc.5678.mesh.", "redis.kuma-demo.svc.6379.mesh.",
	} {
		for _, qtype := range []uint16{dns.TypeA, dns.TypeAAAA} {
			want, got := d.address(name, qtype), r.address(name, qtype)
			if !want.IsValid() || got != want {
				r.t.Errorf("%s has %v for %s, want %v", r.name, got, name, want)
			}
			if want.IsValid() && r.ptr(want) != d.ptr(want) {
				r.t.Errorf("%s has the name %q for %v, want %q", r.name, r.ptr(want), want, d.ptr(want))
			}
		}
	}
}

func TestResolversGiveWhatWeGiveAndForgetInTime(t *testing.T) {
	t.Parallel()
	for _, resolver := range resolvers {
		t.Run(resolver.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.negativeTTL = short
			d := s.start()
			r := resolver.start(t, d)
			r.sameAs(d)

			first := r.absent("newcomer.mesh.")
			r.wait(soon, "a negative answer to age", func() bool { return r.absent("newcomer.mesh.") < first })
			next := free4(d, services)
			r.absent(reverse(next))
			s.list("newcomer")
			addr := d.resolves("newcomer.mesh.", dns.TypeA)
			r.wait(soon, r.name+" to forget that there was no such name", func() bool {
				m := r.ask("newcomer.mesh.", dns.TypeA)
				if len(m.Answer) == 0 {
					r.absent("newcomer.mesh.")
				}
				return len(m.Answer) == 1
			})
			r.wait(soon, r.name+" to have the name of the new address", func() bool { return r.ptr(addr) == "newcomer.mesh." })
			if got := r.address("newcomer.mesh.", dns.TypeA); got != addr {
				t.Errorf("%s has %v for newcomer.mesh, want %v", r.name, got, addr)
			}
			told(t, "all names and addresses as we have them, after questions for their ancestors; a negative answer is kept %d s at most, ages, "+
				"and newcomer.mesh and the name of %v are found after it", first, addr)
		})
	}
}

// absent checks that name does not exist, and returns for how many seconds
// more a client may believe that.
func (d *daemon) absent(name string) uint32 {
	d.t.Helper()
	m := d.ask(name, dns.TypeA)
	soa := soaOf(m)
	if m.Rcode == dns.RcodeSuccess && len(m.Answer) == 1 {
		return 0 // it has come meanwhile
	}
	if m.Rcode != dns.RcodeNameError || soa == nil {
		d.t.Fatalf("%s says of %s, which does not exist: %v", d.name, name, m)
	}
	if soa.Hdr.Ttl > short || soa.Minttl != short {
		d.t.Errorf("%s keeps that %s does not exist for %d s, and the SOA's minimum is %d", d.name, name, soa.Hdr.Ttl, soa.Minttl)
	}
	return soa.Hdr.Ttl
}

// free4 returns an address of the pool that nobody has: the next after those
// that are taken.
func free4(d *daemon, taken []string) netip.Addr {
	d.t.Helper()
	last := netip.Addr{}
	for _, service := range taken {
		if addr := d.address(service+".mesh.", dns.TypeA); addr.Compare(last) > 0 {
			last = addr
		}
	}
	for d.ptr(last) != "" {
		last = last.Next()
	}
	return last
}
