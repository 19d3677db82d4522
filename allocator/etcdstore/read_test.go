package etcdstore

import (
	"errors"
	"io/fs"
	"slices"
	"testing"
	"time"
)

// TestATableIsReadWithoutAWrite, with who leads, and also where there is none.
func TestATableIsReadWithoutAWrite(t *testing.T) {
	t.Parallel()
	cfg, want := config(), numberedState(300, 3)
	probe := opened(t, cfg)
	seen, err := Read(t.Context(), cfg)
	if !errors.Is(err, fs.ErrNotExist) || seen.Led {
		t.Errorf("where there is nothing: %+v, %v", seen, err)
	}
	if keys := dump(t, probe); len(keys) != 0 {
		t.Errorf("reading left %s", keys)
	}
	put(t, probe, "import", `{"import":"x"}`)
	put(t, probe, leaderPrefix+"/1", "replica-1")
	if seen, err = Read(t.Context(), cfg); !errors.Is(err, ErrImport) || seen.Leader != "replica-1" || !seen.Led {
		t.Errorf("where a table is being made: %+v, %v", seen, err)
	}

	cfg = config()
	if err := Create(t.Context(), cfg, want); err != nil {
		t.Fatal(err)
	}
	probe = opened(t, cfg)
	before, keys := dump(t, probe), 0
	cfg.Progress = func(n int) { keys = n }
	seen, err = Read(t.Context(), cfg)
	if err != nil || seen.Led || seen.Cooldown != time.Minute {
		t.Fatalf("it returned %+v, %v", seen, err)
	}
	if diff := unlike(want, seen.State); diff != "" {
		t.Errorf("it read another table (-want +got):\n%s", diff)
	}
	if keys != len(before) {
		t.Errorf("it told of %d keys, want %d", keys, len(before))
	}
	if after := dump(t, probe); !slices.Equal(before, after) {
		t.Errorf("it was\n%s\nand is\n%s", before, after)
	}
}

// TestATableThatIsOnlyPartlyBroughtUpToDateIsNotRead.
func TestATableThatIsOnlyPartlyBroughtUpToDateIsNotRead(t *testing.T) {
	t.Parallel()
	s := elected(t, config())
	loaded(t, s)
	s.reconciling.Store(true)
	committed(t, s, gives(0, "web", "240.0.0.1"))
	if _, err := Read(t.Context(), s.cfg); !errors.Is(err, errReconciling) {
		t.Errorf("it returned %v", err)
	}
}

// TestWhoOnlyLooksIsNotAhead: what is followed goes on from what was loaded, though
// there was a look at something newer.
func TestWhoOnlyLooksIsNotAhead(t *testing.T) {
	t.Parallel()
	cfg := config()
	leader, follower := elected(t, cfg), opened(t, cfg)
	loaded(t, leader)
	loaded(t, follower)
	before := follower.position()
	committed(t, leader, gives(0, "web", "240.0.0.1"))
	state, err := follower.Peek(t.Context())
	if err != nil || len(state.Rows) != 1 {
		t.Errorf("it saw %+v, %v", state, err)
	}
	if now := follower.position(); now.rev != before.rev || now.commit != before.commit {
		t.Errorf("it was at %+v, and is at %+v", before, now)
	}
}
