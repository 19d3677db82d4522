package interop

import (
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// types are those that every name is asked for: the ones that we have, ones
// that clients ask for, and one that nobody knows.
var types = []uint16{
	dns.TypeA, dns.TypeAAAA, dns.TypePTR, dns.TypeSRV, dns.TypeSOA, dns.TypeNS, dns.TypeTXT, dns.TypeMX, dns.TypeCNAME,
	dns.TypeDNAME, dns.TypeHTTPS, dns.TypeSVCB, dns.TypeCAA, dns.TypeNAPTR, dns.TypeDS, dns.TypeDNSKEY, dns.TypeNSEC, dns.TypeANY, 65280,
}

// questions returns questions about a zone with the given owners: names that
// are there, those above them, below them and beside them, and such as lie at
// the edges of what a name may be.
func questions(zone string, owners []string) []question {
	names := make(map[string]bool)
	for _, owner := range owners {
		for name := owner; dns.IsSubDomain(zone, name); name = parent(name) {
			names[name] = true
			names[mixed(name)] = true
			names["nope."+name] = true
			names["a.b."+name] = true
			names["*."+name] = true
			names["_tcp."+name] = true
			for _, sibling := range siblings(name) {
				names[sibling] = true
			}
		}
	}
	for _, label := range []string{
		strings.Repeat("x", 63), `\000`, `a\.b`, `with\032space`, `\"`, "256", "01", "00", "-1", "0x1", "1e0", "g", "0", "255", "ns", "dns", "a.ns.dns", "NS.DNS",
	} {
		names[label+"."+zone] = true
		names["1."+label+"."+zone] = true
	}
	var long strings.Builder // as long as a name can be
	for long.Len()+len(zone) < 253-2 {
		long.WriteString("x.")
	}
	names[long.String()+zone] = true

	var qs []question
	for name := range names {
		if _, ok := dns.IsDomainName(name); !ok || !dns.IsSubDomain(zone, strings.ToLower(name)) {
			continue
		}
		for _, t := range types {
			qs = append(qs, question{name, t})
		}
	}
	slices.SortFunc(qs, func(a, b question) int {
		if c := strings.Compare(a.name, b.name); c != 0 {
			return c
		}
		return int(a.qtype) - int(b.qtype)
	})
	return qs
}

// parent returns the name above name.
func parent(name string) string {
	next, end := dns.NextLabel(name, 0)
	if end {
		return "."
	}
	return name[next:]
}

// siblings are names beside name: with another first label, or with dots in
// other places of the first two.
func siblings(name string) []string {
	rest := parent(name)
	if rest == "." {
		return nil
	}
	label := name[:len(name)-len(rest)-1]
	return []string{
		label + "x." + rest, "x" + label + "." + rest, strings.ReplaceAll(label, "_", "-") + "." + rest,
		label + "_" + rest, "0" + label + "." + rest, label + "." + name,
		strings.Replace(label, "_", ".", 1) + "." + rest,
	}
}

// mixed returns name with every second letter in upper case.
func mixed(name string) string {
	b := []byte(name)
	for i := range b {
		if i%2 == 0 {
			b[i] = strings.ToUpper(string(b[i : i+1]))[0]
		}
	}
	return string(b)
}
