package allocator_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
)

// TestWhatKumaGaveIsNotOurs: an entry with an address of Kuma's gets none from a
// pool of either family, and an address of Kuma's that lies in a pool is given
// to nobody, asked for or not, not even where all others are taken.
func TestWhatKumaGaveIsNotOurs(t *testing.T) {
	t.Parallel()
	store, c := &faulty{Store: memstore.New()}, &clock{}
	cfg := allocator.Config{Layout: layout("10.0.0.0/29", "fd00::/126"), Cooldown: time.Minute, MaxRelease: anyRelease}
	a := open(t, store, c, cfg)
	apply(t, a, full(with("m", []vip.Request{
		meshService("g", "10.0.0.2", "10.0.0.4"), meshService("h", "241.0.0.1"), meshService("none"), asks("s", "10.0.0.4"),
	}, "a", "b", "c", "d")))
	want := map[string]string{
		"g": "", "h": "", "a": "10.0.0.1 fd00::", "b": "10.0.0.3 fd00::1", "c": "10.0.0.5 fd00::2", "d": "10.0.0.6 fd00::3", "s": "", "none": "",
	}
	wantTable(t, a, want)
	if s := a.Stats(); s.Waiting != 2 || s.Refused != 1 {
		t.Errorf("stats %+v", s)
	}
	a = restart(t, a, store, c, cfg)
	c.running += time.Hour
	tick(t, a)
	wantTable(t, a, want)
}

// TestTwoEntriesMayHaveTheSameGivenAddress, and it stays Kuma's until neither
// has it.
func TestTwoEntriesMayHaveTheSameGivenAddress(t *testing.T) {
	t.Parallel()
	a := open(t, memstore.New(), nil, allocator.Config{Layout: layout("10.0.0.0/30"), MaxRelease: anyRelease})
	apply(t, a, full(with("m", []vip.Request{meshService("g", "10.0.0.1"), meshService("h", "10.0.0.1")}, "a", "b")))
	want := map[string]string{"g": "", "h": "", "a": "10.0.0.2", "b": ""}
	wantTable(t, a, want)
	gone := func(name string) vip.Batch {
		delete(want, name)
		return part(vip.MeshUpdate{Mesh: "m", Drop: []vip.Key{meshService(name).Entry.Key()}})
	}
	apply(t, a, gone("g"))
	tick(t, a)
	wantTable(t, a, want)
	apply(t, a, gone("h"))
	tick(t, a)
	want["b"] = "10.0.0.1"
	wantTable(t, a, want)
}

// TestAnAddressThatKumaGivesNoMoreCanBeHad, by whoever waits, in the process
// that saw it given as in another: the pool's cursor had passed it.
func TestAnAddressThatKumaGivesNoMoreCanBeHad(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{false, true} {
		t.Run(fmt.Sprint("restart: ", again), func(t *testing.T) {
			t.Parallel()
			store, c := &faulty{Store: memstore.New()}, &clock{}
			cfg := allocator.Config{Layout: layout("10.0.0.0/29"), MaxRelease: anyRelease}
			a := open(t, store, c, cfg)
			apply(t, a, full(with("m", []vip.Request{meshService("g", "10.0.0.1", "10.0.0.2", "10.0.0.3")}, "a", "b", "c", "d")))
			wantTable(t, a, map[string]string{"g": "", "a": "10.0.0.4", "b": "10.0.0.5", "c": "10.0.0.6", "d": ""})
			apply(t, a, part(with("m", []vip.Request{meshService("g", "10.0.0.3")})))
			if again {
				a = restart(t, a, store, c, cfg)
			}
			tick(t, a)
			apply(t, a, part(set("m", "e")))
			apply(t, a, part(set("m", "f")))
			wantTable(t, a, map[string]string{
				"g": "", "a": "10.0.0.4", "b": "10.0.0.5", "c": "10.0.0.6", "d": "10.0.0.1", "e": "10.0.0.2", "f": "",
			})
		})
	}
}

// TestAnOwnerIsNotGivenBackWhatKumaGives, whether that comes in the same batch or
// came before; and it is given it when Kuma gives it no more, cooling or not.
func TestAnOwnerIsNotGivenBackWhatKumaGives(t *testing.T) {
	t.Parallel()
	for _, together := range []bool{true, false} {
		t.Run(fmt.Sprint("in one batch: ", together), func(t *testing.T) {
			t.Parallel()
			a := open(t, memstore.New(), &clock{}, allocator.Config{Layout: layout("10.0.0.0/30"), Cooldown: time.Hour, MaxRelease: anyRelease})
			apply(t, a, full(set("m", "a", "b")))
			apply(t, a, part(drop("m", "a")))
			if together {
				apply(t, a, part(with("m", []vip.Request{meshService("g", "10.0.0.1")}, "a")))
			} else {
				apply(t, a, part(with("m", []vip.Request{meshService("g", "10.0.0.1")})))
				apply(t, a, part(set("m", "a")))
			}
			wantTable(t, a, map[string]string{"g": "", "a": "", "b": "10.0.0.2"})
			apply(t, a, part(vip.MeshUpdate{Mesh: "m", Drop: []vip.Key{meshService("g").Entry.Key()}}))
			tick(t, a)
			wantTable(t, a, map[string]string{"a": "10.0.0.1", "b": "10.0.0.2"})
		})
	}
}

// TestAnEntryThatKumaGivesAnAddressLeavesOurs, which is told like a move and
// needs nobody's word; ours cools down, and it has it again when Kuma's is gone.
func TestAnEntryThatKumaGivesAnAddressLeavesOurs(t *testing.T) {
	t.Parallel()
	store, c := &faulty{Store: memstore.New()}, &clock{}
	log, logger := logTo()
	var told []allocator.Move
	cfg := allocator.Config{
		Layout: layout("10.0.0.0/30", "fd00::/127"), Cooldown: time.Hour, MaxRelease: anyRelease, Logger: logger,
		OnCommit: func(c allocator.Commit) { told = append(told, c.Moves...) },
	}
	a := open(t, store, c, cfg)
	apply(t, a, full(with("m", []vip.Request{meshService("g")}, "a", "b")))
	want := map[string]string{"a": "10.0.0.1 fd00::", "b": "10.0.0.2 fd00::1", "g": ""}
	wantTable(t, a, want)
	apply(t, a, full(with("m", []vip.Request{meshService("g")}, "a")))
	c.running += 2 * time.Hour
	tick(t, a)
	delete(want, "b")
	want["g"] = "10.0.0.2 fd00::1"
	wantTable(t, a, want)

	apply(t, a, part(with("m", []vip.Request{meshService("g", "241.0.0.1")})))
	want["g"] = ""
	wantTable(t, a, want)
	if got := fmt.Sprint(movesText(told)); got != "[g 10.0.0.2 241.0.0.1 g fd00::1 241.0.0.1]" {
		t.Errorf("told of %s", got)
	}
	wantLog(t, log, "msg=moved entry=3:m/g from=10.0.0.2 to=241.0.0.1", "Kuma gave it 241.0.0.1")
	apply(t, a, part(set("m", "c")))
	want["c"] = ""
	wantTable(t, a, want) // it cools down
	a = restart(t, a, store, c, cfg)
	apply(t, a, part(with("m", []vip.Request{meshService("g")})))
	want["g"] = "10.0.0.2 fd00::1"
	wantTable(t, a, want)
}

// TestOneWhoSitsOnAnAddressThatKumaGivesIsToMove, and does not move by itself.
func TestOneWhoSitsOnAnAddressThatKumaGivesIsToMove(t *testing.T) {
	t.Parallel()
	cfg := allocator.Config{Layout: layout("10.0.0.0/29"), Cooldown: time.Hour, MaxRelease: anyRelease}
	a := open(t, memstore.New(), &clock{}, cfg)
	apply(t, a, full(set("m", "a", "b")))
	apply(t, a, part(with("m", []vip.Request{meshService("g", "10.0.0.1")})))
	tick(t, a)
	want := map[string]string{"a": "10.0.0.1", "b": "10.0.0.2", "g": ""}
	wantTable(t, a, want)
	name := wantMoves(t, a, "a 10.0.0.1 10.0.0.3")
	if why := a.Moves().List[0].Why; why != "Kuma gave 10.0.0.1 to an entry of its own" {
		t.Errorf("why: %s", why)
	}
	// Kuma takes it back, and gives it again.
	apply(t, a, part(with("m", []vip.Request{meshService("g")})))
	tick(t, a)
	wantMoves(t, a)
	apply(t, a, part(with("m", []vip.Request{meshService("g", "10.0.0.1")})))
	tick(t, a)
	if got := wantMoves(t, a, "a 10.0.0.1 10.0.0.4"); got != name {
		t.Errorf("the plan is %s, was %s", got, name)
	}
	cfg.Confirm = name
	configure(t, a, cfg)
	want["a"] = "10.0.0.4"
	wantTable(t, a, want)
}

// TestAGiftOfTheAddressThatOneHasIsNoMove, and leaves none to be told of later.
func TestAGiftOfTheAddressThatOneHasIsNoMove(t *testing.T) {
	t.Parallel()
	var told []allocator.Move
	a := open(t, memstore.New(), nil, allocator.Config{
		Layout: layout("10.0.0.0/29"), OnCommit: func(c allocator.Commit) { told = append(told, c.Moves...) },
	})
	apply(t, a, full(with("m", []vip.Request{meshService("g")})))
	wantTable(t, a, map[string]string{"g": "10.0.0.1"})
	for _, given := range [][]string{{"10.0.0.1"}, {"241.0.0.1"}, nil} {
		apply(t, a, part(with("m", []vip.Request{meshService("g", given...)})))
	}
	if len(told) > 0 {
		t.Errorf("told of %v", told)
	}
	wantTable(t, a, map[string]string{"g": "10.0.0.1"})
}
