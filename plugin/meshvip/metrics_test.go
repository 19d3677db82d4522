package meshvip

import (
	"context"
	"maps"
	"strings"
	"testing"

	"github.com/coredns/coredns/core/dnsserver"
	"github.com/miekg/dns"
	"github.com/prometheus/client_golang/prometheus"
)

// askFrom sends a question as the server at addr does.
func askFrom(addr string, h *Handler, name string, qtype uint16) {
	ctx := context.WithValue(context.Background(), dnsserver.Key{}, &dnsserver.Server{Addr: addr})
	_, _ = h.ServeDNS(ctx, &discard{}, new(dns.Msg).SetQuestion(name, qtype))
}

func TestRequestsAreCountedByServerZoneAndResult(t *testing.T) {
	t.Parallel()
	h, tab, _ := fixture{zones: "counted", lines: "fallthrough through.counted"}.handler(t)
	for _, q := range []string{"backend.counted.", "BACKEND.counted.", "v6only.counted.", "nope.counted.", "x.through.counted.", "elsewhere."} {
		askFrom("dns://:53", h, q, dns.TypeA)
	}
	askFrom("dns://:54", h, "backend.counted.", dns.TypeA)
	askFrom("dns://:53", h, "backend.counted.", dns.TypeAXFR)
	tab.syncing.Store(true)
	askFrom("dns://:53", h, "nope.counted.", dns.TypeA)
	tab.loading.Store(true)
	askFrom("dns://:53", h, "backend.counted.", dns.TypeA)
	counted := requests(t)
	for labels, want := range map[[2]string]float64{
		{"dns://:53", "success"}:     2,
		{"dns://:54", "success"}:     1,
		{"dns://:53", "nodata"}:      1,
		{"dns://:53", "nxdomain"}:    1,
		{"dns://:53", "fallthrough"}: 1,
		{"dns://:53", "refused"}:     1,
		{"dns://:53", "servfail"}:    2,
		{"dns://:54", "nxdomain"}:    0,
	} {
		if got := counted[[3]string{labels[0], "counted.", labels[1]}]; got != want {
			t.Errorf("%v: %v, want %v", labels, got, want)
		}
	}
}

// Two views of one server may have one zone, with different names in it.
func TestViewsOfAServerAreCountedApart(t *testing.T) {
	t.Parallel()
	for view, lines := range map[string]string{"east": "meshes east", "west": "meshes west", "": ""} {
		h, _, _ := fixture{zones: "viewed", lines: lines}.handler(t)
		ctx := context.WithValue(context.Background(), dnsserver.Key{}, &dnsserver.Server{Addr: "dns://:53"})
		if view != "" { // as CoreDNS does
			ctx = context.WithValue(ctx, dnsserver.ViewKey{}, view)
		}
		for range 2 {
			_, _ = h.ServeDNS(ctx, &discard{}, new(dns.Msg).SetQuestion("backend.viewed.", dns.TypeA))
		}
	}
	counted := requestsOf(t, "view", "zone", "result")
	for labels, want := range map[[3]string]float64{
		{"east", "viewed.", "success"}:  2,
		{"east", "viewed.", "nxdomain"}: 0,
		{"west", "viewed.", "success"}:  0,
		{"west", "viewed.", "nxdomain"}: 2,
		{"", "viewed.", "success"}:      2,
	} {
		if got := counted[labels]; got != want {
			t.Errorf("%v: %v, want %v", labels, got, want)
		}
	}
}

func TestNoLabelCarriesAQuerysName(t *testing.T) {
	t.Parallel()
	h, _, _ := fixture{zones: "labels"}.handler(t)
	for _, q := range []string{"\\255\\000.labels.", "a.b.c.labels.", "LABELS.", "9.9.9.240.in-addr.arpa.", "junk.240.in-addr.arpa."} {
		askFrom("dns://:55", h, q, dns.TypeA)
	}
	zones := make(map[string]bool)
	for labels := range requests(t) {
		if labels[0] == "dns://:55" {
			zones[labels[1]] = true
		}
	}
	if want := map[string]bool{"labels.": true, "240.in-addr.arpa.": true}; !maps.Equal(zones, want) {
		t.Errorf("zones %v, want %v", zones, want)
	}
}

// Each reload makes its handlers anew, while the old ones answer.
func TestBlocksAndReloadsShareTheMetrics(t *testing.T) {
	t.Parallel()
	for range 3 {
		for range 2 {
			h, _, _ := fixture{zones: "reloaded"}.handler(t)
			askFrom("dns://:53", h, "backend.reloaded.", dns.TypeA)
		}
	}
	if got := requests(t)[[3]string{"dns://:53", "reloaded.", "success"}]; got != 6 {
		t.Errorf("%v requests over the reloads, want 6", got)
	}
}

func TestMetricsAreNamedAsCoreDNSNamesThem(t *testing.T) {
	t.Parallel()
	for _, c := range []prometheus.Collector{
		requestsTotal, entriesGauge, poolSize, poolUsed, poolCooling, exhausted, conflicts, heldReleases, serialGauge,
		lastSync, storeLost, allocations, releases, sourceErrors, commitDuration,
	} {
		ch := make(chan *prometheus.Desc, 1)
		c.Describe(ch)
		d := (<-ch).String()
		_, counts := c.(*prometheus.CounterVec)
		if !strings.Contains(d, `fqName: "coredns_meshvip_`) || strings.Contains(d, `_total"`) != counts {
			t.Errorf("%s", d)
		}
	}
}

// requests returns the values of requests_total by server, zone and result, as
// plugin prometheus shows them.
func requests(t *testing.T) map[[3]string]float64 {
	t.Helper()
	return requestsOf(t, "server", "zone", "result")
}

// requestsOf returns the values of requests_total, summed up by three labels.
func requestsOf(t *testing.T, by ...string) map[[3]string]float64 {
	t.Helper()
	families, err := prometheus.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := make(map[[3]string]float64)
	for _, f := range families {
		if f.GetName() != "coredns_meshvip_requests_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			labels := make(map[string]string)
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			values[[3]string{labels[by[0]], labels[by[1]], labels[by[2]]}] += m.GetCounter().GetValue()
		}
	}
	return values
}
