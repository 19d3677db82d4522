package main

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
)

// What all servers are asked for lies in this zone, and in the reverse zone of
// this pool, which has room for mostServices.
const (
	zone         = "mesh."
	reverseZone  = "240.in-addr.arpa."
	pool         = "240.0.0.0/8"
	mostServices = 10_000_000
)

// service is the i-th service, with its address. It is named as Kubernetes names
// them, and so answers to two spellings.
func service(i int) (name string, addr netip.Addr) {
	i++ // the first address is the network's
	return fmt.Sprintf("svc-%07d_ns-%03d_svc_8080", i, i%1000), netip.AddrFrom4([4]byte{240, byte(i >> 16), byte(i >> 8), byte(i)})
}

// dotted is the spelling of a service with dots.
func dotted(name string) string { return strings.ReplaceAll(name, "_", ".") }

// reversed is the name of an address for PTR.
func reversed(addr netip.Addr) string {
	b := addr.As4()
	return fmt.Sprintf("%d.%d.%d.%d.in-addr.arpa.", b[3], b[2], b[1], b[0])
}

// shares are how the questions are mixed, in percent: A in each spelling, AAAA,
// which no name has, PTR, and A of names that do not exist.
const (
	shareLiteral = 35
	shareDotted  = 35
	shareAAAA    = 10
	sharePTR     = 10
	shareUnknown = 10
)

// question is one about n services, in dnsperf's form. The
// services are picked evenly: that is hardest on caches.
func question(r *rand.Rand, n int) string {
	name, addr := service(r.IntN(n))
	switch p := r.IntN(100); {
	case p < shareLiteral:
		return name + "." + zone + " A"
	case p < shareLiteral+shareDotted:
		return dotted(name) + "." + zone + " A"
	case p < shareLiteral+shareDotted+shareAAAA:
		return dotted(name) + "." + zone + " AAAA"
	case p < shareLiteral+shareDotted+shareAAAA+sharePTR:
		return reversed(addr) + " PTR"
	default:
		return "no-" + dotted(name) + "." + zone + " A"
	}
}
