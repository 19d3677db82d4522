// Command ratio prints how our work compares with its peers, beside the goal of
// each row, as one table. Times of different machines and runs say little; ratios
// within a run say the same everywhere.
//
//	ratio run [-rounds N] [-benchtime D] [-bench REGEXP] [-out DIR]
//	ratio show FILE
//	ratio compare [-rounds N] [-benchtime D] [-bench REGEXP] OLD [NEW]
//
// Run builds the benchmarks, runs them in rounds that alternate, keeps what they
// print in DIR/bench.txt, and the table as JSON in DIR/bench.json. Show prints the
// table of such a text. Compare runs the benchmarks of two commits in turn, and
// prints what benchstat makes of them.
//
// It exits with 1 if something could not be run. A goal that is not met is
// printed, and is no error: machines are noisy.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
)

const usage = `usage: ratio run [-rounds N] [-benchtime D] [-bench REGEXP] [-out DIR]
       ratio show FILE
       ratio compare [-rounds N] [-benchtime D] [-bench REGEXP] OLD [NEW]
`

// errUsage says that the arguments make no sense.
var errUsage = errors.New("see usage")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	switch err := run(ctx, os.Args[1:]); {
	case errors.Is(err, errUsage):
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "ratio:", err)
		os.Exit(1)
	}
}

// options are those of all commands.
type options struct {
	rounds    int
	benchtime string
	bench     *regexp.Regexp
	out       string // a directory
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	var o options
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.SetOutput(os.Stderr)
	flags.IntVar(&o.rounds, "rounds", 5, "how often each benchmark is run")
	flags.StringVar(&o.benchtime, "benchtime", "500ms", "of one benchmark in one round")
	flags.StringVar(&o.out, "out", "bin", "the directory that the results go to")
	bench := flags.String("bench", ".", "which benchmarks, a regular expression")
	if err := flags.Parse(args[1:]); err != nil {
		return errUsage
	}
	var err error
	if o.bench, err = regexp.Compile(*bench); err != nil {
		return fmt.Errorf("-bench: %w", err)
	}
	if o.rounds < 1 {
		return errors.New("-rounds: at least 1")
	}
	switch rest := flags.Args(); {
	case args[0] == "run" && len(rest) == 0:
		return benchmark(ctx, o)
	case args[0] == "show" && len(rest) == 1:
		return show(ctx, rest[0], "")
	case args[0] == "compare" && len(rest) == 1:
		return compare(ctx, o, rest[0], "HEAD")
	case args[0] == "compare" && len(rest) == 2:
		return compare(ctx, o, rest[0], rest[1])
	}
	return errUsage
}

// show prints the table of what benchmarks printed to the file at path, and
// writes it as JSON to another, unless that is "".
func show(ctx context.Context, path, jsonPath string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	res, keys, err := parse(f)
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	r := reportOf(rows, res, keys)
	if len(r.Rows) == 0 {
		return fmt.Errorf("%s holds none of the benchmarks that are compared", path)
	}
	r.print(os.Stdout)
	if jsonPath == "" {
		return nil
	}
	return r.writeJSON(jsonPath)
}

// benchmark runs the benchmarks of the table, and shows it.
func benchmark(ctx context.Context, o options) error {
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	text := filepath.Join(o.out, "bench.txt")
	failed := runUnits(ctx, o, text)
	return errors.Join(show(ctx, text, filepath.Join(o.out, "bench.json")), failed)
}
