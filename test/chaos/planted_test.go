package chaos

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
)

func TestASoundHistoryIsFoundSound(t *testing.T) {
	t.Parallel()
	reused := 0
	for seed := range uint64(20) {
		s := simulate(seed, 2000)
		if err := s.judge(0, time.Minute); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		reused += s.names
	}
	if reused < 100 {
		t.Errorf("%d names in all: this has tested little", reused)
	}
}

// Each case is a sound history with one thing wrong in it.
func TestTheCheckerFindsWhatIsPlanted(t *testing.T) {
	t.Parallel()
	const register = "none of a register"
	x, y := netip.MustParseAddr("240.0.0.50"), netip.MustParseAddr("240.0.0.51")
	claim := func(s *simulation, replica int, name string, addr netip.Addr) {
		s.answered(answer{replica: replica, start: s.now, end: s.now + time.Millisecond, name: name, addr: addr})
	}
	pass := func(s *simulation, d time.Duration) { s.now += d }
	for name, c := range map[string]struct {
		plant func(s *simulation)
		want  []string
	}{
		"nothing": {func(s *simulation) {
			s.commit(change{x, holding{owner: "a"}})
			claim(s, 0, "a", x)
			s.commit(change{x, holding{"a", true, s.now}})
			claim(s, 0, "a", x) // heard before
			pass(s, simCooldown)
			s.commit(change{x, holding{owner: "b"}})
			claim(s, 1, "b", x)
		}, nil},
		"an address given twice": {func(s *simulation) {
			s.commit(change{x, holding{owner: "a"}})
			claim(s, 0, "a", x)
			s.commit(change{x, holding{owner: "b"}})
		}, []string{"was held as", register}},
		"an address given within the cooldown": {func(s *simulation) {
			s.commit(change{x, holding{owner: "a"}})
			s.commit(change{x, holding{"a", true, s.now}})
			pass(s, simCooldown-time.Millisecond)
			s.commit(change{x, holding{owner: "b"}})
		}, []string{"was held as", register}},
		"a release dated back": {func(s *simulation) {
			s.commit(change{x, holding{owner: "a"}})
			claim(s, 0, "a", x)
			s.commit(change{x, holding{"a", true, s.now - simCooldown}})
			s.commit(change{x, holding{owner: "b"}})
			claim(s, 1, "b", x)
		}, []string{"within the ttl"}},
		"an address that is forgotten, and given too soon": {func(s *simulation) {
			s.commit(change{x, holding{owner: "a"}})
			s.commit(change{x, holding{"a", true, s.now}})
			pass(s, time.Second)
			s.commit(change{x, holding{}})
			pass(s, time.Second)
			s.commit(change{x, holding{owner: "b"}})
		}, []string{"was held as", register}},
		"a commit that died with etcd, and that nobody was answered by": {func(s *simulation) {
			s.commit(change{x, holding{owner: "a"}})
			s.restore(1)
			s.commit(change{x, holding{}})
			s.commit(change{x, holding{owner: "b"}})
			claim(s, 0, "b", x)
		}, nil},
		"a commit that died with etcd, and that somebody was answered by": {func(s *simulation) {
			s.commit(change{x, holding{owner: "a"}})
			claim(s, 0, "a", x)
			s.restore(1)
			s.commit(change{x, holding{}})
			s.commit(change{x, holding{owner: "b"}})
		}, []string{"was held as", "after revision"}},
		"an address forgotten that somebody has": {func(s *simulation) {
			s.commit(change{x, holding{owner: "a"}})
			s.commit(change{x, holding{}})
		}, []string{"was held as", register}},
		"an answer before the commit": {func(s *simulation) {
			pass(s, time.Second)
			claim(s, 0, "a", x)
			pass(s, time.Second)
			s.commit(change{x, holding{owner: "a"}})
		}, []string{"did not have the address", register}},
		"an answer that was never true": {func(s *simulation) {
			s.commit(change{x, holding{owner: "a"}})
			claim(s, 0, "b", x)
		}, []string{"did not have the address", register}},
		"an answer older than a replica may give": {func(s *simulation) {
			s.commit(change{x, holding{owner: "a"}})
			s.commit(change{x, holding{"a", true, s.now}})
			pass(s, simCooldown-simTTL+100*time.Millisecond)
			claim(s, 0, "a", x)
		}, []string{"did not have the address", register}},
		"the former owner after the next": {func(s *simulation) {
			s.commit(change{x, holding{owner: "a"}})
			s.commit(change{x, holding{"a", true, s.now}})
			pass(s, simCooldown)
			s.commit(change{x, holding{owner: "b"}})
			claim(s, 0, "b", x)
			claim(s, 2, "a", x)
		}, []string{"within the ttl", "did not have the address", register}},
		"another owner too soon after calm": {func(s *simulation) {
			for r := range s.cut {
				if s.cut[r] > 0 {
					s.heal[r]()
				}
			}
			pass(s, time.Minute)
			s.commit(change{x, holding{owner: "a"}})
			s.commit(change{x, holding{"a", true, s.now}})
			pass(s, simCooldown/2)
			claim(s, 0, "a", x)
			pass(s, simCooldown/2)
			s.commit(change{x, holding{owner: "b"}})
			claim(s, 1, "b", x)
		}, []string{"the former in calm"}},
		// One reader says that the release was before, the other that it was after.
		"reads in two orders": {func(s *simulation) {
			s.commit(change{x, holding{owner: "a"}})
			s.commit(change{x, holding{"a", true, s.now}})
			last := &s.txns[len(s.txns)-1]
			last.hi += 20 * time.Second
			last.changes[0].at -= 10 * time.Second
			s.commit(change{x, holding{owner: "b"}})
			s.txns[len(s.txns)-1].hi += 20 * time.Second
			claim(s, 0, "b", x)
			pass(s, 10*time.Second)
			claim(s, 1, "a", x)
		}, []string{register}},
		"a move": {func(s *simulation) {
			s.commit(change{x, holding{owner: "a"}})
			s.commit(change{x, holding{"a", true, s.now}})
			s.commit(change{y, holding{owner: "a"}})
		}, []string{"moved"}},
		"two addresses of one name": {func(s *simulation) {
			s.commit(change{x, holding{owner: "a"}})
			s.commit(change{y, holding{owner: "a"}})
		}, []string{"moved"}},
		"a release that nobody asked for": {func(s *simulation) {
			s.commit(change{x, holding{owner: "a"}})
			s.intents["a"] = []intent{{s.now - time.Minute, forever}}
			s.commit(change{x, holding{"a", true, s.now}})
		}, []string{"listed throughout"}},
		"a stable name that is denied": {func(s *simulation) {
			s.answered(answer{start: s.now, end: s.now, name: "stable", rcode: dns.RcodeNameError})
		}, []string{"is denied"}},
		"a name that is denied though it is there": {func(s *simulation) {
			s.commit(change{x, holding{owner: "a"}})
			pass(s, time.Minute)
			s.answered(answer{start: s.now, end: s.now, name: "a", rcode: dns.RcodeNameError})
		}, []string{"denied, and has been"}},
		"an address that is denied though it is somebody's": {func(s *simulation) {
			s.commit(change{x, holding{owner: "a"}})
			pass(s, time.Minute)
			s.answered(answer{start: s.now, end: s.now, reverse: true, addr: x, rcode: dns.RcodeNameError})
		}, []string{"denied, and has been"}},
		"a stable name somewhere else": {func(s *simulation) {
			s.answered(answer{start: s.now, end: s.now, name: "stable", addr: s.addrs[0]})
			s.answered(answer{start: s.now, end: s.now, name: "stable", addr: x})
		}, []string{"two addresses", "did not have", register}},
		"a replica that refuses without need": {func(s *simulation) {
			s.faults = nil
			pass(s, time.Minute)
			s.answered(answer{start: s.now, end: s.now, name: "stable", addr: s.addrs[0]})
			s.answered(answer{start: s.now, end: s.now, name: "stable", rcode: dns.RcodeServerFailure})
		}, []string{"refuses to answer"}},
		"a replica that is silent": {func(s *simulation) {
			s.faults = nil
			pass(s, time.Minute)
			s.answered(answer{start: s.now, end: s.now, name: "stable", addr: s.addrs[0]})
			for range 20 {
				s.answered(answer{start: s.now, end: s.now + time.Second, name: "stable", rcode: noAnswer})
			}
		}, []string{"is silent"}},
		"a table that goes back": {func(s *simulation) {
			s.commit(change{x, holding{owner: "a"}})
			s.txns[len(s.txns)-1].clock -= time.Hour
		}, []string{"with clock"}},
		"a transaction that was not seen": {func(s *simulation) {
			s.commit(change{x, holding{owner: "a"}})
			s.txns[len(s.txns)-1].revision++
		}, []string{"with clock"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := simulate(7, 50)
			c.plant(s)
			err := s.judge(0, time.Minute)
			if len(c.want) == 0 && err != nil {
				t.Errorf("found %v", err)
			}
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("found %v, want %q", err, want)
				}
			}
		})
	}
}

func TestThinningKeepsTheEndsOfEachRun(t *testing.T) {
	t.Parallel()
	var claims []answer
	for i := range 100 {
		claims = append(claims, answer{start: time.Duration(i) * 10 * time.Millisecond, name: "a"})
	}
	claims = append(claims, answer{start: 10 * time.Second, name: "a"})
	starts := make(map[time.Duration]bool)
	for _, a := range thinned(claims, 100*time.Millisecond) {
		starts[a.start] = true
	}
	for _, want := range []time.Duration{0, 990 * time.Millisecond, 10 * time.Second} {
		if !starts[want] {
			t.Errorf("the claim at %v is left out", want)
		}
	}
	if len(starts) > 15 {
		t.Errorf("%d claims are kept", len(starts))
	}
}
