package allocator_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
)

// follows is a service that only Kuma gives addresses.
func follows(name string, given ...string) vip.Request {
	r := requests(name)[0]
	r.Terms = &vip.Terms{Follow: true}
	for _, s := range given {
		r.Terms.Given = append(r.Terms.Given, addr(s))
	}
	return r
}

// TestWhoFollowsKumaGetsNoAddressOfOurs, is not waiting for one, and keeps the
// one that it has until Kuma gives it another, which is told as a move.
func TestWhoFollowsKumaGetsNoAddressOfOurs(t *testing.T) {
	t.Parallel()
	store, c := &faulty{Store: memstore.New()}, &clock{}
	cfg := allocator.Config{Layout: layout("10.0.0.0/29"), Cooldown: time.Minute, MaxRelease: anyRelease}
	var moved []string
	cfg.OnCommit = func(c allocator.Commit) { moved = append(moved, movesText(c.Moves)...) }
	a := open(t, store, c, cfg)
	apply(t, a, full(set("m", "a", "b")))
	static := follows("s")
	static.Terms.Static = asks("s", "10.0.0.5").Terms.Static
	apply(t, a, part(with("m", []vip.Request{follows("b"), follows("new"), static})))
	want := map[string]string{"a": "10.0.0.1", "b": "10.0.0.2", "new": "", "s": ""}
	wantTable(t, a, want)
	if s := a.Stats(); s.Waiting != 0 || s.Refused != 0 {
		t.Errorf("stats %+v", s)
	}
	a = restart(t, a, store, c, cfg)
	tick(t, a)
	wantTable(t, a, want)

	apply(t, a, part(with("m", []vip.Request{follows("b", "240.0.0.7"), follows("new", "240.0.0.8")})))
	want["b"] = ""
	wantTable(t, a, want)
	if fmt.Sprint(moved) != "[b 10.0.0.2 240.0.0.7]" {
		t.Errorf("told of %q", moved)
	}
	// Kuma takes it back: it is not answered any more, until it does not follow.
	apply(t, a, part(with("m", []vip.Request{follows("b")})))
	wantTable(t, a, want)
	apply(t, a, part(set("m", "b", "new")))
	want["b"], want["new"] = "10.0.0.2", "10.0.0.3"
	wantTable(t, a, want)
}

// TestOneMeshThatFollowsIsEnough, and of two that were given other addresses the
// first counts.
func TestOneMeshThatFollowsIsEnough(t *testing.T) {
	t.Parallel()
	a := open(t, memstore.New(), nil, allocator.Config{Layout: layout("10.0.0.0/29"), MaxRelease: anyRelease})
	apply(t, a, full(set("a", "web"), with("b", []vip.Request{follows("web", "240.0.0.2")}), with("c", []vip.Request{follows("web", "240.0.0.1")})))
	wantTable(t, a, map[string]string{"web": ""})
	if given := a.Rows()[0].Given(); fmt.Sprint(given) != "[240.0.0.2]" {
		t.Errorf("given %v", given)
	}
	apply(t, a, part(drop("b", "web")))
	if given := a.Rows()[0].Given(); fmt.Sprint(given) != "[240.0.0.1]" {
		t.Errorf("given %v", given)
	}
}

// TestWhoFollowsIsNotMovedByUs: what a new layout puts out of place stays.
func TestWhoFollowsIsNotMovedByUs(t *testing.T) {
	t.Parallel()
	cfg := allocator.Config{Layout: layout("10.0.0.0/29"), MaxRelease: anyRelease}
	a := open(t, memstore.New(), nil, cfg)
	apply(t, a, full(set("m", "web")))
	apply(t, a, part(with("m", []vip.Request{follows("web")})))
	cfg.Layout = layout("10.1.0.0/29")
	cfg.Layout.Statics = []allocator.Static{static("web", "10.1.0.5")}
	configure(t, a, cfg)
	wantMoves(t, a)
	if stuck := a.Moves().Stuck; len(stuck) != 1 {
		t.Errorf("stuck: %v", stuck)
	}
	wantTable(t, a, map[string]string{"web": "10.0.0.1"})
}

// TestARowSetAsideThatComesBackFollowing has its address still, or what Kuma gave
// it instead.
func TestARowSetAsideThatComesBackFollowing(t *testing.T) {
	t.Parallel()
	for _, given := range [][]string{nil, {"240.0.0.1"}} {
		store, cfg := &faulty{Store: memstore.New()}, allocator.Config{Layout: layout("10.0.0.0/29"), MaxRelease: anyRelease}
		a := open(t, store, nil, cfg)
		apply(t, a, full(set("m", "lone", "web")))
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		a = open(t, &unreadable{Store: store, key: requests("lone")[0].Entry.Key()}, nil, cfg)
		apply(t, a, full(with("m", []vip.Request{follows("lone", given...)}, "new", "web")))
		want := map[string]string{"lone": "10.0.0.1", "new": "10.0.0.3", "web": "10.0.0.2"}
		if given != nil {
			want["lone"] = ""
		}
		wantTable(t, a, want)
	}
}

// unreadable is a store that cannot read the row of an entry, until somebody
// writes to it.
type unreadable struct {
	allocator.Store
	key     vip.Key
	written bool
}

func (s *unreadable) Load(ctx context.Context) (allocator.State, error) {
	state, err := s.Store.Load(ctx)
	if !s.written {
		state.Rows = slices.DeleteFunc(state.Rows, func(r *vip.Row) bool { return r.Key() == s.key })
		state.Damaged = []allocator.Damage{{Place: "entries/" + s.key.String(), Err: errFault}}
	}
	return state, err
}

func (s *unreadable) Commit(ctx context.Context, d allocator.Delta) error {
	s.written = true
	return s.Store.Commit(ctx, d)
}
