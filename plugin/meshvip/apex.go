package meshvip

import (
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/miekg/dns"
)

const (
	soaRefresh = 60 // seconds; a secondary asks this often for the serial
	soaRetry   = 30 // seconds
	// maxExpire bounds the SOA's expire however long the cooldown is: a
	// secondary that has not reached us for a week is broken.
	maxExpire = 7 * 24 * time.Hour
)

// apex is what the records at the apexes of a block are made of, and the TTLs
// of all its records.
type apex struct {
	ttl      uint32 // seconds
	negative uint32 // seconds, the SOA's minimum
	expire   uint32 // seconds
	// ns are the addresses of the zones' name server, v4 first.
	ns []netip.Addr
}

// newApex returns the apex of a block whose released addresses cool for
// cooldown. A secondary that cannot reach us answers from its copy for expire,
// and resolvers then for ttl: by the end of both the address of an answer must
// not have been given to another entry.
func newApex(b BlockConfig, cooldown time.Duration) apex {
	ttl := time.Duration(b.TTL.Value) * time.Second
	a := apex{
		ttl:      b.TTL.Value,
		negative: b.NegativeTTL.Value,
		expire:   uint32(max(0, min(cooldown-ttl, maxExpire)) / time.Second),
		ns:       slices.Clone(b.NS.Value),
	}
	slices.SortStableFunc(a.ns, func(x, y netip.Addr) int { return x.BitLen() - y.BitLen() })
	return a
}

// soa returns the SOA record of z but for its header.
func (a *apex) soa(z *zone, serial uint32) dns.SOA {
	return dns.SOA{
		Ns:      z.server,
		Mbox:    z.mailbox,
		Serial:  serial,
		Refresh: soaRefresh,
		Retry:   soaRetry,
		Expire:  a.expire,
		Minttl:  a.negative,
	}
}

// addresses returns the records of the name server under the given name, of
// one type: A or AAAA.
func (a *apex) addresses(owner string, qtype uint16) []dns.RR {
	var rrs []dns.RR
	for _, addr := range a.ns {
		hdr := dns.RR_Header{Name: owner, Rrtype: qtype, Class: dns.ClassINET, Ttl: a.ttl}
		switch {
		case qtype == dns.TypeA && addr.Is4():
			rrs = append(rrs, &dns.A{Hdr: hdr, A: addr.AsSlice()})
		case qtype == dns.TypeAAAA && addr.Is6():
			rrs = append(rrs, &dns.AAAA{Hdr: hdr, AAAA: addr.AsSlice()})
		}
	}
	return rrs
}

// nsAddresses returns the addresses that ns.dns.ZONE has where no ns is stated:
// the addresses that the server binds to, else the first of the machine's that
// is neither loopback nor link-local, else none. interfaces is
// net.InterfaceAddrs, or a test's.
func nsAddresses(binds []string, interfaces func() ([]net.Addr, error)) []netip.Addr {
	var addrs []netip.Addr
	for _, b := range binds {
		addr, err := netip.ParseAddr(b)
		if err != nil || addr.IsUnspecified() {
			continue
		}
		if addr = addr.WithZone("").Unmap(); !slices.Contains(addrs, addr) {
			addrs = append(addrs, addr)
		}
	}
	if len(addrs) > 0 {
		return addrs
	}
	ifaces, err := interfaces()
	if err != nil {
		return nil // there is then no address to tell; the zones are served
	}
	for _, i := range ifaces {
		ipnet, ok := i.(*net.IPNet)
		if !ok {
			continue
		}
		addr, ok := netip.AddrFromSlice(ipnet.IP)
		if addr = addr.Unmap(); ok && addr.IsGlobalUnicast() {
			return []netip.Addr{addr}
		}
	}
	return nil
}
