package chaos

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"
)

// report says what was done and seen.
func (h *history) report(seed uint64, i *injector, entries int) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("MESHVIP_SEED=%d, %v, %d replicas, etcd of %d, pool %s, cooldown %v, ttl %v, lease %v",
		seed, h.now().Round(time.Second), len(i.replicas), len(i.etcd), poolCIDR, h.cooldown, h.ttl, lease)
	total := 0
	for _, n := range i.count {
		total += n
	}
	line("%d faults:", total)
	for _, kind := range slices.Sorted(maps.Keys(i.count)) {
		line("%6d %s", i.count[kind], kind)
	}
	kinds := make(map[string]int)
	for _, a := range h.answers {
		kinds[a.kind()]++
	}
	line("%d questions:", len(h.answers))
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		line("%6d %s", kinds[kind], kind)
	}
	keys := 0
	for _, t := range h.txns {
		keys += t.keys
	}
	_, shortest := h.apart()
	if shortest == forever {
		shortest = 0
	}
	line("%d transactions of %d keys; %d terms; %d names, %d addresses, %d times given to another; %d entries at the end",
		len(h.txns), keys, len(i.w.leaders), len(h.intents), len(h.writes()), h.passed(), entries)
	line("the shortest time from an answer, given in calm, to one that gives the address to another: %v", shortest.Round(time.Millisecond))
	line("checked: %d addresses as registers, claims against owners, distances, moves, releases, stable names, refusals, order of the table, agreement at rest, the table in etcd",
		len(h.writes()))
	return b.String()
}

// kind names what came back.
func (a answer) kind() string {
	switch {
	case a.rcode == noAnswer:
		return "without an answer"
	case a.claim() && a.reverse:
		return "PTR"
	case a.claim():
		return "A"
	case a.rcode == 0:
		return "NODATA"
	default:
		return dns.RcodeToString[a.rcode]
	}
}

// passed counts how often an address went to another name.
func (h *history) passed() (n int) {
	for _, writes := range h.writes() {
		owner := ""
		for _, w := range writes {
			if w.owner == "" {
				continue
			}
			if owner != "" && owner != w.owner {
				n++
			}
			owner = w.owner
		}
	}
	return n
}

// reused are the addresses that went to another name while clients saw both.
func (h *history) reused() (addrs []netip.Addr) {
	for addr, claims := range h.claims() {
		if slices.ContainsFunc(claims, func(a answer) bool { return a.name != claims[0].name }) {
			addrs = append(addrs, addr)
		}
	}
	return addrs
}
