package allocator_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
	"pgregory.net/rapid"
)

// confirmNow lets the operator say that the plan that waits, or another, may go
// at once.
func (m *machine) confirmNow(t *rapid.T) {
	names := []string{"0-00000000"}
	if name := m.a.Moves().Name; m.ids[name] != "" {
		names = append(names, name, name, name)
	}
	name := rapid.SampledFrom(names).Draw(t, "plan")
	follows := func(id string) bool { return m.ids[name] == id || m.confirmed(id) }
	var done allocator.Moves
	m.ticked = m.change(t, stages(m.since(), follows)[:3], func() (err error) {
		done, err = m.a.ConfirmMoves(context.Background(), name)
		if errors.Is(err, allocator.ErrOtherPlan) {
			return nil
		}
		return err
	})
	m.looked = m.ticked
	if got, want := whither(done.List), whither(m.o.moved); done.Name != "" && !slices.Equal(got, want) {
		t.Fatalf("confirmed %v, want %v", got, want)
	}
	if m.ticked && m.cfg.Confirm == "" && (done.Name != "") != (len(m.o.moved) > 0) {
		t.Fatalf("plan %q: moved %v, want %v", name, done.List, m.o.moved)
	}
}

// releaseHeld lets the operator release some of what is held, by its name.
func (m *machine) releaseHeld(t *rapid.T) {
	var names []string
	meshes, known := make(map[string]bool), true
	for _, h := range m.a.Held() {
		if rapid.Bool().Draw(t, "release "+h.Mesh) {
			names, meshes[h.Mesh] = append(names, h.Name), true
			// While a reply is lost the allocator may hold what it held before.
			held := m.o.held[h.Mesh]
			known = known && held.gone == h.Gone && slices.Equal(slices.SortedFunc(maps.Keys(held.keys), vip.Key.Compare), h.Entries)
		}
	}
	if rapid.IntRange(0, 9).Draw(t, "one that is no hold") == 0 {
		names, known = append(names, "0123456789ab"), false
	}
	want := error(nil)
	switch {
	case m.o.incomplete != "":
		want = allocator.ErrIncomplete
	case !known:
		want = allocator.ErrOtherHold
	}
	step := func(o *oracle) bool { return want == nil && o.letGo(meshes, m.since()) }
	var refused error
	answered := false // and not cut off by a fault
	m.change(t, []func(o *oracle) bool{step}, func() error {
		r, err := m.a.ReleaseHeld(context.Background(), names...)
		if errors.Is(err, allocator.ErrIncomplete) || errors.Is(err, allocator.ErrOtherHold) {
			refused, answered = err, true
			return nil
		}
		if err == nil {
			m.reported, answered = &r, true
		}
		return err
	})
	if answered && !errors.Is(refused, want) {
		t.Fatalf("releasing %q: %v, want %v", names, refused, want)
	}
}

// letGo releases what is held of some meshes, and nothing else.
func (o *oracle) letGo(meshes map[string]bool, t time.Duration) bool {
	now := o.at(t)
	o.served = now
	return o.commit(now, false, func() {
		before := maps.Clone(o.rows)
		for mesh := range meshes {
			h := o.held[mesh]
			for key := range h.keys {
				o.rows[key] = o.rows[key].WithoutListing(mesh)
			}
			if h.gone {
				delete(o.meshes, mesh)
			}
			delete(o.held, mesh)
		}
		o.settle(before, now)
	})
}

// planFor asks what another layout would move, and then configures it: that is
// what waits.
func (m *machine) planFor(t *rapid.T) {
	if m.lost {
		return // it is about the table as it is known to be
	}
	layout := someLayout().Draw(t, "layout")
	commits := m.store.commits
	plan, err := m.a.PlanFor(layout)
	if err != nil || m.store.commits != commits {
		t.Fatalf("planning for %v: %v, %d commits", layout, err, m.store.commits-commits)
	}
	m.cfg.Layout, m.cfg.Confirm = layout, ""
	m.follow(t)
	m.look(t)
	got := m.a.Moves()
	if m.ticked && (got.Name != plan.Name || !slices.Equal(whither(got.List), whither(plan.List)) || !slices.Equal(whither(got.Stuck), whither(plan.Stuck))) {
		t.Fatalf("planned %q %v, stuck %v; what waits is %q %v, stuck %v", plan.Name, plan.List, plan.Stuck, got.Name, got.List, got.Stuck)
	}
}
