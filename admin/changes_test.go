package admin_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/meshvip/coredns-meshvip/admin"
	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
)

// eventTexts returns events in words.
func eventTexts(changes ...admin.Change) (texts []string) {
	for _, c := range changes {
		for _, e := range c.Events {
			text := strings.TrimSpace(fmt.Sprint(e.What, " ", e.Entry, " ", e.Mesh))
			if e.From.IsValid() {
				text += " from " + e.From.String()
			}
			if e.To.IsValid() {
				text += " to " + e.To.String()
			}
			for _, a := range e.Given {
				text += " given " + a.String()
			}
			texts = append(texts, strings.Join(strings.Fields(text), " "))
		}
	}
	return texts
}

func TestChangesTellWhatCommitsDid(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *allocator.Config) { c.Layout.Pools = c.Layout.Pools[:1] })
	var since string
	step := func(want ...string) {
		t.Helper()
		c := must[admin.Changes](t)(r.Changes(t.Context(), since, 0))
		if got := eventTexts(c.Changes...); !c.Complete || c.More || !slices.Equal(got, want) {
			t.Errorf("complete %v, more %v:\n%s\nwant\n%s", c.Complete, c.More, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		since = c.Next
	}
	step()
	r.apply(full(set("m", "0:web", "0:db"), set("n")))
	step("mesh_created m", "mesh_created n", "listed 0:db m", "allocated 0:db to 240.0.0.1", "listed 0:web m", "allocated 0:web to 240.0.0.2")
	u := set("n", "0:web")
	u.Set[0].Outbounds = nil
	r.apply(part(drop("m", "0:db"), u))
	step("unlisted 0:db m", "released 0:db from 240.0.0.1", "listed 0:web n")
	r.apply(part(set("m", "0:db"), set("n", "0:web")))
	step("listed 0:db m", "returned 0:db to 240.0.0.1", "changed 0:web n")
	r.configure(func(c *allocator.Config) {
		c.Layout.Statics = []allocator.Static{{Key: vip.Key{Name: "db"}, Addr: addr("240.0.0.9")}}
	})
	must[admin.Confirmed](t)(r.ConfirmMoves(t.Context(), r.alloc.Moves().Name))
	step("moved 0:db from 240.0.0.1 to 240.0.0.9")
	u = vip.MeshUpdate{Mesh: "m", Set: []vip.Request{given("0:web", "", "241.0.0.1")}}
	u.Set[0].Terms.Hostnames = nil
	r.apply(part(u))
	step("changed 0:web m", "given_changed 0:web given 241.0.0.1", "moved 0:web from 240.0.0.2 to 241.0.0.1")
	r.apply(part(vip.MeshUpdate{Mesh: "n", Gone: true}))
	must[admin.Released](t)(r.ReleaseHeld(t.Context(), r.alloc.Held()[0].Name))
	step("unlisted 0:web n", "mesh_gone n")
}

func TestChangesComeInPagesOfWholeCommits(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i := range 30 {
		r.apply(part(set("m", many(3 * (i + 1))[3*i:]...)))
	}
	var got []admin.Change
	since := ""
	for more := true; more; {
		c := must[admin.Changes](t)(r.Changes(t.Context(), since, 20))
		got, since, more = append(got, c.Changes...), c.Next, c.More
		if !c.Complete || len(c.Changes) > 10 {
			t.Fatalf("complete %v, %d changes", c.Complete, len(c.Changes))
		}
	}
	if len(got) != 30 || len(eventTexts(got...)) != 1+30*3*3 {
		t.Errorf("%d changes, %d events", len(got), len(eventTexts(got...)))
	}
	// A serial alone is good enough where it is all one has.
	c := must[admin.Changes](t)(r.Changes(t.Context(), fmt.Sprint(got[27].Serial), 0))
	if len(c.Changes) != 2 || c.Changes[0].ID != got[28].ID {
		t.Errorf("after serial %d come %+v", got[27].Serial, c)
	}
}

func TestWhatIsForgottenIsSaidToBeMissing(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *allocator.Config) { c.Layout.Pools = nil })
	start := fmt.Sprint(r.alloc.Stats().Meta.Serial)
	r.apply(full(set("m", many(9000)...)))
	first := must[admin.Changes](t)(r.Changes(t.Context(), start, 0))
	if !first.Complete || len(first.Changes) != 1 {
		t.Errorf("complete %v, %d changes", first.Complete, len(first.Changes))
	}
	r.apply(part(set("n", many(9000)...)))
	second := must[admin.Changes](t)(r.Changes(t.Context(), start, 0))
	if second.Complete || len(second.Changes) != 1 || second.Changes[0].Revision != 2 {
		t.Errorf("complete %v, %d changes", second.Complete, len(second.Changes))
	}
	if c := must[admin.Changes](t)(r.Changes(t.Context(), first.Next, 0)); !c.Complete || len(c.Changes) != 1 {
		t.Errorf("complete %v, %d changes", c.Complete, len(c.Changes))
	}
	// Of another table, or of this one before it was put back.
	for _, ahead := range []string{"4294967295", "1.99"} {
		if c := must[admin.Changes](t)(r.Changes(t.Context(), ahead, 0)); c.Complete {
			t.Errorf("since %s all is known: %+v", ahead, c.Next)
		}
	}
}

var errEnough = errors.New("enough")

// watch collects events until there are n, and closes begun when it follows.
func watch(ctx context.Context, c *admin.Client, since string, n int) (events []admin.StreamEvent, err error) {
	err = c.Watch(ctx, since, func(e admin.StreamEvent) error {
		if events = append(events, e); len(events) == n {
			return errEnough
		}
		return nil
	})
	return events, err
}

func TestAStreamTellsOfChangesAsTheyHappen(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.apply(full(set("m", "0:a")))
	since := fmt.Sprint(r.alloc.Stats().Meta.Serial)
	got := make(chan []admin.StreamEvent)
	go func() {
		events, err := watch(t.Context(), r.Client, since, 20)
		if !errors.Is(err, errEnough) {
			t.Errorf("watching: %v", err)
		}
		got <- events
	}()
	for i := range 20 {
		r.apply(part(set("m", many(i + 1)[i:]...)))
	}
	for i, e := range <-got {
		if e.Change == nil || e.Change.Revision != uint64(i+2) || len(e.Change.Events) != 3 {
			t.Errorf("event %d is %+v", i, e)
		}
	}
}

func TestAStreamBeginsWithWhatItLacks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.apply(full(set("m", "0:a")))
	events, err := watch(t.Context(), r.Client, "1.99", 2)
	if !errors.Is(err, errEnough) || events[0].Gap == nil || events[0].Gap.Since != "1.99" || events[1].Change == nil {
		t.Errorf("%v, %+v", err, events)
	}
}

func TestAWatchEndsWithItsContext(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx, cancel := context.WithCancel(t.Context())
	r.apply(full(set("m", "0:a")))
	err := r.Watch(ctx, "0", func(admin.StreamEvent) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("watching: %v", err)
	}
	err = r.Watch(t.Context(), "yesterday", nil)
	wantCode(t, err, 400, admin.BadRequest, "yesterday")
}
