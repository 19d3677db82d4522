package meshvip

import (
	"errors"
	"iter"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coredns/coredns/plugin/transfer"
	"github.com/google/go-cmp/cmp"
	"github.com/meshvip/coredns-meshvip/names"
	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/miekg/dns"
)

// transferred returns the records that h sends of a zone to a client with the
// given serial.
func transferred(t testing.TB, h transfer.Transferer, zone string, serial uint32) []dns.RR {
	t.Helper()
	ch, err := h.Transfer(zone, serial)
	if err != nil {
		t.Fatalf("%s: %v", zone, err)
	}
	var all []dns.RR
	for rrs := range ch {
		if len(rrs) > transferBatch {
			t.Errorf("%d records come at once", len(rrs))
		}
		all = append(all, rrs...)
	}
	return all
}

// body returns the records between the SOAs of a whole zone, as text, sorted.
func body(t testing.TB, rrs []dns.RR) []string {
	t.Helper()
	if len(rrs) < 2 || rrs[0].Header().Rrtype != dns.TypeSOA || rrs[0].String() != rrs[len(rrs)-1].String() {
		t.Fatalf("a zone of %d records is not between two SOAs: %v", len(rrs), rrs)
	}
	return slices.Sorted(slices.Values(texts(rrs[1 : len(rrs)-1])))
}

func TestATransferIsTheWholeZone(t *testing.T) {
	t.Parallel()
	const lines = "pool 240.0.0.0/8 fd00:6d76::/64\nsource file x\nns 192.0.2.53 2001:db8::53\nttl 30\ncooldown 1h\n"
	for _, tc := range []struct {
		name, zone string
		fixture
		want []string
	}{
		{"forward, with both spellings and the hosts that it covers", "mesh.", fixture{zones: "mesh elsewhere.example", lines: lines + "meshes east"}, []string{
			"a.b.mesh. 30 IN A 240.0.0.7",
			"a.b.mesh. 30 IN SRV 0 100 80 a.b.mesh.",
			"api.payments.mesh. 30 IN A 240.0.1.5",
			"backend.mesh. 30 IN A 240.0.0.1",
			"backend.mesh. 30 IN AAAA fd00:6d76::1",
			"backend.mesh. 30 IN SRV 0 100 80 backend.mesh.",
			"kiosk.kuma-demo.svc.5678.mesh. 30 IN A 240.0.0.3",
			"kiosk.kuma-demo.svc.5678.mesh. 30 IN SRV 0 100 80 kiosk.kuma-demo.svc.5678.mesh.",
			"kiosk_kuma-demo_svc_5678.mesh. 30 IN A 240.0.0.3",
			"kiosk_kuma-demo_svc_5678.mesh. 30 IN SRV 0 100 80 kiosk_kuma-demo_svc_5678.mesh.",
			"mesh. 30 IN NS ns.dns.mesh.",
			"ns.dns.mesh. 30 IN A 192.0.2.53",
			"ns.dns.mesh. 30 IN AAAA 2001:db8::53",
			"top.mesh. 30 IN A 240.0.0.0",
			"top.mesh. 30 IN SRV 0 100 80 top.mesh.",
			"v4only.mesh. 30 IN A 240.0.0.2",
			"v4only.mesh. 30 IN SRV 0 100 80 v4only.mesh.",
			"v6only.mesh. 30 IN AAAA fd00:6d76::ab",
			"v6only.mesh. 30 IN SRV 0 100 80 v6only.mesh.",
		}},
		{"the root, with the hosts that no longer zone covers", ".", fixture{zones: "mesh .", lines: lines}, []string{
			". 30 IN NS ns.dns.",
			"elsewhere.example. 30 IN A 240.0.0.8",
			"elsewhere.example. 30 IN SRV 0 100 80 elsewhere.example.",
			"httpbin.org. 30 IN A 240.0.0.4",
			"httpbin.org. 30 IN SRV 0 100 80 httpbin.org.",
			"ns.dns. 30 IN A 192.0.2.53",
			"ns.dns. 30 IN AAAA 2001:db8::53",
		}},
		{"the root, without names of the reverse trees", ".", fixture{zones: "mesh .", lines: lines, rows: []*vip.Row{
			row("1:9.0.0.240.in-addr.arpa", "240.0.0.9", "east"), row("2:arpa", "240.0.0.10", "east"),
		}}, []string{
			". 30 IN NS ns.dns.",
			"arpa. 30 IN A 240.0.0.10",
			"ns.dns. 30 IN A 192.0.2.53",
			"ns.dns. 30 IN AAAA 2001:db8::53",
		}},
		{"reverse, without what is outside of it", "0.0.240.in-addr.arpa.", fixture{zones: "mesh 240.0.0.0/24", lines: lines, pools: []string{"240.0.0.0/30"}}, nil},
		{"reverse, a range of a pool", "0.0.0.240.in-addr.arpa.", fixture{zones: "mesh", lines: lines, pools: []string{"240.0.0.0/31"}}, []string{
			"0.0.0.240.in-addr.arpa. 30 IN NS ns.dns.0.0.0.240.in-addr.arpa.",
			"0.0.0.240.in-addr.arpa. 30 IN PTR top.mesh.",
			"ns.dns.0.0.0.240.in-addr.arpa. 30 IN A 192.0.2.53",
			"ns.dns.0.0.0.240.in-addr.arpa. 30 IN AAAA 2001:db8::53",
		}},
		{"reverse v6", "0.0.0.0.0.0.0.0.6.7.d.6.0.0.d.f.ip6.arpa.", fixture{lines: lines}, []string{
			"0.0.0.0.0.0.0.0.6.7.d.6.0.0.d.f.ip6.arpa. 30 IN NS ns.dns.0.0.0.0.0.0.0.0.6.7.d.6.0.0.d.f.ip6.arpa.",
			"1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.6.7.d.6.0.0.d.f.ip6.arpa. 30 IN PTR backend.mesh.",
			"b.a.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.6.7.d.6.0.0.d.f.ip6.arpa. 30 IN PTR v6only.mesh.",
			"ns.dns.0.0.0.0.0.0.0.0.6.7.d.6.0.0.d.f.ip6.arpa. 30 IN A 192.0.2.53",
			"ns.dns.0.0.0.0.0.0.0.0.6.7.d.6.0.0.d.f.ip6.arpa. 30 IN AAAA 2001:db8::53",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h, _, _ := tc.handler(t)
			if tc.want == nil {
				if _, err := h.Transfer(tc.zone, 0); !errors.Is(err, transfer.ErrNotAuthoritative) {
					t.Fatalf("%v, want that it is not ours", err)
				}
				return
			}
			rrs := transferred(t, h, tc.zone, 0)
			if diff := cmp.Diff(tc.want, body(t, rrs)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			want := tc.zone + " 30 IN SOA " + below("ns.dns.", tc.zone) + " " + below("hostmaster.", tc.zone) + " 7 60 30 3570 5"
			if got := texts(rrs[:1])[0]; got != want {
				t.Errorf("SOA %q, want %q", got, want)
			}
		})
	}
}

func TestOnlyWholeZonesOfOursAreTransferred(t *testing.T) {
	t.Parallel()
	h, _, _ := fixture{zones: "mesh svc.mesh", pools: []string{"240.0.0.0/8"}}.handler(t)
	for zone, ours := range map[string]bool{
		"mesh.": true, "MeSh.": true, "svc.mesh.": true, "SVC.mesh.": true, "240.in-addr.arpa.": true, "240.IN-ADDR.ARPA.": true,
		".": false, "backend.mesh.": false, "dns.mesh.": false, "h.": false, "xmesh.": false, "mesh": false, "": false,
		"0.240.in-addr.arpa.": false, "in-addr.arpa.": false, "1.0.0.240.in-addr.arpa.": false,
	} {
		ch, err := h.Transfer(zone, 0)
		switch {
		case ours && err != nil:
			t.Errorf("%q: %v", zone, err)
		case !ours && err != transfer.ErrNotAuthoritative: // plugin transfer compares
			t.Errorf("%q: %v, want that it is not ours", zone, err)
		}
		for ch != nil {
			if _, ok := <-ch; !ok {
				break
			}
		}
	}
}

// An empty zone, or one of which the source was not read, would make a secondary
// deny names.
func TestNoZoneIsTransferredBeforeItIsKnown(t *testing.T) {
	t.Parallel()
	for _, f := range []fixture{{loading: true}, {syncing: true}, {loading: true, syncing: true}} {
		h, tab, _ := f.handler(t)
		for _, zone := range []string{"mesh.", "240.in-addr.arpa."} {
			if _, err := h.Transfer(zone, 0); err == nil || errors.Is(err, transfer.ErrNotAuthoritative) {
				t.Errorf("%+v, %s: %v, want another error than that it is not ours", f, zone, err)
			}
		}
		tab.loading.Store(false)
		tab.syncing.Store(false)
		transferred(t, h, "mesh.", 0)
	}
}

func TestAClientThatIsCurrentGetsTheSOAAlone(t *testing.T) {
	t.Parallel()
	h, tab, _ := fixture{}.handler(t)
	for _, tc := range []struct {
		ours, client uint32
		alone        bool
	}{
		{7, 7, true},
		{7, 8, true},
		{7, 6, false},
		{7, 0, false}, // AXFR
		{7, 1<<32 - 1, false},
		{1<<32 - 1, 7, true},
		{5, 5 + 1<<31 - 1, true},
		{5, 5 + 1<<31, false}, // in no order
		{5, 6 + 1<<31, false},
	} {
		tab.serial.Store(tc.ours)
		rrs := transferred(t, h, "mesh.", tc.client)
		if alone := len(rrs) == 1; alone != tc.alone {
			t.Errorf("serial %d, client %d: %d records", tc.ours, tc.client, len(rrs))
		}
		if soa, ok := rrs[0].(*dns.SOA); !ok || soa.Serial != tc.ours {
			t.Errorf("serial %d, client %d: %v comes first", tc.ours, tc.client, rrs[0])
		}
	}
}

func TestAClientThatHangsIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ended := false
		endless := func(yield func(dns.RR) bool) {
			for yield(new(dns.A)) {
			}
			ended = true
		}
		ch := make(chan []dns.RR)
		all := make(chan bool)
		go func() { all <- send(ch, endless, time.Minute) }()
		for range 3 { // a slow client is no client that hangs
			time.Sleep(59 * time.Second)
			<-ch
		}
		if <-all || !ended {
			t.Error("a transfer that nobody takes goes on")
		}
	})
}

func TestBatchesHoldAllRecordsInTheirOrder(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, transferBatch - 1, transferBatch, transferBatch + 1, 3*transferBatch + 7} {
		var records iter.Seq[dns.RR] = func(yield func(dns.RR) bool) {
			for i := range n {
				if !yield(&dns.SOA{Serial: uint32(i)}) {
					return
				}
			}
		}
		ch := make(chan []dns.RR)
		go func() {
			defer close(ch)
			send(ch, records, time.Hour)
		}()
		next := 0
		for rrs := range ch {
			for _, rr := range rrs {
				if got := rr.(*dns.SOA).Serial; got != uint32(next) {
					t.Fatalf("record %d comes in the place of %d", got, next)
				}
				next++
			}
		}
		if next != n {
			t.Errorf("%d records of %d come", next, n)
		}
	}
}

// A transfer that began before a change is of the state before it, with the serial
// of no later one.
func TestATransferIsOfOneState(t *testing.T) {
	t.Parallel()
	var rows []*vip.Row
	for i := range 3 * transferBatch {
		rows = append(rows, row("0:s"+netip.AddrFrom4([4]byte{240, 0, byte(i >> 8), byte(i)}).String(), netip.AddrFrom4([4]byte{240, 0, byte(i >> 8), byte(i)}).String(), "east"))
	}
	h, tab, x := fixture{rows: rows}.handler(t)
	ch, err := h.Transfer("mesh.", 0)
	if err != nil {
		t.Fatal(err)
	}
	all := <-ch
	var changes []names.Change
	for _, r := range rows {
		changes = append(changes, names.Change{Old: r})
	}
	x.Apply(changes)
	tab.serial.Store(8)
	for rrs := range ch {
		all = append(all, rrs...)
	}
	if got := len(all); got < 2*len(rows) || all[0].(*dns.SOA).Serial != 7 || all[got-1].(*dns.SOA).Serial != 7 {
		t.Errorf("%d records of %d rows, from %v to %v", got, len(rows), all[0], all[got-1])
	}
	if after := transferred(t, h, "mesh.", 7); after[0].(*dns.SOA).Serial != 8 || len(after) > 8 {
		t.Errorf("after the change the zone has %v", after)
	}
}

// The records of a transfer are the client's plugins' to change.
func TestATransferSharesNoRecordWithAnother(t *testing.T) {
	t.Parallel()
	h, _, _ := fixture{lines: "ns 192.0.2.53"}.handler(t)
	first := transferred(t, h, "mesh.", 0)
	was := texts(first)
	for _, rr := range first {
		rr.Header().Ttl, rr.Header().Name = 0, "changed."
		if a, ok := rr.(*dns.A); ok {
			clear(a.A)
		}
	}
	if got := texts(transferred(t, h, "mesh.", 0)); !maps.Equal(count(got), count(was)) {
		t.Errorf("the second transfer has\n%q, want\n%q", got, was)
	}
}

func count(all []string) map[string]int {
	n := make(map[string]int)
	for _, s := range all {
		n[s]++
	}
	return n
}
