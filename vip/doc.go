// Package vip holds the nouns that the watcher, the allocator and the DNS
// plugin share: what an entry is, what a mesh asks for it, and the row of the
// address table that answers for it.
//
// The model is Kuma's. An entry is a service, a host or a fully qualified
// name, and Kuma writes it as "type:name", for example "0:backend". The same
// entry listed by several meshes is one entry with one virtual IP (VIP).
//
// Values of this package are plain data. A [Row], and all that it points to,
// is immutable once it has been handed to anyone: to change a row, build
// another one. The package imports nothing of this module.
package vip
