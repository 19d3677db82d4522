package main

import (
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSizesHaveSuffixes(t *testing.T) {
	t.Parallel()
	got, err := parseSizes("7,10k,1M")
	if want := []int{7, 10_000, 1_000_000}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	for _, bad := range []string{"", "0", "-1", "k", "10m", "1,", "11M", "ten"} {
		if got, err := parseSizes(bad); err == nil {
			t.Errorf("%q: %v, and no error", bad, got)
		}
	}
}

func TestAVariantSaysWhatIsOtherThanOurs(t *testing.T) {
	t.Parallel()
	got, err := parseVariant("tuned,bin=bin/other,env=GOGC=400,line=multisocket 2")
	want := variant{"tuned", "bin/other", []string{"GOGC=400"}, []string{"multisocket 2"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	for _, bad := range []string{"", "ours", "nsd,env=A=B", "x,GOGC=400"} {
		if got, err := parseVariant(bad); err == nil {
			t.Errorf("%q: %+v, and no error", bad, got)
		}
	}
}

func TestSettingsThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"more"}, {"-rounds", "0"}, {"-seconds", "0"}, {"-c", "1", "-T", "2"}, {"-servers", "ours,bind"}, {"-sizes", "many"}, {"-variant", "ours"},
	} {
		if s, err := parse(args, io.Discard); err == nil {
			t.Errorf("%q: %+v, and no error", args, s)
		}
	}
}
