package main

import (
	"strings"
	"testing"

	"github.com/meshvip/coredns-meshvip/test/figures"
)

func TestIdleTimeIsNotBusy(t *testing.T) {
	t.Parallel()
	got, err := parseBusy("cpu  1 2 4 1000 1000 8 16 32 64 128")
	if want := 63 * figures.Tick; err != nil || got != want {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	for _, bad := range []string{"", "cpu0 1 2 3 4 5 6 7 8", "cpu 1 2 3", "cpu 1 2 x 4 5 6 7 8"} {
		if got, err := parseBusy(bad); err == nil {
			t.Errorf("%q: %v, and no error", bad, got)
		}
	}
}

// rollup is what Linux 6 says of a process in smaps_rollup.
const rollup = `00400000-7ffc9d5fe000 ---p 00000000 00:00 0                              [rollup]
Rss:                1000 kB
Pss:                 700 kB
Pss_Dirty:           300 kB
Pss_Anon:            250 kB
Pss_File:            400 kB
Pss_Shmem:            50 kB
Anonymous:           300 kB
SwapPss:               0 kB
`

func TestMemoryIsOwnOrOfFiles(t *testing.T) {
	t.Parallel()
	own, files, err := parseRollup(rollup)
	if err != nil || own != 300<<10 || files != 700<<10 {
		t.Errorf("own %d, of files %d, %v", own, files, err)
	}
	for _, lacking := range []string{"Rss:", "Anonymous:", "Pss_Anon:", "Pss_Shmem:"} {
		if _, _, err := parseRollup(strings.Replace(rollup, lacking, "Other:", 1)); err == nil {
			t.Errorf("no error without %s", lacking)
		}
	}
}
