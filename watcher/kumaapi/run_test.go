package kumaapi

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meshvip/coredns-meshvip/watcher/kumaapi/fakekuma"
)

// clocked notes when each pass begins, which is when "/" is asked for.
type clocked struct {
	http.RoundTripper
	mu     sync.Mutex
	passes []time.Time
}

func (c *clocked) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path == "/" {
		c.mu.Lock()
		c.passes = append(c.passes, time.Now())
		c.mu.Unlock()
	}
	return c.RoundTripper.RoundTrip(r)
}

// pauses runs a source for a time, and returns the pauses between its passes.
func pauses(t *testing.T, k *fakekuma.Server, opts Options, run time.Duration) []time.Duration {
	t.Helper()
	c := &clocked{RoundTripper: k.Transport()}
	opts.transport = c
	s, err := New(base, opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), run)
	defer cancel()
	r := rigOf(t, k, s)
	if err := s.Run(ctx, r.feed); err != nil {
		t.Error(err)
	}
	var ps []time.Duration
	for i := 1; i < len(c.passes); i++ {
		ps = append(ps, c.passes[i].Sub(c.passes[i-1]))
	}
	return ps
}

func TestPassesComeAtTheIntervalAndNotInStep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ps := pauses(t, twoMeshes(), Options{}, time.Hour)
		if len(ps) < 320 || len(ps) > 400 {
			t.Errorf("%d passes in an hour", len(ps))
		}
		differ := false
		for _, p := range ps {
			if p < 9*time.Second || p > 11*time.Second {
				t.Errorf("a pause of %v", p)
			}
			differ = differ || p != ps[0]
		}
		if !differ {
			t.Error("all pauses are the same")
		}
	})
}

func TestFailuresAreRetriedSoonThenSeldomer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := twoMeshes()
		k.Set(func(s *fakekuma.Settings) { s.Faults = []*fakekuma.Fault{{Path: "*", Status: 503}} })
		ps := pauses(t, k, Options{}, time.Hour)
		if len(ps) < 40 || ps[0] > 2*time.Second {
			t.Fatalf("pauses %v", ps)
		}
		for i, p := range ps {
			if p > 80*time.Second || i > 10 && p < 40*time.Second {
				t.Errorf("pause %d is %v", i, p)
			}
		}
	})
}

func TestAfterAPassThatWentWellFailuresAreRetriedSoonAgain(t *testing.T) {
	t.Parallel()
	p := newPace(10 * time.Second)
	for range 10 {
		p.pause(outcome{nothing: true})
	}
	if d := p.pause(outcome{nothing: true}); d < 40*time.Second {
		t.Errorf("the pause after many failures is %v", d)
	}
	p.pause(outcome{})
	if d := p.pause(outcome{nothing: true}); d > 2*time.Second {
		t.Errorf("the pause after the first failure is %v", d)
	}
}

func TestWhoAsksToBeLeftAloneIsLeftAlone(t *testing.T) {
	t.Parallel()
	for _, after := range []string{"200", time.Date(2000, 1, 1, 0, 3, 20, 0, time.UTC).Format(http.TimeFormat)} {
		synctest.Test(t, func(t *testing.T) { // its clock begins in 2000
			k := twoMeshes()
			k.Set(func(s *fakekuma.Settings) {
				s.Faults = []*fakekuma.Fault{{Path: "dataplanes", Status: 429, RetryAfter: after, Times: 1}}
			})
			if ps := pauses(t, k, Options{}, 10*time.Minute); ps[0] < 200*time.Second || ps[0] > 201*time.Second || ps[1] > 11*time.Second {
				t.Errorf("pauses %v", ps)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		k := twoMeshes()
		k.Set(func(s *fakekuma.Settings) {
			s.Faults = []*fakekuma.Fault{{Path: "dataplanes", Status: 503, RetryAfter: "99999999999", Times: 1}}
		})
		if ps := pauses(t, k, Options{}, 10*time.Minute); len(ps) < 2 || ps[0] != maxPause {
			t.Errorf("pauses %v", ps)
		}
	})
}

func TestAGlobalControlPlaneIsAskedSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := twoMeshes()
		k.Set(func(s *fakekuma.Settings) { s.Mode = "global" })
		for _, p := range pauses(t, k, Options{}, time.Hour) {
			if p < 4*time.Minute || p > 5*time.Minute {
				t.Errorf("a pause of %v", p)
			}
		}
	})
}

func TestRunEndsInTheMiddleOfAPass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for n := range kinds {
			k := twoMeshes()
			k.Set(func(s *fakekuma.Settings) {
				s.Faults = []*fakekuma.Fault{{Path: kinds[n].paths[0], Silent: true}}
			})
			r := newRig(t, k, Options{})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := r.f.Run(ctx, r.feed); err != nil || r.feed.commits != 0 || len(r.feed.places) != 0 {
				t.Errorf("%v, %d commits", err, r.feed.commits)
			}
		}
	})
}

func TestTheFirstAttemptIsCommittedHoweverItWent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, fault := range []*fakekuma.Fault{{Path: "*", Status: 500}, {Path: "*", Silent: true}, {Path: "*", HTML: true}} {
			k := twoMeshes()
			k.Set(func(s *fakekuma.Settings) { s.Faults = []*fakekuma.Fault{fault} })
			r := newRig(t, k, Options{})
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			if err := r.f.Run(ctx, r.feed); err != nil || r.feed.commits != 1 || r.feed.state.Read {
				t.Errorf("%v, %d commits, %+v", err, r.feed.commits, r.feed.state)
			}
			cancel()
		}
	})
}
