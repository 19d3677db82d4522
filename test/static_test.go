package test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"
)

// tagged returns a Dataplane whose one service asks for an address by its tag.
func tagged(name, service, addr string) string {
	return fmt.Sprintf("type: Dataplane\nmesh: default\nname: %s\nnetworking:\n  address: 192.0.2.1\n  inbound:\n"+
		"    - port: 8000\n      tags:\n        kuma.io/service: %s\n        meshvip.io/vip: %s\n", name, service, addr)
}

func TestAStaticAddressIsServed(t *testing.T) {
	t.Parallel()
	p := exampleSite(t)
	write(t, p.resources, "tagged.yaml", tagged("t", "tagged", "240.0.0.2")) // which a smaller key would take
	lines := []string{
		"pool 240.0.0.0/24 {\n\t\t\treserve 240.0.0.9\n\t\t}", "static backend 240.0.0.1", "static 0:web 240.0.0.9",
		"static both 240.0.0.77",
	}
	write(t, p.resources, "both.yaml", tagged("b", "both", "240.0.0.78")) // the Corefile comes first
	s := p.start(lines...)
	want := answers{
		"backend.mesh": netip.MustParseAddr("240.0.0.1"), "tagged.mesh": netip.MustParseAddr("240.0.0.2"),
		"web.mesh": netip.MustParseAddr("240.0.0.9"), "both.mesh": netip.MustParseAddr("240.0.0.77"),
	}
	got := s.resolveAll(append(exampleNames(), "tagged.mesh", "both.mesh")...)
	s.unmoved(want)
	s.named(got)
	s.kill()
	s = p.start(lines...)
	s.unmoved(got)
	// It is kept for its owner, whoever else comes.
	p.remove("tagged.yaml")
	s.goes("tagged.mesh")
	write(t, p.resources, "new.yaml", dataplane("default", "new", "aa", "bb", "cc"))
	s.resolveAll("aa.mesh", "bb.mesh", "cc.mesh")
	s.unmoved(got.without("tagged.mesh"))
	write(t, p.resources, "tagged.yaml", tagged("t", "tagged", "240.0.0.2"))
	s.resolves("tagged.mesh")
	s.unmoved(got)
	s.unlogged(hasMoved, wouldMove, "is refused")
}

func TestAStaticIsNeverStolen(t *testing.T) {
	t.Parallel()
	p := exampleSite(t)
	s := p.start()
	before := s.resolveAll(exampleNames()...)
	taken := before["web.mesh"]
	// By a tag, and over a restart.
	write(t, p.resources, "thief.yaml", tagged("t", "thief", taken.String()))
	addr := s.resolves("thief.mesh")
	s.logLine("static address "+taken.String()+" is refused: 0:web has it", "0:thief")
	s.unmoved(before)
	before["thief.mesh"] = addr
	s.named(before)
	// By the Corefile.
	static := fmt.Sprintf("static robber %v", taken)
	p.reload(s, static)
	write(t, p.resources, "robber.yaml", dataplane("default", "robber", "robber"))
	before["robber.mesh"] = s.resolves("robber.mesh")
	s.logLine("static address "+taken.String()+" is refused: 0:web has it", "0:robber")
	s.unmoved(before)
	s.kill()
	s = p.start(static)
	s.logLine("is refused: 0:web has it", "0:robber")
	s.unmoved(before)
	s.named(before)
	s.unlogged(hasMoved)
}

// Nothing happens to the files while the entry waits.
func TestAStaticWaitsForAnAddressThatCoolsDown(t *testing.T) {
	t.Parallel()
	const cooldown = 3 * time.Second
	const addr = "240.0.7.7"
	for _, by := range []string{"tag", "Corefile"} {
		t.Run("by "+by, func(t *testing.T) {
			t.Parallel()
			p := newSite(t)
			lines := quick(cooldown, "pool 240.0.0.0/16")
			write(t, p.resources, "old.yaml", tagged("old", "old", addr))
			write(t, p.resources, "new.yaml", dataplane("default", "other", "other"))
			s := p.start(lines...)
			s.unmoved(answers{"old.mesh": s.resolves("old.mesh")})
			s.resolves("other.mesh")
			last := time.Now()
			p.remove("old.yaml")
			s.goes("old.mesh")
			if by == "tag" {
				write(t, p.resources, "new.yaml", tagged("new", "new", addr))
			} else {
				lines = append(lines, "static new "+addr)
				p.reload(s, lines...)
				write(t, p.resources, "new.yaml", dataplane("default", "new", "new"))
			}
			s.logLine("static address "+addr+" is waited for: 0:old had it", "0:new")
			if got := s.resolves("new.mesh"); got.String() != addr {
				t.Errorf("new is at %v, want the static %v", got, addr)
			}
			if passed := time.Since(last); passed < cooldown {
				t.Errorf("new has the address %v after old had it, the cooldown is %v", passed, cooldown)
			}
			s.named(answers{"new.mesh": netip.MustParseAddr(addr)})
			s.unlogged(hasMoved)
		})
	}
}

func TestAStaticMovesAnEntryOnlyWhenItIsConfirmed(t *testing.T) {
	t.Parallel()
	p := exampleSite(t)
	s := p.start()
	before := s.resolveAll(exampleNames()...)
	p.reload(s, "static web 240.9.9.9")
	plan := s.pendingPlan(1)
	s.logLine(wouldMove, "plan="+plan, "entry=0:web ", fmt.Sprintf("from=%v ", before["web.mesh"]), "to=240.9.9.9 ")
	s.unmoved(before)
	// The address is nobody else's meanwhile.
	write(t, p.resources, "new.yaml", tagged("t", "thief", "240.9.9.9"))
	before["thief.mesh"] = s.resolves("thief.mesh")
	s.logLine("static address 240.9.9.9 is refused: the Corefile keeps it for 0:web", "0:thief")
	s.kill()
	s = p.start("static web 240.9.9.9")
	s.unmoved(before)
	if again := s.pendingPlan(1); again != plan {
		t.Errorf("the plan is called %s, and then %s", plan, again)
	}
	p.reload(s, "static web 240.9.9.9", "confirm "+plan)
	s.logLine(hasMoved, "entry=0:web ", fmt.Sprintf("from=%v ", before["web.mesh"]), "to=240.9.9.9 ")
	old := answers{"web.mesh": before["web.mesh"]}
	before["web.mesh"] = netip.MustParseAddr("240.9.9.9")
	s.unmoved(before)
	s.named(before)
	s.nameless(old)
	s.kill()
	s = p.start("static web 240.9.9.9", "confirm "+plan)
	s.unmoved(before)
	s.unlogged(hasMoved, wouldMove)
}
