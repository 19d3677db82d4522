package test

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// failpoints returns the points at which a server can be made to die: those
// that the code names.
func failpoints(t testing.TB) []string {
	t.Helper()
	var points []string
	hit := regexp.MustCompile(`failpoint\.Hit\("([a-z-]+)"\)`)
	for _, f := range repositoryFiles(t, ".go") {
		for _, m := range hit.FindAllStringSubmatch(readDoc(t, f), -1) {
			points = append(points, m[1])
		}
	}
	if len(points) < 10 { // a broken search must not pass for no points
		t.Fatalf("found %q in the code", points)
	}
	return points
}

// launchMortal starts a server that dies at the n-th hit of a point, after a
// pause in which it answers.
func (p *site) launchMortal(point string, n int, pause time.Duration, lines ...string) *server {
	p.t.Helper()
	return p.launchBuild(mortal, []string{fmt.Sprintf("MESHVIP_FAILPOINT=%s:%d:%v", point, n, pause)}, lines...)
}

// dies waits until the server has died by itself, at most as long as said, and
// then kills it. It returns the point at which it has died, "" for none.
func (s *server) dies(within time.Duration) (point string) {
	s.t.Helper()
	select {
	case <-s.done:
	case <-time.After(within):
		s.kill()
	}
	for line := range strings.Lines(s.log.String()) {
		if name, ok := strings.CutPrefix(line, "failpoint "); ok {
			return strings.TrimSpace(name)
		}
	}
	if s.cmd.ProcessState.Exited() {
		s.t.Errorf("the server has ended by itself: %v", s.err)
	}
	return ""
}

// A first start goes through all of a change: the tables of the first meshes are
// made, the first addresses are given and published.
func TestADeathAtAnyPointOfTheFirstChangeIsGotOver(t *testing.T) {
	t.Parallel()
	for _, point := range failpoints(t) {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			p := newSite(t)
			write(t, p.resources, "fixed.yaml", dataplane("default", "fixed", fixedServices...))
			if died := p.launchMortal(point, 1, 0).dies(patience); died != point {
				t.Fatalf("the server died at %q, want %q", died, point)
			}
			left := verify(t, p.store)
			s := p.start()
			got := s.resolveAll("fixed-1.mesh", "fixed-2.ns.svc.80.mesh", "fixed-3.mesh")
			for _, r := range left.Rows {
				if addr := s.addr4(r.Entry.Name + ".mesh"); addr != r.V4 {
					t.Errorf("%s is at %v, and was given %v", r.Entry.Name, addr, r.V4)
				}
			}
			for name, addr := range got {
				if ptr := s.ptr(addr); ptr != name+"." {
					t.Errorf("the name of %v is %q, want that of %s", addr, ptr, name)
				}
			}
			s.wait("the published table", func() bool { return len(p.table("default")) == len(fixedServices) })
		})
	}
}

func TestTheReleasedBuildHasNoFailpoints(t *testing.T) {
	t.Parallel()
	for has, build := range map[bool]func() (string, error){false: released, true: mortal} {
		path, err := build()
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("MESHVIP_FAILPOINT")) != has {
			t.Errorf("the build %s looks for a failpoint: %t, want %t", path, !has, has)
		}
	}
}
