package test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

// corefiles returns every Corefile that the documents and examples show, by
// where it stands.
func corefiles(t testing.TB) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for _, path := range []string{projectREADME, pluginREADME} {
		for _, f := range fences(t, path) {
			if f.info == "corefile" {
				all[f.at] = f.text
			}
		}
	}
	for _, path := range repositoryFiles(t, "Corefile", ".corefile", "Corefile.example") {
		all[path] = readDoc(t, path)
	}
	return all
}

// members has a service that only this mesh of the examples lists.
var members = map[string]string{"default": "web", "payments": "ledger", "warehouse": "picking"}

// hostMember is a host of the examples, and the mesh that lists it.
const hostMember, hostMesh = "tiles.mapwright.example", "default"

func TestEveryCorefileOfTheDocumentsAnswers(t *testing.T) {
	t.Parallel()
	all := corefiles(t)
	if len(all) < 9 { // a broken extraction must not pass for no mistake
		t.Fatalf("found %d Corefiles in the documents", len(all))
	}
	upstream := startUpstream(t)
	for at, text := range all {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			d := document(t, text, upstream)
			if len(d.blocks) == 0 {
				t.Fatal("the Corefile has no meshvip")
			}
			s := d.start(t)
			for _, b := range d.blocks {
				block := *s
				block.addr, block.from = b.addr, b.from
				b.check(t, &block, d)
			}
			d.check(t, s, strings.Contains(text, "forward "))
			s.stop()
			if s.err != nil {
				t.Errorf("the server ended with %v on SIGTERM", s.err)
			}
		})
	}
}

// start starts the server, and waits until it knows which names there are.
func (d *documented) start(t testing.TB) *server {
	t.Helper()
	s := launch(t, d.dir, d.corefile, d.blocks[0].addr)
	s.wait("the source to be read", func() bool {
		r, err := s.query("no-such-service."+d.blocks[0].zones[0], dns.TypeA)
		return err == nil && r.Rcode == dns.RcodeNameError
	})
	return s
}

// check asks the block for a name of each mesh that it shows, in each of its
// zones, and back; and for those of the meshes that it does not show.
func (b documentedBlock) check(t *testing.T, s *server, d *documented) {
	t.Helper()
	shows := func(mesh string) bool { return len(b.meshes) == 0 || slices.Contains(b.meshes, mesh) }
	ptrZone := "" // of services
	for _, zone := range b.zones {
		if zone == "." {
			if shows(hostMesh) {
				b.forwardAndBack(t, s, d, hostMember, hostMember)
			}
			continue
		}
		if ptrZone == "" {
			ptrZone = zone
		}
		for mesh, service := range members {
			name := service + "." + zone
			if shows(mesh) {
				b.forwardAndBack(t, s, d, name, service+"."+ptrZone)
			} else if r := s.ask(name, dns.TypeA); r.Rcode != dns.RcodeNameError {
				t.Errorf("%s, of a mesh that the block hides: %s, want NXDOMAIN", name, dns.RcodeToString[r.Rcode])
			}
		}
		if len(b.ns) > 0 {
			if got := s.addr4("ns.dns." + zone); got.String() != b.ns[0] {
				t.Errorf("ns.dns.%s is at %v, want %s", zone, got, b.ns[0])
			}
		}
	}
}

// forwardAndBack asks for the addresses of name, of each family that has a
// pool, and for the name that they have.
func (b documentedBlock) forwardAndBack(t *testing.T, s *server, d *documented, name, ptr string) {
	t.Helper()
	addrs := []netip.Addr{s.addr4(name)}
	if d.hasV6() {
		for _, rr := range s.ask(name, dns.TypeAAAA).Answer {
			if a, ok := rr.(*dns.AAAA); ok {
				addr, _ := netip.AddrFromSlice(a.AAAA)
				addrs = append(addrs, addr)
			}
		}
		if len(addrs) != 2 {
			t.Errorf("%s has no AAAA, though there is an IPv6 pool", name)
		}
	}
	for _, addr := range addrs {
		if !slices.ContainsFunc(d.pools, func(p netip.Prefix) bool { return p.Contains(addr) }) {
			t.Errorf("%s is at %v, in none of the pools %v", name, addr, d.pools)
		}
		if got := s.ptr(addr); got != ptr+"." {
			t.Errorf("%s is at %v, whose name is %q, want %q", name, addr, got, ptr+".")
		}
	}
}

// check looks at what belongs to the whole server.
func (d *documented) check(t *testing.T, s *server, forwards bool) {
	t.Helper()
	if d.ready != "" {
		s.wait("ready", func() bool { _, err := fetch("http://" + d.ready + "/ready"); return err == nil })
	}
	if d.publish != "" {
		for mesh := range members {
			for _, file := range []string{mesh + ".json", mesh + ".outbounds.yaml"} {
				s.wait(file, func() bool { _, err := os.Stat(filepath.Join(d.publish, file)); return err == nil })
			}
		}
	}
	if forwards {
		if got := s.addr4("elsewhere.example.net"); got != upstreamAddr {
			t.Errorf("a name that is not ours is at %v, want %v from the resolver behind", got, upstreamAddr)
		}
	}
}

// upstreamAddr is what the resolver of startUpstream has for every name.
var upstreamAddr = netip.MustParseAddr("198.51.100.99")

// startUpstream starts a resolver, and returns its address.
func startUpstream(t testing.TB) string {
	t.Helper()
	addr := "127.0.0.1:" + freePort(t)
	up := make(chan struct{})
	srv := &dns.Server{Addr: addr, Net: "udp", NotifyStartedFunc: func() { close(up) }}
	srv.Handler = dns.HandlerFunc(func(w dns.ResponseWriter, r *dns.Msg) {
		m := new(dns.Msg).SetReply(r)
		hdr := dns.RR_Header{Name: r.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 1}
		m.Answer = []dns.RR{&dns.A{Hdr: hdr, A: upstreamAddr.AsSlice()}}
		_ = w.WriteMsg(m) // a client that is gone asks again
	})
	failed := make(chan error, 1)
	go func() { failed <- srv.ListenAndServe() }()
	select {
	case <-up:
	case err := <-failed:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := srv.Shutdown(); err != nil {
			t.Error(err)
		}
	})
	return addr
}

func TestEveryServerBlockOfTheDocumentsIsBooted(t *testing.T) {
	t.Parallel()
	for _, path := range []string{projectREADME, pluginREADME} {
		for _, f := range fences(t, path) {
			if f.info != "corefile" && strings.Contains(f.text, "\n    meshvip") {
				t.Errorf("%s: mark the block as corefile, so that it is booted", f.at)
			}
		}
	}
}

// TestREADMEShowsWhatOneSees runs the queries on the README's first screen
// against Corefile.example, and compares what it says that dig prints.
func TestREADMEShowsWhatOneSees(t *testing.T) {
	t.Parallel()
	d := document(t, readDoc(t, "Corefile.example"), "")
	s := d.start(t)
	asked := 0
	var r *dns.Msg
	for line := range strings.Lines(readDoc(t, projectREADME)) {
		text, indented := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
		command, isCommand := strings.CutPrefix(text, "$ dig ")
		switch {
		case !indented:
			r = nil
		case isCommand:
			r = s.ask(digArgs(t, command))
			asked++
		case r != nil && !strings.Contains(dug(r), repeatable(text)):
			t.Errorf("the README shows %q, and the server answers:\n%s", text, dug(r))
		}
	}
	if asked < 5 {
		t.Errorf("found %d queries in the README", asked)
	}
	t.Run("outbounds", func(t *testing.T) { d.checkOutbounds(t, s) })
}

// digArgs reads what dig is asked.
func digArgs(t testing.TB, command string) (name string, qtype uint16) {
	t.Helper()
	command, _, _ = strings.Cut(command, " |")
	fields := strings.Fields(command)
	qtype = dns.TypeA
	for i := 0; i < len(fields); i++ {
		switch f := fields[i]; {
		case f == "-p":
			i++
		case f == "-x":
			i++
			rev, err := dns.ReverseAddr(fields[i])
			if err != nil {
				t.Fatal(err)
			}
			name, qtype = rev, dns.TypePTR
		case f[0] == '@', f[0] == '+':
		case dns.StringToType[f] != 0:
			qtype = dns.StringToType[f]
		default:
			name = f
		}
	}
	return name, qtype
}

// dug returns what dig prints of r, with and without +short, as far as it is
// the same each time.
func dug(r *dns.Msg) string {
	var b strings.Builder
	fmt.Fprintf(&b, "status: %s\n", dns.RcodeToString[r.Rcode])
	for _, rr := range slices.Concat(r.Answer, r.Ns) {
		b.WriteString(repeatable(rr.String()) + "\n")
		b.WriteString(strings.TrimPrefix(rr.String(), rr.Header().String()) + "\n")
	}
	return b.String()
}

// repeatable returns a line of dig's without what differs each time: the id of
// a message, the serial of a SOA.
func repeatable(line string) string {
	if _, status, ok := strings.Cut(line, "status: "); ok {
		status, _, _ = strings.Cut(status, ",")
		return "status: " + status
	}
	if fields := strings.Fields(line); len(fields) > 6 && fields[3] == "SOA" {
		fields[6] = "SERIAL"
		return strings.Join(fields, " ")
	}
	return line
}

// checkOutbounds compares the Dataplane in the README with what is published.
func (d *documented) checkOutbounds(t *testing.T, s *server) {
	path := filepath.Join(d.publish, "payments.outbounds.yaml")
	var published []byte
	s.wait(path, func() bool {
		var err error
		published, err = os.ReadFile(path)
		return err == nil
	})
	found := false
	for _, f := range fences(t, projectREADME) {
		if _, outbound, ok := strings.Cut(f.text, "  outbound:\n"); ok {
			found = true
			var list strings.Builder
			for line := range strings.Lines(outbound) {
				list.WriteString(strings.TrimPrefix(line, "  "))
			}
			if !strings.Contains(string(published), list.String()) {
				t.Errorf("%s: the mesh's outbounds do not hold\n%sbut\n%s", f.at, list.String(), published)
			}
		}
	}
	if !found {
		t.Error("the README shows no Dataplane with outbounds")
	}
}
