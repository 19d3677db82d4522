// Command meshvipctl is the operator's tool: it looks into the address table of
// meshvip, explains it, and changes in it what only an operator may change.
//
// # How it is built
//
// There is one way to a table: an HTTP client of package admin. What it talks to
// is a server's socket, or the same handler in this process over a store that
// no server has open. So a command knows one API, and looks the same on both.
//
// A command is a function that returns a [cobra.Command] working in a session:
// the streams, the flags that all commands have, and the way to the table. What a
// command shows is a type of package admin, given to session.print with a pure
// function that writes it as text.
//
//	main.go, root.go  the program, its commands, its help
//	exit.go           errors with exit codes
//	session.go        streams and flags
//	connect*.go       finding the table
//	migrate*.go       a table into etcd, and back; statediff.go: what differs
//	output*.go        text tables, JSON, YAML
//	progress.go       how far long work is
//
// Each other file is one command, named after it. Scripts in testdata/script run
// the program and hold what it prints.
package main
