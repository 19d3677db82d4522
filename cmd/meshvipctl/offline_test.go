package main

import (
	"os"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"
)

func init() { tableCmds["truncate"] = truncateCmd }

// truncateCmd is "truncate FILE N": the file is cut after N bytes.
func truncateCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: truncate FILE N")
	}
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), n))
}
