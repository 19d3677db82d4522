package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/meshvip/coredns-meshvip/allocator"
)

// ran is one run of the program.
type ran struct {
	code     int
	out, err string
}

// runIn runs the program in this process, in no environment.
func runIn(t *testing.T, args ...string) ran {
	t.Helper()
	var out, errs bytes.Buffer
	s := newSession(strings.NewReader(""), &out, &errs, func(string) string { return "" })
	code := run(t.Context(), s, args)
	return ran{code, out.String(), errs.String()}
}

// must runs the program and wants it to end with code.
func must(t *testing.T, code int, args ...string) ran {
	t.Helper()
	r := runIn(t, args...)
	if r.code != code {
		t.Fatalf("meshvipctl %s: code %d, want %d\n%s%s", strings.Join(args, " "), r.code, code, r.out, r.err)
	}
	return r
}

func TestRealTablesGoInAndOutWithoutAnAddressMoved(t *testing.T) {
	t.Parallel()
	samples := os.Getenv("MESHVIP_KUMA_SAMPLES")
	if samples == "" {
		t.Skip("MESHVIP_KUMA_SAMPLES names no directory of Kuma's own files")
	}
	files, err := filepath.Glob(filepath.Join(samples, "tables", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tables in %s: %v", samples, err)
	}
	// Two services of this one have one address.
	conflicting := []string{"tag-first-full_example.json"}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			moves := slices.Contains(conflicting, filepath.Base(file))
			dir := t.TempDir()
			first, again := filepath.Join(dir, "first.db"), filepath.Join(dir, "again.db")
			args := []string{"import", "--mesh", "default", "--pool", "240.0.0.0/8", file}
			code := 0
			if moves {
				code = 1
			}
			must(t, code, append(args, "--store", first, "--dry-run")...)
			must(t, code, append(args, "--store", first)...)
			if moves {
				must(t, 0, append(args, "--store", first, "--accept-moves")...)
			}
			must(t, code, "diff", "--mesh", "default", file, first)
			for _, format := range []string{"3", "4"} {
				tables := filepath.Join(dir, format)
				must(t, 0, "--store", first, "export", "--format", format, "--out", tables)
				must(t, 0, "diff", tables, first)
				store := again + format
				r := must(t, 0, "import", "--pool", "240.0.0.0/8", "--store", store, tables)
				if !strings.Contains(r.err, " kept\n") {
					t.Errorf("the second import: %s", r.err)
				}
				must(t, 0, "diff", first, store)
				must(t, 0, "verify", store)
			}
			must(t, 0, append(args, "--store", first, "-o", "json", "--accept-moves")...)
		})
	}
}

func TestAnImportCountsWhatItTells(t *testing.T) {
	t.Parallel()
	in := tablesRead{bad: []string{"x"}}
	r := newImportReport("s.db", in, allocator.Import{Outcomes: []allocator.Outcome{
		{Mesh: "b", Result: allocator.Kept}, {Mesh: "a", Result: allocator.New}, {Mesh: "a", Result: allocator.Waits},
	}}, true)
	if r.moving() != 0 {
		t.Error("who had no address loses none by waiting")
	}
	if r.Rows[0].Mesh != "a" || r.Rows[2].Mesh != "b" {
		t.Errorf("rows %+v", r.Rows)
	}
	want := "plan for s.db: 1 kept, 1 new, 1 waiting, 1 bad rows set aside; nothing was written"
	if got := r.summary(); got != want {
		t.Errorf("summary %q, want %q", got, want)
	}
}
