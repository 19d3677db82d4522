package figures

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestNumbersHaveCommas(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := Thousands(n); got != want {
			t.Errorf("%d is printed %s, want %s", n, got, want)
		}
	}
}

func TestAProcessMayHaveAnyName(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "stat")
	for text, want := range map[string]time.Duration{
		"7 (a) b) (c) S 1 2 3 4 5 6 7 8 9 10 30 12 13\n": 42 * Tick,
		"7 (a) S 1 2 3 4 5 6 7 8 9 10 30\n":              0,
		"":                                               0,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		stat, err := ReadStat(path)
		if (err == nil) != (want > 0) {
			t.Fatalf("%q: %v", text, err)
		}
		if err != nil {
			continue
		}
		if got, err := stat.ProcessorTime(); err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
}
