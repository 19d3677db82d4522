// Package test tests the whole from end to end: the real binary, built from
// this tree, asked over real sockets, fed with real files, and killed.
package test
