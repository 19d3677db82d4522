package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// tool returns the whole tool as a test has it.
func tool() *cobra.Command {
	return newRoot(newSession(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}, func(string) string { return "" }))
}

func TestEveryCommandSaysWhatItDoesWithExamples(t *testing.T) {
	t.Parallel()
	for _, cmd := range tool().Commands() {
		name := cmd.Name()
		if cmd.Short == "" || cmd.Long == "" || cmd.GroupID == "" && name != "version" {
			t.Errorf("%s: a short text, a long one and a group are missing, or one of them", name)
		}
		if strings.HasSuffix(cmd.Short, ".") || len(cmd.Short) > 66 {
			t.Errorf("%s: %q is not short", name, cmd.Short)
		}
		if n := strings.Count(cmd.Example, "meshvipctl "); n < 2 {
			t.Errorf("%s has %d examples, want 2 or more", name, n)
		}
		for line := range strings.SplitSeq(cmd.Long+"\n"+cmd.Example, "\n") {
			if columns(line) > 80 {
				t.Errorf("%s: wider than 80 columns: %s", name, line)
			}
		}
	}
}

func TestTheHelpFitsATerminal(t *testing.T) {
	t.Parallel()
	root := tool()
	for _, cmd := range append(root.Commands(), root) {
		for line := range strings.SplitSeq(cmd.UsageString(), "\n") {
			if columns(line) > 80 {
				t.Errorf("%s: wider than 80 columns: %s", cmd.Name(), line)
			}
		}
	}
}

func TestTheExamplesOfTheHelpAreUnderstood(t *testing.T) {
	t.Parallel()
	examples := tool().Example
	for _, cmd := range tool().Commands() {
		examples += "\n" + cmd.Example
	}
	examples += "\n" + fenced(readme(t))
	for line := range strings.SplitSeq(examples, "\n") {
		i := strings.Index(line, "meshvipctl ")
		if i < 0 {
			continue
		}
		line, _, _ = strings.Cut(line[i:], " #")
		words := strings.Fields(line)[1:]
		for i, w := range words {
			if w == "|" || w == "||" || w == "&&" || strings.HasPrefix(w, ">") || strings.HasPrefix(w, "2>") {
				words = words[:i]
				break
			}
		}
		cmd, args, err := tool().Find(words)
		if err == nil {
			err = cmd.ParseFlags(args)
		}
		if err == nil {
			err = cmd.ValidateArgs(cmd.Flags().Args())
		}
		if err != nil || !cmd.HasParent() && len(words) > 1 {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func readme(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// fenced returns what stands in the code blocks of a document.
func fenced(doc string) string {
	var b strings.Builder
	for i, part := range strings.Split(doc, "```") {
		if i%2 == 1 {
			b.WriteString(part)
		}
	}
	return b.String()
}

func TestTheREADMENamesEveryCommandFlagAndExitCode(t *testing.T) {
	t.Parallel()
	doc := readme(t)
	for _, cmd := range tool().Commands() {
		// | `table` | List entries ... |
		if row := fmt.Sprintf("| `%s` | %s |", cmd.Name(), cmd.Short); !strings.Contains(doc, row) {
			t.Errorf("the README lacks the row %s", row)
		}
	}
	if !strings.Contains(doc, rootExitCodes) {
		t.Errorf("the README lacks what --help says of exit codes:\n%s", rootExitCodes)
	}
	_, find, _ := strings.Cut(rootLong, "that is given:\n\n")
	find, _, _ = strings.Cut(find, "\n\n")
	if !strings.Contains(doc, find) {
		t.Errorf("the README lacks what --help says of finding a table:\n%s", find)
	}
}

func TestTheExitCodesAreThoseOfTheHelp(t *testing.T) {
	t.Parallel()
	for code, words := range map[int]string{
		codeOK: "done", codeWrong: "is not as it should be", codeUsage: "command line", codeUnopened: "cannot be reached", codeNotFound: "is not there",
		codeInterrupted: "a signal ended it",
	} {
		found := false
		for line := range strings.SplitSeq(rootExitCodes, "\n") {
			found = found || strings.HasPrefix(line, fmt.Sprintf("%3d  ", code)) && strings.Contains(line, words)
		}
		if !found {
			t.Errorf("the help does not say of exit code %d that something %s", code, words)
		}
	}
}
