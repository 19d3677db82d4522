package meshvip

import (
	"net/netip"
	"strings"

	"github.com/meshvip/coredns-meshvip/names"
	"github.com/miekg/dns"
)

// result is the outcome of a question, and the value of the metrics' label.
type result uint8

const (
	success  result = iota // there are records of the type
	nodata                 // the name exists, and has no record of the type
	nxdomain               // the name does not exist
	passed                 // the name does not exist here, and the next plugin has it
	failed                 // SERVFAIL: it is not known yet whether the name exists
	refused                // not a question that we answer: a transfer, an opcode
	nResults = iota
)

// String returns the result as metrics show it.
func (r result) String() string {
	return [nResults]string{"success", "nodata", "nxdomain", "fallthrough", "servfail", "refused"}[r]
}

// node is what stands at a name, whatever the type that is asked for.
type node struct {
	// exists: there is a record at the name or below it.
	exists bool
	// apex: SOA and NS.
	apex bool
	// server: A and AAAA of the name server itself.
	server bool
	// owner is the record of the entry that owns the name, nil if none does, and
	// view is what shows it.
	owner *names.Record
	view  *names.View
	// ptr is the name that an address has, or empty.
	ptr string
}

// find returns what stands at a lower-case name of the zone z, which the name's
// match gave together with rn. suffixes are the zones for the targets of PTRs.
func (s *zoneSet) find(v *names.View, name string, z *zone, rn reverseName, suffixes []string) node {
	n := node{apex: name == z.name}
	n.exists = n.apex
	if strings.HasPrefix(name, "ns.dns.") {
		if _, ok := s.ns[name]; ok {
			return node{exists: true, server: true}
		}
	}
	if z.prefix.IsValid() {
		n.findReverse(v, rn, suffixes)
	} else {
		n.findForward(v, name, z.name)
	}
	if !n.exists {
		_, n.exists = s.empty[name]
	}
	return n
}

// findForward looks for the entry that owns a name of a forward zone.
func (n *node) findForward(v *names.View, name, zone string) {
	rec, found := v.Forward(name, zone)
	switch found {
	case names.Found:
		n.exists = true
		n.owner, n.view = rec, v
	case names.Empty:
		n.exists = true
	}
}

// findReverse looks for the name of an address, or for any address below a
// name that is only an ancestor. An address whose owner has no name in this
// block is like one without an owner.
func (n *node) findReverse(v *names.View, rn reverseName, suffixes []string) {
	if addr, ok := rn.address(); ok {
		n.ptr = v.PTR(addr, suffixes)
		n.exists = n.exists || n.ptr != ""
		return
	}
	if !n.exists && !rn.rest {
		n.exists = v.Below(rn.prefix)
	}
}

// result returns the outcome of asking for a type at the node. ns are the
// addresses of the name server.
func (n *node) result(qtype uint16, ns []netip.Addr) result {
	has := false
	switch qtype {
	case dns.TypeA:
		if n.owner != nil {
			_, has = n.owner.A()
		}
		has = has || n.server && hasFamily(ns, true)
	case dns.TypeAAAA:
		if n.owner != nil {
			_, has = n.owner.AAAA()
		}
		has = has || n.server && hasFamily(ns, false)
	case dns.TypePTR:
		has = n.ptr != ""
	case dns.TypeSRV:
		has = n.owner != nil && hasPort(n.owner.Row, n.view)
	case dns.TypeSOA, dns.TypeNS:
		has = n.apex
	}
	switch {
	case has:
		return success
	case n.exists:
		return nodata
	}
	return nxdomain
}

// hasFamily reports whether one of addrs is IPv4, or IPv6.
func hasFamily(addrs []netip.Addr, v4 bool) bool {
	for _, a := range addrs {
		if a.Is4() == v4 {
			return true
		}
	}
	return false
}
