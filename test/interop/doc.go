// Package interop tests the server among other DNS software: the clients,
// resolvers, secondaries and validators that people have. Each test starts
// what it needs as its own children, on free ports of 127.0.0.1, with
// configuration in a temporary directory, and ends them.
//
// "make interop" installs the software on Debian and runs the tests. Where a
// program is missing, its tests are skipped and say so, unless MESHVIP_INTEROP
// is "require", as "make interop" sets it where it could install.
package interop
