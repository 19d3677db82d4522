package main

import (
	"testing"
	"time"
)

func TestNumbersHaveTheirNouns(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		n    int
		noun string
		want string
	}{
		{1, "entry", "1 entry"},
		{2, "entry", "2 entries"},
		{0, "move", "0 moves"},
		{3, "mesh", "3 meshes"},
		{2, "address", "2 addresses"},
		{2, "static address", "2 static addresses"},
	} {
		if got := count(tc.n, tc.noun); got != tc.want {
			t.Errorf("count(%d, %q) = %q, want %q", tc.n, tc.noun, got, tc.want)
		}
	}
}

func TestTimesAreToldInUTCWithTheirDistance(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 2, 12, 0, 0, 0, time.FixedZone("", 3600))
	for d, want := range map[time.Duration]string{
		0:                              "2026-11-02 11:00:00 UTC (0s ago)",
		-90 * time.Second:              "2026-11-02 10:58:30 UTC (1m30s ago)",
		-25*time.Hour - time.Minute:    "2026-11-01 09:59:00 UTC (1d1h ago)",
		23*time.Hour + 59*time.Minute:  "2026-11-03 10:59:00 UTC (in 23h59m)",
		-20 * 24 * time.Hour:           "2026-10-13 11:00:00 UTC (20d ago)",
		59*time.Second + 600*1000*1000: "2026-11-02 11:00:59 UTC (in 1m0s)",
	} {
		if got := when(now.Add(d), now); got != want {
			t.Errorf("when(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestHugePoolsAreToldInPowersOfTwo(t *testing.T) {
	t.Parallel()
	for n, want := range map[uint64]string{
		0: "0", 16777214: "16777214", 1<<40 - 1: "1099511627775", 1 << 40: ">=2^40", 1<<63 - 1: ">=2^62",
	} {
		if got := amount(n); got != want {
			t.Errorf("amount(%d) = %q, want %q", n, got, want)
		}
	}
}
