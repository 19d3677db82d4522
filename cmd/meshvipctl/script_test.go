package main

import (
	"bytes"
	"maps"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets scripts run the program by its name, as a process of its own.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"meshvipctl": main})
}

// updateScripts, set to anything, writes what the program prints into the scripts'
// golden files.
const updateScripts = "MESHVIP_UPDATE_SCRIPTS"

func TestScripts(t *testing.T) { runScripts(t, "testdata/script", nil) }

// runScripts runs the scripts of a directory, with what set defines for them.
func runScripts(t *testing.T, dir string, set func(env *testscript.Env)) {
	cmds := map[string]func(ts *testscript.TestScript, neg bool, args []string){
		"code":      codeCmd,
		"unchanged": unchangedCmd,
		"await":     awaitCmd,
	}
	maps.Copy(cmds, tableCmds)
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		Cmds:                cmds,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv(updateScripts) != "",
		Setup: func(env *testscript.Env) error {
			// What the machine has set must not decide where a table is looked for.
			env.Setenv(adminVariable, "")
			env.Values[liveKey{}] = make(map[string]*live)
			if set != nil {
				set(env)
			}
			return nil
		},
	})
}

// codeCmd is "code N COMMAND ARGS...": the command ends with the code N.
func codeCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND [ARGS...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = err.Error()[len("exit status "):]
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

// unchangedCmd is "unchanged FILE COPY": the file is what it was when it was
// copied.
func unchangedCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: unchanged FILE COPY")
	}
	a, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	b, err := os.ReadFile(ts.MkAbs(args[1]))
	ts.Check(err)
	if !bytes.Equal(a, b) {
		ts.Fatalf("%s has changed", args[0])
	}
}

// awaitCmd is "await FILE PATTERN": a program that runs writes what matches, sooner
// or later.
func awaitCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: await FILE PATTERN")
	}
	pattern := regexp.MustCompile(args[1])
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for give := time.After(awaited); ; {
		got, _ := os.ReadFile(ts.MkAbs(args[0]))
		if pattern.Match(got) {
			return
		}
		select {
		case <-look.C:
		case <-give:
			ts.Fatalf("%s never had %s:\n%s", args[0], args[1], got)
		}
	}
}

// awaited is how long is waited for what should come at once.
const awaited = 30 * time.Second
