package interop

import (
	"context"
	"net/netip"
	"time"

	"github.com/miekg/dns"
)

// exchange asks one question by UDP, with recursion desired, and asks to be told
// whether the answer is authentic.
func (d *daemon) exchange(name string, qtype uint16) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	m := new(dns.Msg).SetQuestion(dns.Fqdn(name), qtype)
	m.AuthenticatedData = true // RFC 6840, 5.7
	m.SetEdns0(1232, false)
	r, _, err := new(dns.Client).ExchangeContext(ctx, m, d.addr)
	return r, err
}

// ask is exchange that must be answered; it is tried again where UDP loses it.
func (d *daemon) ask(name string, qtype uint16) *dns.Msg {
	d.t.Helper()
	var r *dns.Msg
	d.wait(patience, d.name+" to answer for "+name, func() bool {
		var err error
		r, err = d.exchange(name, qtype)
		return err == nil
	})
	return r
}

// serves waits until the server answers for name with an SOA.
func (d *daemon) serves(zone string) {
	d.t.Helper()
	d.wait(patience, d.name+" to serve "+zone, func() bool {
		r, err := d.exchange(zone, dns.TypeSOA)
		return err == nil && r.Rcode == dns.RcodeSuccess && len(r.Answer) == 1
	})
}

// addr returns the address of name in records of type A or AAAA, the zero Addr
// if there is none.
func (d *daemon) address(name string, qtype uint16) netip.Addr {
	d.t.Helper()
	for _, rr := range d.ask(name, qtype).Answer {
		switch rr := rr.(type) {
		case *dns.A:
			addr, _ := netip.AddrFromSlice(rr.A.To4())
			return addr
		case *dns.AAAA:
			addr, _ := netip.AddrFromSlice(rr.AAAA)
			return addr
		}
	}
	return netip.Addr{}
}

// ptr returns the name of addr, "" if there is none.
func (d *daemon) ptr(addr netip.Addr) string {
	d.t.Helper()
	for _, rr := range d.ask(reverse(addr), dns.TypePTR).Answer {
		if p, ok := rr.(*dns.PTR); ok {
			return p.Ptr
		}
	}
	return ""
}

// serial returns the serial of a zone.
func (d *daemon) serial(zone string) uint32 {
	d.t.Helper()
	for _, rr := range d.ask(zone, dns.TypeSOA).Answer {
		if soa, ok := rr.(*dns.SOA); ok {
			return soa.Serial
		}
	}
	d.t.Fatalf("%s has no SOA for %s", d.name, zone)
	return 0
}

// soaOf returns the SOA in the authority section, nil if there is none.
func soaOf(r *dns.Msg) *dns.SOA {
	for _, rr := range r.Ns {
		if soa, ok := rr.(*dns.SOA); ok {
			return soa
		}
	}
	return nil
}

// reverse returns the name that the PTR of addr is at.
func reverse(addr netip.Addr) string {
	name, err := dns.ReverseAddr(addr.String())
	if err != nil {
		panic(err) // it is an address
	}
	return name
}
