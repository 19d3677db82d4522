package publish

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
)

// writeDestination writes the elements of a MeshService, MeshExternalService or
// MeshMultiZoneService, as l lists it. taken has what is listened on already,
// and is told of these. The error names the ports that another entry has.
func writeDestination(b *bytes.Buffer, r *vip.Row, l vip.Listing, taken map[netip.AddrPort]vip.Entry) error {
	addrs := r.Given()
	if len(addrs) == 0 {
		addrs = r.Addrs()
	}
	var ports []uint16
	for _, o := range l.Outbounds {
		if o.Port != 0 { // Kuma refuses a backendRef without one
			ports = append(ports, o.Port)
		}
	}
	slices.Sort(ports)
	var lost []string
	for _, addr := range addrs {
		for _, port := range slices.Compact(ports) {
			at := netip.AddrPortFrom(addr, port)
			if holder, ok := taken[at]; ok {
				lost = append(lost, fmt.Sprintf("%v (that of %.80q)", at, holder))
				continue
			}
			taken[at] = r.Entry
			writeListener(b, addr, port)
			b.WriteString("  backendRef:\n")
			writePair(b, "    ", "kind", r.Entry.Kind.String())
			writePair(b, "    ", "name", l.Name)
			fmt.Fprintf(b, "    port: %d\n", port)
		}
	}
	if len(lost) > 0 {
		return fmt.Errorf("entry %.80q: a proxy cannot listen twice on %s; give the resource another address in Kuma", r.Entry, strings.Join(lost[:min(len(lost), 3)], ", "))
	}
	return nil
}
