// Package admin is the interface by which an operator sees, verifies and steers
// an address table: HTTP and JSON over a unix socket or TCP, and a client of it.
package admin
