package meshvip

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/miekg/dns"
)

func TestAddressesThatMayBeSomebodyElsesAreNotAnswered(t *testing.T) {
	t.Parallel()
	h, tab, _ := fixture{lines: "fallthrough"}.handler(t)
	stale, _, _ := fixture{lines: "store etcd http://127.0.0.1:2379\nstale serve"}.handler(t)
	stale.table = tab
	questions := []dns.Question{
		{Name: "backend.mesh.", Qtype: dns.TypeA},
		{Name: "backend.mesh.", Qtype: dns.TypeTXT},
		{Name: "nope.mesh.", Qtype: dns.TypeA},
		{Name: "mesh.", Qtype: dns.TypeSOA},
		{Name: "1.0.0.240.in-addr.arpa.", Qtype: dns.TypePTR},
	}
	for _, isStale := range []bool{false, true, false} {
		tab.stale.Store(isStale)
		for _, q := range questions {
			if got := ask(t, h, q.Name, q.Qtype).Rcode; (got == servfail.Rcode) != isStale {
				t.Errorf("stale: %v: %s %s is %s", isStale, q.Name, dns.TypeToString[q.Qtype], got)
			}
			if got := ask(t, stale, q.Name, q.Qtype).Rcode; got == servfail.Rcode {
				t.Errorf("stale: %v, with \"stale serve\": %s %s is %s", isStale, q.Name, dns.TypeToString[q.Qtype], got)
			}
		}
		if got := ask(t, h, "elsewhere.", dns.TypeA).Rcode; got != "NEXT" {
			t.Errorf("stale: %v: a name of others is %s", isStale, got)
		}
		records, err := h.Transfer("mesh.", 0)
		if errors.Is(err, errStale) != isStale {
			t.Errorf("stale: %v: a transfer: %v", isStale, err)
		}
		for err == nil {
			if _, more := <-records; !more {
				break
			}
		}
	}
}

func TestOnlyTheReplicaThatLeadsSendsNotify(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := fixture{pools: []string{"240.0.0.0/16"}, loading: true}.notifies(t)
		n.tab.follows.Store(true)
		n.tab.loading.Store(false)
		n.n.look()
		n.commit(allocator.RowChange{New: row("0:new", "240.0.0.100", "east")})
		time.Sleep(time.Minute)
		wantHeard(t, n.secondary, "")
		// What changed while it followed is told of, for the one that led may
		// have died before it could.
		n.tab.follows.Store(false)
		n.n.look()
		wantHeard(t, n.secondary, "0.240.in-addr.arpa@60 mesh@60")
	})
}
