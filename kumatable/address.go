package kumatable

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/meshvip/coredns-meshvip/vip"
)

// originKubernetes is the origin of outbounds that Kubernetes Services and pods
// gave.
const originKubernetes = "kubernetes"

// address reads an address of a table. "" is the zero Addr: the row waits.
func address(s string) (netip.Addr, error) {
	if s == "" {
		return netip.Addr{}, nil
	}
	addr, err := netip.ParseAddr(s)
	if err != nil || addr.Zone() != "" {
		return netip.Addr{}, fmt.Errorf("address %.80q: want an IP address", s)
	}
	return addr.Unmap(), nil
}

// foreign returns why a row is none, "" if it is one.
func foreign(e vip.Entry, addr netip.Addr, outbounds []vip.Outbound) string {
	if e.Kind != vip.Host || !addr.IsValid() {
		return ""
	}
	host, err := netip.ParseAddr(e.Name)
	if err != nil {
		return ""
	}
	if slices.ContainsFunc(outbounds, func(o vip.Outbound) bool { return o.Origin == originKubernetes }) {
		return whyKubernetes
	}
	if host.Unmap() == addr {
		return whyItself
	}
	return ""
}

// services returns the service tags of outbounds, sorted.
func services(outbounds []vip.Outbound) []string {
	var all []string
	for _, o := range outbounds {
		for _, t := range o.Tags {
			if t.Key == vip.ServiceTag {
				all = append(all, t.Value)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// serviceOutbound is what a service tag gives.
func serviceOutbound(service string) vip.Outbound {
	return vip.Outbound{Tags: []vip.Tag{{Key: vip.ServiceTag, Value: service}}, Origin: vip.OriginService}
}
