package vip

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Kind says what sort of thing an entry is. The numbers are Kuma's
// (pkg/dns/vips, EntryType) and stand in persisted tables.
type Kind uint8

// The kinds of entries.
const (
	// Service is a Kuma service tag: it answers below every zone served.
	Service Kind = 0
	// Host is the host of an ExternalService: it answers as it is written.
	Host Kind = 1
	// FQDN is a full name that somebody wrote or generated: it answers as it
	// is written, and comes before a host or a service of the same name.
	FQDN Kind = 2
	// MeshService, MeshExternalService and MeshMultiZoneService are the kinds
	// of Kuma's newer model: keyed by their mesh too, with hostnames that are
	// told ([Terms]), and often with addresses that Kuma gave. The numbers are
	// our own.
	MeshService          Kind = 3
	MeshExternalService  Kind = 4
	MeshMultiZoneService Kind = 5
)

// Valid reports whether k is a kind that this version knows.
func (k Kind) Valid() bool { return k <= MeshMultiZoneService }

// OfMesh reports whether entries of the kind are keyed by their mesh, so that
// equal names in two meshes are two entries.
func (k Kind) OfMesh() bool { return k >= MeshService && k.Valid() }

// String returns the kind in words, as logs show it.
func (k Kind) String() string {
	switch k {
	case Service:
		return "service"
	case Host:
		return "host"
	case FQDN:
		return "fqdn"
	case MeshService:
		return "MeshService"
	case MeshExternalService:
		return "MeshExternalService"
	case MeshMultiZoneService:
		return "MeshMultiZoneService"
	}
	return "kind " + strconv.Itoa(int(k))
}

// MaxName is the greatest length of an entry's name in bytes. It is far above
// what DNS can carry (253) and bounds what a resource can put into a table.
const MaxName = 1024

// Errors of [ParseEntry] and [Entry.Validate].
var (
	ErrSyntax    = errors.New("not of the form TYPE:NAME, as in 0:backend, or TYPE:MESH/NAME for types 3 to 5")
	ErrKind      = errors.New("unknown entry type, want 0 (service), 1 (host), 2 (fqdn), or 3 to 5 (MeshService, MeshExternalService, MeshMultiZoneService)")
	ErrEmptyName = errors.New("entry has no name")
	ErrMesh      = errors.New("entry has a mesh where its type has none, or none where it has one")
	ErrLongName  = fmt.Errorf("entry name is longer than %d bytes", MaxName)
)

// Entry is one thing that gets a VIP, in somebody's spelling. Two entries that
// differ only in the case of ASCII letters have the same [Key].
type Entry struct {
	Kind Kind
	// Mesh is set for kinds that are keyed by their mesh too ([Kind.OfMesh]),
	// and empty for services, hosts and fqdns, which are one namespace over
	// all meshes.
	Mesh string
	// Name is any non-empty string; it need not be a DNS name, or UTF-8.
	Name string
}

// Key is the identity of an entry, usable as a map key: the entry with the
// ASCII letters of its name in lower case, as DNS compares names (RFC 4343).
type Key Entry

// Key returns the identity of e.
func (e Entry) Key() Key {
	e.Name = Fold(e.Name)
	return Key(e)
}

// String returns Kuma's text form, "0:backend". Kinds that are keyed by their
// mesh, which that form does not know, are written "3:default/backend".
func (e Entry) String() string {
	if e.Kind.OfMesh() {
		return strconv.Itoa(int(e.Kind)) + ":" + e.Mesh + "/" + e.Name
	}
	return strconv.Itoa(int(e.Kind)) + ":" + e.Name
}

// Validate returns ErrKind, ErrEmptyName, ErrLongName or ErrMesh if e cannot be
// in a table.
func (e Entry) Validate() error {
	switch {
	case !e.Kind.Valid():
		return ErrKind
	case e.Name == "":
		return ErrEmptyName
	case len(e.Name) > MaxName:
		return ErrLongName
	case e.Kind.OfMesh() != (e.Mesh != ""):
		return ErrMesh
	}
	return nil
}

// ParseEntry reads the text form of [Entry.String]. The name is everything
// after the first colon, whatever bytes it has; of kinds that are keyed by
// their mesh, everything after the first slash. It returns ErrSyntax, ErrKind,
// ErrEmptyName, ErrLongName or ErrMesh, each wrapped with the offending text.
func ParseEntry(s string) (Entry, error) {
	kind, name, ok := strings.Cut(s, ":")
	if !ok {
		return Entry{}, fmt.Errorf("entry %.80q: %w", s, ErrSyntax)
	}
	n, err := strconv.ParseUint(kind, 10, 8)
	if err != nil || strconv.FormatUint(n, 10) != kind {
		return Entry{}, fmt.Errorf("entry %.80q: %w", s, ErrSyntax)
	}
	e := Entry{Kind: Kind(n), Name: name}
	if e.Kind.OfMesh() {
		if e.Mesh, e.Name, ok = strings.Cut(name, "/"); !ok {
			return Entry{}, fmt.Errorf("entry %.80q: %w", s, ErrSyntax)
		}
	}
	if err := e.Validate(); err != nil {
		return Entry{}, fmt.Errorf("entry %.80q: %w", s, err)
	}
	return e, nil
}

// String returns the key in Kuma's text form.
func (k Key) String() string { return Entry(k).String() }

// Compare orders keys by kind, then name, then mesh. It is the order in which
// addresses are allocated, and the last word between two claims.
func (k Key) Compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Kind, o.Kind), strings.Compare(k.Name, o.Name), strings.Compare(k.Mesh, o.Mesh))
}

// Fold returns s with its ASCII letters in lower case and every other byte as
// it was. It allocates only where there is something to fold.
func Fold(s string) string {
	for i := 0; i < len(s); i++ {
		if c := s[i]; 'A' <= c && c <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if c := b[i]; 'A' <= c && c <= 'Z' {
					b[i] = c + ('a' - 'A')
				}
			}
			return string(b)
		}
	}
	return s
}
