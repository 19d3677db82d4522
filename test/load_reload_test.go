package test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// options are what one Corefile of many has, and another not.
type options struct {
	ttl                             int
	pool, meshes, publish, transfer bool
	admin, elsewhere                bool
}

// optionsOf returns the options of the nth Corefile: in 64 of them, all there are.
func optionsOf(n int) options {
	has := func(bit int) bool { return n>>bit&1 == 1 }
	return options{
		ttl: 30 + n, pool: has(0), meshes: has(1), transfer: has(2), publish: has(3), admin: has(4), elsewhere: has(5),
	}
}

// optional returns a Corefile with options. silent is a secondary that never
// answers, profiles where plugin pprof listens.
func (p *site) optional(o options, silent, profiles string) string {
	lines := []string{
		"pool 240.0.0.0/8", "source file " + p.resources, "store bolt " + p.store,
		fmt.Sprintf("ttl %d", o.ttl), "ns 192.0.2.53",
	}
	around := ""
	if o.pool {
		lines = append(lines, "pool 241.0.0.0/8")
	}
	if o.meshes {
		lines = append(lines, "meshes default payments")
	}
	if o.publish {
		lines = append(lines, "publish "+p.publishes(o))
	}
	if o.admin {
		lines = append(lines, "admin")
	}
	if o.transfer {
		around = "transfer {\n\t\tto " + silent + "\n\t}"
	}
	return fmt.Sprintf(`mesh:%[1]s 240.0.0.0/8:%[1]s 241.0.0.0/8:%[1]s {
	bind 127.0.0.1
	errors
	ready %[2]s
	prometheus %[3]s
	pprof %[4]s
	%[5]s
	meshvip {
		%[6]s
	}
}
other.test:%[1]s {
	bind 127.0.0.1
	hosts {
		192.0.2.1 www.other.test
	}
}
`, p.port, p.ready, p.metrics, profiles, around, strings.Join(lines, "\n\t\t"))
}

// publishes returns the directory that is published to.
func (p *site) publishes(o options) string {
	if o.elsewhere {
		return p.published + "-2"
	}
	return p.published
}

// has checks that the server does what o says: at once in what it answers, and
// soon in what it does beside.
func (s *server) has(p *site, o options) {
	s.t.Helper()
	if r := s.ask("backend.mesh", dns.TypeA); len(r.Answer) != 1 || r.Answer[0].Header().Ttl != uint32(o.ttl) {
		s.t.Errorf("backend.mesh with %+v: %v", o, r)
	}
	if exists := s.rcode("stock.mesh") == "NOERROR"; exists == o.meshes {
		s.t.Errorf("stock.mesh of a mesh that is shown or not, with %+v: exists is %v", o, exists)
	}
	if !s.isReady() {
		s.t.Errorf("not ready with %+v", o)
	}
	if _, _, ok := s.transfer("mesh"); ok != o.transfer {
		s.t.Errorf("a transfer with %+v: %v", o, ok)
	}
	s.wait("the pools", func() bool { return (s.metricOf("pool_addresses", "241.0.0.0/8") > 0) == o.pool })
	s.wait("the admin interface", func() bool {
		c, err := net.Dial("unix", p.store+".sock")
		if err == nil {
			c.Close()
		}
		return (err == nil) == o.admin
	})
	if o.publish {
		s.wait("what is published", func() bool {
			_, err := os.Stat(filepath.Join(p.publishes(o), "warehouse.json"))
			return err == nil
		})
	}
}

var goroutinesTotal = regexp.MustCompile(`^goroutine profile: total (\d+)`)

// goroutines returns how many goroutines a process has, and what they do.
func (s *server) goroutines(profiles string) (n int, what string) {
	s.t.Helper()
	s.wait("a profile", func() bool {
		var err error
		what, err = fetch("http://" + profiles + "/debug/pprof/goroutine?debug=1")
		return err == nil
	})
	n, err := strconv.Atoi(goroutinesTotal.FindStringSubmatch(what)[1])
	if err != nil {
		s.t.Fatal(err)
	}
	return n, what
}

// silentPeer returns the address of somebody who hears and does not answer.
func silentPeer(t testing.TB) string {
	t.Helper()
	l, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.LocalAddr().String()
}

// The peer is plugin hosts in another block of the same server: what the sockets
// lose when they change hands, it loses too.
func TestFiftyCorefilesAreServedUnderLoadAndLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	p := exampleSite(t)
	silent, profiles := silentPeer(t), "127.0.0.1:"+freePort(t)
	to := func(s *server, n int) {
		t.Helper()
		s.reloadTo(p, p.optional(optionsOf(n), silent, profiles), false)
		s.has(p, optionsOf(n))
	}
	s := launch(t, p.dir, p.optional(optionsOf(0), silent, profiles), "127.0.0.1:"+p.port)
	s.ready, s.metrics = p.ready, p.metrics
	before := s.resolveAll(exampleNames()...)
	s.has(p, optionsOf(0))
	backend := before["backend.mesh"].String()
	rev, _ := dns.ReverseAddr(backend)
	var questions []question
	for what, wrong := range map[string]func(_, r *dns.Msg) string{
		"backend.mesh. A":                    positive(backend),
		"backend.kuma-demo.svc.5678.mesh. A": positive(before["backend.kuma-demo.svc.5678.mesh"].String()),
		"backend.mesh. AAAA":                 negative(dns.RcodeSuccess),
		"backend.mesh. SRV":                  positive("0 100 80 backend.mesh."),
		"svc.5678.mesh. A":                   negative(dns.RcodeSuccess),
		"no-such.mesh. A":                    negative(dns.RcodeNameError),
		rev + " PTR":                         positive("backend.mesh."),
		"9.9.9.240.in-addr.arpa. PTR":        negative(dns.RcodeNameError),
		"mesh. SOA":                          rising,
		"240.in-addr.arpa. SOA":              rising,
		"ns.dns.mesh. A":                     positive("192.0.2.53"),
		"www.other.test. A":                  positive("192.0.2.1"),
	} {
		name, qtype, _ := strings.Cut(what, " ")
		questions = append(questions, question{what, name, dns.StringToType[qtype], wrong})
	}

	for _, n := range []int{63, 0} { // what is made once is made now
		to(s, n)
	}
	held := s.holds()
	running, _ := s.goroutines(profiles)

	c := gather(s, 2*time.Second, questions)
	c.everybody(s, 50)
	const reloads = 50
	for n := range reloads {
		to(s, 1+n)
		c.everybody(s, 1)
	}
	to(s, 0)
	c.leaves()
	c.compare(t, reloads+1)

	s.unmoved(before)
	s.wait(fmt.Sprintf("no more to be held than %+v", held), func() bool {
		now := s.holds()
		return now.files <= held.files && now.watches <= held.watches
	})
	what := ""
	defer func() {
		if t.Failed() {
			t.Log(what)
		}
	}()
	s.wait(fmt.Sprintf("no more than %d goroutines", running), func() bool {
		var now int
		now, what = s.goroutines(profiles)
		return now <= running
	})
	what = ""

	// The end comes under load too. Who is told something until then is told the
	// truth.
	c = gather(s, 2*time.Second, questions)
	c.everybody(s, 20)
	s.stop()
	c.leaves()
	for _, a := range c.askers {
		if a.lost.Load() > 1 { // the one that was asked as the process ended
			t.Errorf("%v, when the server ended", a)
		}
	}
	if s.err != nil {
		t.Errorf("the server ended with %v", s.err)
	}
}

// compare checks that nobody lost more than the clients of plugin hosts did,
// over so many reloads.
func (c *crowd) compare(t *testing.T, reloads int64) {
	t.Helper()
	lost := make(map[string]int64) // by the peer
	for _, a := range c.askers {
		if a.name == "www.other.test." {
			lost[a.network] = a.lost.Load()
		}
	}
	for _, a := range c.askers {
		t.Log(a)
		if a.lost.Load() > 0 && lost[a.network] == 0 {
			t.Errorf("%v, and of plugin hosts none are lost", a)
		}
		// A client has one connection at a time, and only a hand-over breaks it. A
		// UDP socket is never closed.
		if a.refused.Load() > reloads || a.refused.Load() > 0 && a.network == "udp" {
			t.Errorf("%v, over %d reloads", a, reloads)
		}
	}
}
