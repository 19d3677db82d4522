package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// runUnits runs the units that are asked for in rounds, one after the other in
// each, and writes what they print to the file at path. A unit that fails does not
// keep the others from it; the error names all that did.
func runUnits(ctx context.Context, o options, path string) error {
	binaries, err := os.MkdirTemp("", "meshvip-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(binaries)
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer out.Close()
	for _, fact := range thisMachine(ctx, ".") {
		fmt.Fprintf(out, "%s: %s\n", fact.key, fact.value)
	}
	var chosen []unit
	built := make(map[string]string)
	for _, u := range units {
		if !o.bench.MatchString(u.bench) {
			continue
		}
		chosen = append(chosen, u)
		if built[u.dir] != "" {
			continue
		}
		built[u.dir] = filepath.Join(binaries, strings.ReplaceAll(u.dir, "/", "-"))
		if err := buildTest(ctx, u.dir, built[u.dir]); err != nil {
			return err
		}
	}
	if len(chosen) == 0 {
		return fmt.Errorf("no benchmark of the table matches %q", o.bench)
	}
	begin := time.Now()
	var failed []error
	for round := 1; round <= o.rounds; round++ {
		fmt.Fprintf(out, "round: %d\n", round)
		for _, u := range chosen {
			if round > u.turns(o.rounds) {
				continue
			}
			fmt.Fprintf(os.Stderr, "%4.0f s: round %d of %d, %s %s\n", time.Since(begin).Seconds(), round, u.turns(o.rounds), u.dir, u.bench)
			if err := u.run(ctx, built[u.dir], o.benchtime, out); err != nil {
				failed = append(failed, fmt.Errorf("round %d, %s in %s: %w", round, u.bench, u.dir, err))
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	return errors.Join(append(failed, out.Close())...)
}

// run runs a unit of a test binary once.
func (u unit) run(ctx context.Context, binary, benchtime string, out io.Writer) error {
	if u.time != "" {
		benchtime = u.time
	}
	cmd := exec.CommandContext(ctx, binary, "-test.run=^$", "-test.bench="+u.bench, "-test.benchtime="+benchtime, "-test.benchmem", "-test.timeout=30m")
	cmd.Dir = u.dir
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = io.MultiWriter(out, &said), &said
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, said.String())
		return err
	}
	return nil
}

// buildTest builds the test binary of the package in a directory, by the module
// that the directory lies in.
func buildTest(ctx context.Context, dir, path string) error {
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-o", path, ".")
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the tests of %s: %w\n%s", dir, err, text)
	}
	return nil
}
