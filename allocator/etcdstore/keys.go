package etcdstore

import (
	"errors"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
)

// The keys below a store's prefix, in etcd's order.
const (
	keyAddresses = "addresses/"
	keyEntries   = "entries/"
	keyFormat    = "format"
	keyImport    = "import"
	keyLeader    = "leader/"
	keyMeshes    = "meshes/"
	keyMeta      = "meta"
	keySerial    = "serial"
)

// errKey: a key is none that this store writes.
var errKey = errors.New("no key of a table")

// place is what a key is about.
type place struct {
	in string // one of the constants above
	// addr is set below keyAddresses, mesh below keyMeshes, and key below
	// keyEntries, and below keyMeshes unless it is a mesh's own.
	addr netip.Addr
	mesh string
	key  vip.Key
}

// listing reports whether p is what a mesh says of an entry.
func (p place) listing() bool { return p.in == keyMeshes && p.key.Name != "" }

func addressKey(a netip.Addr) string { return keyAddresses + a.String() }

func entryKey(k vip.Key) string { return keyEntries + keyPath(k) }

func meshKey(mesh string) string { return keyMeshes + url.PathEscape(mesh) }

func listingKey(mesh string, k vip.Key) string { return meshKey(mesh) + "/" + keyPath(k) }

// keyPath writes an entry's key as steps of a path, whatever bytes it has.
func keyPath(k vip.Key) string {
	kind := strconv.Itoa(int(k.Kind)) + "/"
	if k.Kind.OfMesh() {
		kind += url.PathEscape(k.Mesh) + "/"
	}
	return kind + url.PathEscape(k.Name)
}

// parseKey reads a key, without the prefix, that one of the functions above has
// written. Each place has one key: what is written otherwise is none.
func parseKey(key string) (place, error) {
	switch key {
	case keyFormat, keyImport, keyMeta, keySerial:
		return place{in: key}, nil
	}
	area, rest, ok := strings.Cut(key, "/")
	if !ok {
		return place{}, errKey
	}
	p := place{in: area + "/"}
	var err error
	switch p.in {
	case keyLeader:
	case keyAddresses:
		if p.addr, err = netip.ParseAddr(rest); err == nil && (p.addr.Zone() != "" || p.addr.String() != rest) {
			err = errKey
		}
	case keyEntries:
		p.key, err = parsePath(rest)
	case keyMeshes:
		mesh, path, ok := strings.Cut(rest, "/")
		if p.mesh, err = unescape(mesh); err == nil && ok {
			p.key, err = parsePath(path)
		}
	default:
		err = errKey
	}
	if err != nil {
		return place{}, err
	}
	return p, nil
}

// parsePath reads what keyPath wrote.
func parsePath(path string) (vip.Key, error) {
	kind, name, ok := strings.Cut(path, "/")
	n, err := strconv.ParseUint(kind, 10, 8)
	if !ok || err != nil || strconv.FormatUint(n, 10) != kind {
		return vip.Key{}, errKey
	}
	k := vip.Key{Kind: vip.Kind(n)}
	if k.Kind.OfMesh() {
		var mesh string
		if mesh, name, ok = strings.Cut(name, "/"); !ok {
			return vip.Key{}, errKey
		}
		if k.Mesh, err = unescape(mesh); err != nil {
			return vip.Key{}, err
		}
	}
	if k.Name, err = unescape(name); err != nil {
		return vip.Key{}, err
	}
	if err := vip.Entry(k).Validate(); err != nil {
		return vip.Key{}, err
	}
	if vip.Entry(k).Key() != k {
		return vip.Key{}, errKey
	}
	return k, nil
}

// unescape reads a text that was escaped, in the one way in which it is.
func unescape(s string) (string, error) {
	text, err := url.PathUnescape(s)
	if err == nil && url.PathEscape(text) != s {
		err = errKey
	}
	return text, err
}
