package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// side is one of two commits that are compared.
type side struct {
	name   string
	tree   string            // a checkout of its own
	builds map[string]string // test binaries by directory in it
	out    *os.File          // what its benchmarks print
}

// compare runs the benchmarks of two commits in turn, and prints what benchstat
// makes of them: bin/tools has it. Packages in which only one of them has any are
// left out.
func compare(ctx context.Context, o options, commits ...string) error {
	dir, err := os.MkdirTemp("", "meshvip-compare")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var sides []*side
	for i, commit := range commits {
		s := &side{name: commit, tree: filepath.Join(dir, []string{"old", "new"}[i])}
		if err := command(ctx, "git", "worktree", "add", "--detach", s.tree, commit); err != nil {
			return err
		}
		defer func() { _ = command(context.WithoutCancel(ctx), "git", "worktree", "remove", "--force", s.tree) }()
		if s.builds, err = buildMatching(ctx, o.bench.String(), s.tree, dir); err != nil {
			return err
		}
		if s.out, err = os.Create(s.tree + ".txt"); err != nil {
			return err
		}
		defer s.out.Close()
		sides = append(sides, s)
	}
	if err := takeTurns(ctx, o, sides); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, filepath.Join("bin", "tools", "benchstat"))
	for _, s := range sides {
		cmd.Args = append(cmd.Args, s.name+"="+s.out.Name()) // the column's name, and the file
	}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// takeTurns runs what both sides have, package by package, each round in the
// other order than the one before.
func takeTurns(ctx context.Context, o options, sides []*side) error {
	var both []string
	for dir := range sides[0].builds {
		if sides[1].builds[dir] != "" {
			both = append(both, dir)
		}
	}
	if len(both) == 0 {
		return fmt.Errorf("no benchmark that both commits have matches %q", o.bench)
	}
	slices.Sort(both)
	for round := 1; round <= o.rounds; round++ {
		slices.Reverse(sides)
		for _, dir := range both {
			for _, s := range sides {
				fmt.Fprintf(os.Stderr, "round %d of %d: %s at %s\n", round, o.rounds, dir, s.name)
				u := unit{dir: filepath.Join(s.tree, dir), bench: o.bench.String()}
				if err := u.run(ctx, s.builds[dir], o.benchtime, s.out); err != nil {
					return fmt.Errorf("%s at %s: %w", dir, s.name, err)
				}
			}
		}
	}
	if o.rounds%2 == 1 {
		slices.Reverse(sides)
	}
	return nil
}

// buildMatching builds the tests of the packages of a tree that have benchmarks
// which match, and returns the binaries by directory.
func buildMatching(ctx context.Context, bench, tree, into string) (map[string]string, error) {
	top, _, _ := strings.Cut(bench, "/") // what follows are names of sub-benchmarks
	wanted, err := regexp.Compile(top)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "git", "grep", "-E", "^func Benchmark", "--", "*_test.go")
	cmd.Dir = tree
	found, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("looking for benchmarks in %s: %w", tree, err)
	}
	builds := make(map[string]string)
	for line := range strings.Lines(string(found)) {
		path, text, _ := strings.Cut(line, ":")
		name, _, _ := strings.Cut(strings.TrimPrefix(text, "func "), "(")
		dir := filepath.Dir(path)
		if builds[dir] != "" || !wanted.MatchString(name) {
			continue
		}
		binary := filepath.Join(into, filepath.Base(tree)+"-"+strings.ReplaceAll(dir, "/", "-"))
		if err := buildTest(ctx, filepath.Join(tree, dir), binary); err != nil {
			return nil, err
		}
		builds[dir] = binary
	}
	return builds, nil
}

// command runs a command; its error has what it printed.
func command(ctx context.Context, name string, args ...string) error {
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
