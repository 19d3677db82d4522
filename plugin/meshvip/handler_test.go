package meshvip

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/coredns/coredns/plugin/pkg/dnstest"
	"github.com/coredns/coredns/plugin/test"
	"github.com/coredns/coredns/request"
	"github.com/google/go-cmp/cmp"
	"github.com/meshvip/coredns-meshvip/names"
	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/miekg/dns"
)

func TestOtherOpcodesAreNotAnsweredAsQuestions(t *testing.T) {
	t.Parallel()
	h, _, _ := fixture{}.handler(t)
	for opcode, want := range map[int]string{
		dns.OpcodeNotify: "NOERROR unwritten", // dropped, as plugin file drops it
		dns.OpcodeUpdate: "NOTIMP unwritten",
		dns.OpcodeStatus: "NOTIMP unwritten",
	} {
		q := new(dns.Msg).SetQuestion("mesh.", dns.TypeSOA)
		q.Opcode = opcode
		if got := exchange(t, h, q); got.Rcode != want {
			t.Errorf("%s of our zone: %s, want %s", dns.OpcodeToString[opcode], got.Rcode, want)
		}
		q.Question[0].Name = "example.org."
		if got := exchange(t, h, q); got.Rcode != "NEXT" {
			t.Errorf("%s of another zone: %s, want NEXT", dns.OpcodeToString[opcode], got.Rcode)
		}
	}
}

func TestPoolsThatChangeChangeTheReverseZones(t *testing.T) {
	t.Parallel()
	h, tab, _ := fixture{pools: []string{"240.0.0.0/8"}}.handler(t)
	if got := ask(t, h, "1.0.0.241.in-addr.arpa.", dns.TypePTR); got.Rcode != "NEXT" {
		t.Errorf("before: %+v", got)
	}
	tab.setPools("241.0.0.0/8")
	if got := ask(t, h, "1.0.0.241.in-addr.arpa.", dns.TypePTR); got.Rcode != "NXDOMAIN" {
		t.Errorf("a pool that has come: %+v", got)
	}
	if got := ask(t, h, "1.0.0.240.in-addr.arpa.", dns.TypePTR); got.Rcode != "NEXT" {
		t.Errorf("a pool that has gone: %+v", got)
	}
}

func TestTheSerialIsTheTables(t *testing.T) {
	t.Parallel()
	h, tab, _ := fixture{}.handler(t)
	tab.serial.Store(4294967295)
	if got := ask(t, h, "mesh.", dns.TypeSOA); !strings.Contains(got.Answer[0], " 4294967295 ") {
		t.Errorf("SOA %v", got.Answer)
	}
	tab.serial.Store(1)
	if got := ask(t, h, "nope.mesh.", dns.TypeA); !strings.Contains(got.Ns[0], " 1 ") {
		t.Errorf("SOA %v", got.Ns)
	}
}

// A later plugin changes the records of a reply in place, and appends others.
func TestRepliesShareNothing(t *testing.T) {
	t.Parallel()
	h, _, _ := fixture{lines: "ns 192.0.2.53", rows: append(world[:len(world):len(world)], offering(given[0], "east", 5))}.handler(t)
	for _, q := range []struct {
		name  string
		qtype uint16
	}{
		{"backend.mesh.", dns.TypeA},
		{"backend.mesh.", dns.TypeAAAA},
		{"backend.mesh.", dns.TypeSRV},
		{"orders.svc.mesh.", dns.TypeSRV},
		{"orders.svc.mesh.", dns.TypeA},
		{"orders.svc.mesh.", dns.TypeAAAA},
		{"1.0.0.240.in-addr.arpa.", dns.TypePTR},
		{"mesh.", dns.TypeSOA},
		{"mesh.", dns.TypeNS},
		{"ns.dns.mesh.", dns.TypeA},
		{"nope.mesh.", dns.TypeA},
	} {
		want := ask(t, h, q.name, q.qtype)
		w := dnstest.NewRecorder(&test.ResponseWriter{})
		if _, err := h.ServeDNS(context.Background(), w, new(dns.Msg).SetQuestion(q.name, q.qtype)); err != nil {
			t.Fatal(err)
		}
		opt := &dns.OPT{Hdr: dns.RR_Header{Name: ".", Rrtype: dns.TypeOPT}}
		answered := len(w.Msg.Answer)
		w.Msg.Answer = append(w.Msg.Answer, opt)
		w.Msg.Ns = append(w.Msg.Ns, opt)
		w.Msg.Extra = append(w.Msg.Extra, opt)
		if answered > 0 && w.Msg.Answer[0] == dns.RR(opt) {
			t.Errorf("%s: appending to one section changes another", q.name)
		}
		for _, rr := range slices.Concat(w.Msg.Answer, w.Msg.Ns, w.Msg.Extra) {
			*rr.Header() = dns.RR_Header{Name: "changed."}
			switch rr := rr.(type) {
			case *dns.A:
				clear(rr.A)
			case *dns.AAAA:
				clear(rr.AAAA)
			}
		}
		if diff := cmp.Diff(want, ask(t, h, q.name, q.qtype)); diff != "" {
			t.Errorf("%s: the next reply (-want +got):\n%s", q.name, diff)
		}
	}
}

func TestAnswersTakeFewAllocations(t *testing.T) {
	h, _, _ := fixture{rows: slices.Concat(world, given[:2])}.handler(t)
	w := &discard{}
	for _, tc := range []struct {
		name  string
		qtype uint16
		max   float64
	}{
		{"backend.mesh.", dns.TypeA, 1},
		{"BACKEND.mesh.", dns.TypeA, 3}, // the folded name, twice its size while it is made
		{"backend.mesh.", dns.TypeAAAA, 1},
		{"1.0.0.240.in-addr.arpa.", dns.TypePTR, 2}, // with the target
		{full6("1."), dns.TypePTR, 2},
		{"nope.mesh.", dns.TypeA, 1},
		{"nope.mesh.", dns.TypeAAAA, 1},
		{"backend.mesh.", dns.TypeMX, 1},
		{"svc.mesh.", dns.TypeA, 1}, // only names below it
		{"9.9.9.240.in-addr.arpa.", dns.TypePTR, 1},
		{"one4.mesh.", dns.TypeA, 1},
		{"orders.svc.mesh.", dns.TypeA, 8}, // two for each record, and the section
		{"v4only.mesh.", dns.TypeAAAA, 1},
		{"backend.mesh.", dns.TypeSRV, 12}, // the race detector makes one of them
	} {
		q := new(dns.Msg).SetQuestion(tc.name, tc.qtype)
		ctx := context.Background()
		if n := testing.AllocsPerRun(200, func() { _, _ = h.ServeDNS(ctx, w, q) }); n > tc.max {
			t.Errorf("%s %s: %v allocations, at most %v wanted", tc.name, dns.TypeToString[tc.qtype], n, tc.max)
		}
	}
}

// What does not fit is cut from the end, and said to be; over TCP it is whole.
func TestManyAddressesAreCutToWhatTheClientTakes(t *testing.T) {
	t.Parallel()
	var four, six []string
	for i := range 200 {
		four = append(four, fmt.Sprintf("10.2.0.%d", i))
		six = append(six, fmt.Sprintf("2001:db8::%x", i+1))
	}
	h, _, _ := fixture{rows: []*vip.Row{told("3:east/many", "many.mesh", strings.Join(slices.Concat(four, six), " "))}}.handler(t)
	for _, tc := range []struct {
		qtype uint16
		all   []string
	}{{dns.TypeA, four}, {dns.TypeAAAA, six}} {
		for _, client := range []struct {
			tcp  bool
			edns uint16
			size int // that the client takes
		}{{size: 512}, {edns: 1232, size: 1232}, {edns: 4096, size: 4096}, {tcp: true, size: 65535}} {
			q := new(dns.Msg).SetQuestion("many.mesh.", tc.qtype)
			if client.edns > 0 {
				q.SetEdns0(client.edns, false)
			}
			w := dnstest.NewRecorder(&test.ResponseWriter{TCP: client.tcp})
			// The server wraps what it hands to plugins in such a writer.
			if _, err := h.ServeDNS(context.Background(), request.NewScrubWriter(q, w), q); err != nil {
				t.Fatal(err)
			}
			wire, err := w.Msg.Pack()
			if err != nil || len(wire) > client.size {
				t.Errorf("%+v: %d octets, %v", client, len(wire), err)
			}
			m := new(dns.Msg)
			if err := m.Unpack(wire); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, rr := range m.Answer {
				got = append(got, dns.Field(rr, 1))
			}
			whole := len(got) == len(tc.all)
			if m.Truncated == whole || !m.Authoritative || len(got) == 0 || !slices.Equal(got, tc.all[:len(got)]) {
				t.Errorf("%+v: TC %v, AA %v, %d of %d addresses: %v", client, m.Truncated, m.Authoritative, len(got), len(tc.all), got)
			}
			if client.tcp && !whole {
				t.Errorf("over TCP %d of %d addresses", len(got), len(tc.all))
			}
		}
	}
}

// discard is a writer that costs nothing.
type discard struct {
	test.ResponseWriter
	written int
}

func (d *discard) WriteMsg(*dns.Msg) error { d.written++; return nil }

func TestReadersAndWritersDoNotMeet(t *testing.T) {
	t.Parallel()
	h, tab, x := fixture{}.handler(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		old := world[0]
		for i := uint32(8); i < 3000; i++ {
			fresh := row("0:backend", netip.AddrFrom4([4]byte{240, 5, byte(i >> 8), byte(i)}).String(), "east")
			x.Apply([]names.Change{{Old: old, New: fresh}})
			old = fresh
			tab.serial.Store(i)
			if i%8 == 0 {
				tab.setPools("240.0.0.0/8", "fd00:6d76::/64")
			}
		}
	}()
	for {
		got := ask(t, h, "backend.mesh.", dns.TypeA)
		if got.Rcode != "NOERROR" || len(got.Answer) != 1 {
			t.Errorf("while its address changes, backend is %+v", got)
		}
		ask(t, h, "1.0.5.240.in-addr.arpa.", dns.TypePTR)
		select {
		case <-done:
			return
		default:
		}
	}
}
