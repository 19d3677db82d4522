package test

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// quick are properties that let addresses cool down soon, and releases go.
func quick(cooldown time.Duration, lines ...string) []string {
	return append(lines, "cooldown "+cooldown.String(), "ttl 1", "max_release 100%")
}

// drained returns the property of a pool that is drained.
func drained(pool string) string { return "pool " + pool + " {\n\t\t\tdrain\n\t\t}" }

// within returns those of a that lie in pool.
func (a answers) within(pool string) answers {
	in := make(answers)
	for name, addr := range a {
		if netip.MustParsePrefix(pool).Contains(addr) {
			in[name] = addr
		}
	}
	return in
}

// named checks that the PTR of every address is its name.
func (s *server) named(a answers) {
	s.t.Helper()
	for name, addr := range a {
		if ptr := s.ptr(addr); ptr != name+"." {
			s.t.Errorf("the name of %v is %q, want that of %s", addr, ptr, name)
		}
	}
}

// nameless checks that nothing is said of addresses: they have no name, or are
// not ours any more, and then there is no other plugin to ask.
func (s *server) nameless(a answers) {
	s.t.Helper()
	for name, addr := range a {
		rev, _ := dns.ReverseAddr(addr.String())
		if r := s.ask(rev, dns.TypePTR); len(r.Answer) > 0 || r.Rcode != dns.RcodeNameError && r.Rcode != dns.RcodeServerFailure {
			s.t.Errorf("the name of %v, which %s had: %v, want none", addr, name, r)
		}
	}
}

// pendingPlan waits until the log tells of a plan of so many moves, and returns
// its name.
func (s *server) pendingPlan(moves int) string {
	s.t.Helper()
	line := s.logLine("nothing is moved until the plan is confirmed", fmt.Sprintf(" moves=%d", moves))
	plan := regexp.MustCompile(` plan=(\S+)`).FindStringSubmatch(line)
	if plan == nil || !strings.Contains(line, "confirm "+plan[1]) {
		s.t.Fatalf("no plan that could be confirmed: %s", line)
	}
	return plan[1]
}

// unlogged checks that the log has none of texts.
func (s *server) unlogged(texts ...string) {
	s.t.Helper()
	for line := range strings.Lines(s.log.String()) {
		for _, text := range texts {
			if strings.Contains(line, text) {
				s.t.Errorf("the log has %s", strings.TrimSpace(line))
			}
		}
	}
}

// What the log says of moves.
const (
	hasMoved  = "plugin/meshvip: moved "
	wouldMove = "plugin/meshvip: would move "
)

func TestAddingAPoolMovesNothing(t *testing.T) {
	t.Parallel()
	p := exampleSite(t)
	s := p.start("pool 240.5.0.0/24")
	before := s.resolveAll(exampleNames()...)
	for i, pools := range []string{"240.5.0.0/24 240.9.0.0/24", "240.1.0.0/24 240.5.0.0/24 240.9.0.0/24"} {
		p.reload(s, "pool "+pools)
		name := fmt.Sprintf("new-%d", i)
		write(t, p.resources, name+".yaml", dataplane("default", name, name))
		s.resolves(name + ".mesh")
		s.unmoved(before)
		s.named(before)
	}
	s.kill()
	s = p.start("pool 240.1.0.0/24 240.5.0.0/24 240.9.0.0/24")
	s.unmoved(before)
	s.unlogged(hasMoved, wouldMove)
}

func TestADrainedPoolEmptiesAsEntriesComeAndGo(t *testing.T) {
	t.Parallel()
	const old, next = "240.1.0.0/28", "240.2.0.0/24"
	p := newSite(t)
	list := func(service string) { write(t, p.resources, service+".yaml", dataplane("default", service, service)) }
	unlist := func(service string) { write(t, p.resources, service+".yaml", "# none\n") }
	for i := range 6 {
		list(fmt.Sprint("old-", i))
	}
	s := p.start(quick(time.Second, "pool "+old)...)
	before := s.resolveAll("old-0.mesh", "old-1.mesh", "old-2.mesh", "old-3.mesh", "old-4.mesh", "old-5.mesh")

	draining := quick(time.Second, drained(old), "pool "+next)
	p.reload(s, draining...)
	s.unmoved(before)
	s.named(before)
	list("new-0")
	got := answers{"new-0.mesh": s.resolves("new-0.mesh")}
	// Who comes back in time has its address again.
	unlist("old-0")
	s.goes("old-0.mesh")
	list("old-0")
	if addr := s.resolves("old-0.mesh"); addr != before["old-0.mesh"] {
		t.Errorf("old-0 came back to %v, and had %v", addr, before["old-0.mesh"])
	}
	// One goes, one comes.
	for i := range 6 {
		name := fmt.Sprint("old-", i)
		unlist(name)
		s.goes(name + ".mesh")
		delete(before, name+".mesh")
		name = fmt.Sprint("new-", i+1)
		list(name)
		got[name+".mesh"] = s.resolves(name + ".mesh")
		s.unmoved(before)
		s.unmoved(got)
	}
	if in := got.within(next); len(in) != len(got) {
		t.Errorf("new addresses from a pool that is drained: %v", got)
	}
	s.wait("the drained pool to be empty", func() bool { return s.metricOf("pool_used_addresses", old) == 0 })
	p.reload(s, quick(time.Second, "pool "+next)...)
	s.unmoved(got)
	s.unlogged(hasMoved, wouldMove)
}

// Range A with more entries than it has room for, the rest in range B, and then
// A is taken away.
func TestAPoolTakenAwayMovesOnlyWhatIsConfirmed(t *testing.T) {
	t.Parallel()
	for _, restarted := range []bool{false, true} {
		t.Run(map[bool]string{false: "by a reload", true: "by a restart"}[restarted], func(t *testing.T) {
			t.Parallel()
			const gone, stays = "240.1.0.0/28", "240.2.0.0/24"
			p := exampleSite(t)
			s := p.start("pool " + gone + " " + stays)
			before := s.resolveAll(exampleNames()...)
			displaced, untouched := before.within(gone), before.within(stays)
			if len(displaced) != 14 || len(untouched) == 0 {
				t.Fatalf("%d in the pool that goes, %d in the other", len(displaced), len(untouched))
			}
			restart := func(lines ...string) {
				if restarted {
					s.kill()
					s = p.start(lines...)
				} else {
					p.reload(s, lines...)
				}
			}

			restart("pool " + stays)
			plan := s.pendingPlan(len(displaced))
			s.logLine("a pool is no longer configured", "pool="+gone, "entries=14")
			for name, addr := range displaced {
				s.logLine(wouldMove, " plan="+plan, " entry="+entryOf(name), fmt.Sprintf(" from=%v", addr), " to=240.2.0.", " why=")
			}
			s.unmoved(before)
			s.named(before)
			write(t, p.resources, "new.yaml", dataplane("default", "new", "new"))
			if addr := s.resolves("new.mesh"); !netip.MustParsePrefix(stays).Contains(addr) {
				t.Errorf("a new entry is at %v, in the pool that was taken away", addr)
			}
			if again := s.pendingPlan(len(displaced)); again != plan {
				t.Errorf("the plan is called %s, and then %s", plan, again)
			}

			// Another plan's name is no confirmation.
			restart("pool "+stays, "confirm 1-00000000")
			s.logLine("confirm names another plan", "confirm=1-00000000", "plan="+plan)
			s.unmoved(before)
			s.unlogged(hasMoved)

			restart("pool "+stays, "confirm "+plan)
			for name, addr := range displaced {
				s.logLine(hasMoved, " entry="+entryOf(name), fmt.Sprintf(" from=%v", addr), " to=240.2.0.", " why=")
			}
			if n := strings.Count(s.log.String(), hasMoved); n != len(displaced) {
				t.Errorf("%d entries have moved, want %d", n, len(displaced))
			}
			s.kill() // at once: what was told is durable
			s = p.start("pool "+stays, "confirm "+plan)
			after := s.resolveAll(append(exampleNames(), "new.mesh")...)
			s.unmoved(untouched)
			s.named(after)
			s.nameless(displaced)
			if in := after.within(stays); len(in) != len(after) {
				t.Errorf("some are not in the pool that stays: %v", after)
			}
			s.unlogged(hasMoved, wouldMove)
			s.wait("the published table", func() bool {
				return p.table("default")["0:web"] == after["web.mesh"].String()
			})
		})
	}
}

// What an entry had before it was moved cools down like any other address, also
// where its pool comes back.
func TestAPoolThatComesBackStillCoolsDown(t *testing.T) {
	t.Parallel()
	const gone, stays = "240.1.0.0/28", "240.2.0.0/24"
	p := exampleSite(t)
	s := p.start("pool " + gone + " " + stays)
	before := s.resolveAll(exampleNames()...).within(gone)
	p.reload(s, "pool "+stays)
	p.reload(s, "pool "+stays, "confirm "+s.pendingPlan(len(before)))
	for name, addr := range before {
		s.wait(name+" to have moved", func() bool { return s.addr4(name) != addr })
	}
	p.reload(s, "pool "+gone+" "+stays)
	var services, names []string
	for i := range 20 {
		services = append(services, fmt.Sprint("new-", i))
		names = append(names, fmt.Sprintf("new-%d.mesh", i))
	}
	write(t, p.resources, "new.yaml", dataplane("default", "new", services...))
	if in := s.resolveAll(names...).within(gone); len(in) > 0 {
		t.Errorf("addresses that others had just now: %v", in)
	}
	s.kill()
}

func TestADeathInTheMiddleOfConfirmedMovesIsGotOver(t *testing.T) {
	t.Parallel()
	const gone, stays = "240.1.0.0/28", "240.2.0.0/24"
	for _, point := range failpoints(t) {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			p := exampleSite(t)
			s := p.start("pool " + gone + " " + stays)
			before := s.resolveAll(exampleNames()...)
			displaced, untouched := before.within(gone), before.within(stays)
			p.reload(s, "pool "+stays)
			confirmed := []string{"pool " + stays, "confirm " + s.pendingPlan(len(displaced))}
			s.kill()
			if died := p.launchMortal(point, 1, 20*time.Millisecond, confirmed...).dies(patience); died != point {
				t.Fatalf("the server died at %q, want %q", died, point)
			}
			s = p.start(confirmed...)
			s.measured("pending_moves", 0)
			for name, addr := range displaced {
				s.wait(name+" to have moved", func() bool { return s.addr4(name) != addr })
			}
			after := s.resolveAll(exampleNames()...)
			s.unmoved(untouched)
			s.named(after)
			s.nameless(displaced)
		})
	}
}

// entryOf returns the entry that a name of the examples is of, as the log shows
// it.
func entryOf(name string) string {
	for _, entries := range exampleEntries {
		for _, e := range entries {
			if nameOf(e) == name {
				return e + " "
			}
		}
	}
	return "0:" + strings.TrimSuffix(name, ".mesh") + " "
}
