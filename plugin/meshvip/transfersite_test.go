package meshvip

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/names"
	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/miekg/dns"
)

// fakeSecondary is a name server that takes NOTIFY and asks for the zone at once.
type fakeSecondary struct {
	site *site
	addr string

	mu sync.Mutex
	// serials are those that the zones had when NOTIFY came, by zone, and names the
	// owners of A records in them.
	serials map[string][]uint32
	names   map[string][]string
}

func newFakeSecondary(s *site) *fakeSecondary {
	s.t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	f := &fakeSecondary{site: s, addr: conn.LocalAddr().String(), serials: make(map[string][]uint32), names: make(map[string][]string)}
	srv := &dns.Server{PacketConn: conn, Handler: dns.HandlerFunc(f.serve)}
	var done sync.WaitGroup
	done.Go(func() { _ = srv.ActivateAndServe() })
	s.t.Cleanup(func() {
		_ = srv.Shutdown()
		done.Wait()
	})
	return f
}

func (f *fakeSecondary) serve(w dns.ResponseWriter, r *dns.Msg) {
	zone := r.Question[0].Name
	if r.Opcode != dns.OpcodeNotify || r.Question[0].Qtype != dns.TypeSOA {
		f.site.t.Errorf("the secondary got %v", r)
	}
	rrs, err := f.site.transfer(zone, 0)
	if err != nil || len(rrs) < 2 {
		f.site.t.Errorf("%s is not transferred after NOTIFY: %v", zone, err)
		return
	}
	f.mu.Lock()
	f.serials[zone] = append(f.serials[zone], rrs[0].(*dns.SOA).Serial)
	f.names[zone] = nil
	for _, rr := range rrs {
		if a, ok := rr.(*dns.A); ok {
			f.names[zone] = append(f.names[zone], a.Hdr.Name)
		}
	}
	f.mu.Unlock()
	_ = w.WriteMsg(new(dns.Msg).SetReply(r))
}

// heard returns how often each zone was told of.
func (f *fakeSecondary) heard() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []string
	for _, zone := range slices.Sorted(maps.Keys(f.serials)) {
		all = append(all, fmt.Sprintf("%s=%d", zone, len(f.serials[zone])))
	}
	return strings.Join(all, " ")
}

// transfer transfers a zone as a secondary does: by AXFR, or where it has a
// serial, by IXFR.
func (s *site) transfer(zone string, serial uint32) ([]dns.RR, error) {
	m := new(dns.Msg).SetAxfr(zone)
	if serial != 0 {
		m.SetIxfr(zone, serial, "ns."+zone, "hostmaster."+zone)
	}
	ch, err := new(dns.Transfer).In(m, "127.0.0.1:"+s.port)
	if err != nil {
		return nil, err
	}
	var all []dns.RR
	for e := range ch {
		if e.Error != nil {
			return nil, e.Error
		}
		all = append(all, e.RR...)
	}
	return all, nil
}

// secondaries is a Corefile of two blocks with one secondary, and one without.
const secondaries = `
east.:PORT 240.0.0.0/24:PORT {
	transfer {
		to SECONDARY
	}
	meshvip {
		pool 240.0.0.0/24
		source file DIR/src
		store bolt DIR/meshvip.db
		ns 192.0.2.53
		meshes east
	}
}
west.:PORT {
	transfer {
		to SECONDARY
	}
	meshvip {
		meshes west
	}
}
other.:PORT {
	meshvip
}
`

func TestZonesAreTransferredOverTheWire(t *testing.T) {
	s := newSite(t)
	s.services("e.yaml", "east", "a_x", "shared")
	s.services("w.yaml", "west", "b", "shared")
	s.start(strings.ReplaceAll(secondaries, "SECONDARY", "127.0.0.1:1"))
	a, shared := s.resolves("a_x.east."), s.resolves("shared.west.")
	s.resolves("b.west.")
	s.becomes("b.east.", dns.TypeA, "NXDOMAIN")
	for zone, want := range map[string][]string{
		"EAST.": {
			"a.x.east. 60 IN A " + a, "a.x.east. 60 IN SRV 0 100 80 a.x.east.", "a_x.east. 60 IN A " + a, "a_x.east. 60 IN SRV 0 100 80 a_x.east.",
			"east. 60 IN NS ns.dns.east.", "ns.dns.east. 60 IN A 192.0.2.53",
			"shared.east. 60 IN A " + shared, "shared.east. 60 IN SRV 0 100 80 shared.east.",
		},
		"0.0.240.in-addr.arpa.": {
			"0.0.240.in-addr.arpa. 60 IN NS ns.dns.0.0.240.in-addr.arpa.", "ns.dns.0.0.240.in-addr.arpa. 60 IN A 192.0.2.53",
			reverse(t, a) + " 60 IN PTR a.x.east.", reverse(t, shared) + " 60 IN PTR shared.east.",
		},
	} {
		rrs, err := s.transfer(zone, 0)
		if err != nil {
			t.Fatalf("%s: %v", zone, err)
		}
		slices.Sort(want)
		if got := body(t, rrs); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", zone, got, want)
		}
	}
	// What the block of west hides is in no transfer of it.
	rrs, err := s.transfer("west.", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range body(t, rrs) {
		if strings.HasPrefix(text, "a") || strings.Contains(text, " "+a) {
			t.Errorf("west. has %q", text)
		}
	}
	serial := rrs[0].(*dns.SOA).Serial
	if now := s.ask("west.", dns.TypeSOA); now != fmt.Sprint(serial) {
		t.Errorf("the transfer has the serial %d, the SOA %s", serial, now)
	}
	for client, alone := range map[uint32]bool{serial: true, serial + 1: true, serial - 1: false} {
		got, err := s.transfer("west.", client)
		if err != nil || len(got) != 1 && alone || len(got) != len(rrs) && !alone {
			t.Errorf("IXFR of west. from %d, at %d: %d records, %v", client, serial, len(got), err)
		}
	}
	if _, err := s.transfer("other.", 0); err == nil {
		t.Error("a zone is transferred without plugin transfer")
	}
	if got := s.ask("west.", dns.TypeAXFR); got != "REFUSED" { // by UDP
		t.Errorf("a transfer by UDP is %s", got)
	}
}

func TestSecondariesHearOfTheZonesThatChange(t *testing.T) {
	s := newSite(t)
	f := newFakeSecondary(s)
	corefile := strings.ReplaceAll(secondaries, "SECONDARY", f.addr)
	s.services("e.yaml", "east", "a")
	s.services("w.yaml", "west", "b")
	s.start(corefile)
	// All zones at the start, when their names are known.
	s.wait("NOTIFY of all zones", func() bool { return strings.Count(f.heard(), "=") == 3 })
	s.wait("both services", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return slices.Contains(f.names["east."], "a.east.") && slices.Contains(f.names["west."], "b.west.")
	})
	before := f.heard()
	s.services("w.yaml", "west", "b", "new")
	s.wait("NOTIFY of west.", func() bool { return f.heard() != before })
	f.mu.Lock()
	got := f.names["west."]
	serials := f.serials["west."]
	f.mu.Unlock()
	if !slices.Contains(got, "new.west.") {
		t.Errorf("after NOTIFY, west. has %q", got)
	}
	if n := len(serials); n < 2 || !older(serials[n-2], serials[n-1]) {
		t.Errorf("the serials of west. were %d", serials)
	}
	others := func(heard string) string { return heard[:strings.Index(heard, "west.")] }
	if got := f.heard(); others(got) != others(before) {
		t.Errorf("of a change in west. the secondary heard %s, and before %s", got, before)
	}
	// A reload brings another secondary, and no other change.
	g := newFakeSecondary(s)
	last := f.heard()
	s.mustReload(strings.ReplaceAll(secondaries, "SECONDARY", g.addr))
	s.wait("NOTIFY of all zones to the new secondary", func() bool { return strings.Count(g.heard(), "=") == 3 })
	s.services("w.yaml", "west", "b", "new", "newer")
	s.wait("the new secondary to know newer.west.", func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return slices.Contains(g.names["west."], "newer.west.")
	})
	if got := f.heard(); got != last {
		t.Errorf("after the reload the old secondary heard %s, and before it %s", got, last)
	}
}

// While the table changes all the time, each transfer is of one state, which is
// not older than its serial.
func TestTransfersKeepUpWithTheirSerial(t *testing.T) {
	t.Parallel()
	h, tab, x := fixture{rows: []*vip.Row{}}.handler(t)
	pair := func(serial uint32) []*vip.Row {
		return []*vip.Row{row(fmt.Sprintf("0:a_%d", serial), "240.0.0.1", "east"), row(fmt.Sprintf("2:b.%d.mesh", serial), "240.0.0.2", "east")}
	}
	was := pair(7)
	x.Apply([]names.Change{{New: was[0]}, {New: was[1]}})
	const last = 3000
	var writer sync.WaitGroup
	writer.Go(func() {
		for serial := uint32(8); serial <= last; serial++ {
			is := pair(serial)
			x.Apply([]names.Change{{Old: was[0]}, {New: is[0]}, {Old: was[1], New: nil}, {New: is[1]}})
			tab.serial.Store(serial)
			was = is
		}
	})
	defer writer.Wait()
	for serial := uint32(0); serial < last; {
		rrs := transferred(t, h, "mesh.", 0)
		serial = rrs[0].(*dns.SOA).Serial
		seen := make(map[uint32][]string)
		for _, rr := range rrs {
			if rr.Header().Rrtype != dns.TypeA {
				continue
			}
			var of uint32
			name := rr.Header().Name
			if _, err := fmt.Sscanf(strings.Replace(name, "_", ".", 1)[2:], "%d", &of); err != nil {
				continue // the name server's
			}
			seen[of] = append(seen[of], name)
		}
		if len(seen) != 1 {
			t.Fatalf("a transfer is of %d states: %v", len(seen), seen)
		}
		for of, names := range seen {
			if len(names) != 3 || of < serial {
				t.Fatalf("with serial %d come %v", serial, names)
			}
		}
	}
}

// A client that takes nothing holds up no writer.
func TestATransferThatNobodyTakesHoldsUpNoWriter(t *testing.T) {
	t.Parallel()
	h, _, x := fixture{}.handler(t)
	h.notify = func(string) error { return nil }
	n := newNotifier(h, logger())
	defer n.close()
	var open []<-chan []dns.RR
	for range 10 {
		ch, err := h.Transfer("mesh.", 0)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, ch)
	}
	for i := range 100 {
		r := row(fmt.Sprintf("0:s%d", i), netip.AddrFrom4([4]byte{240, 1, 0, byte(i)}).String(), "east")
		n.committed(allocator.Commit{Rows: []allocator.RowChange{{New: r}}}, x.Apply([]names.Change{{New: r}}))
	}
	if got, _ := h.view.Forward("s99.mesh.", "mesh."); got == nil {
		t.Error("the last change is not there")
	}
	for _, ch := range open {
		for range ch {
		}
	}
}
