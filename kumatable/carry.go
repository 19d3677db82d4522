package kumatable

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/meshvip/coredns-meshvip/vip"
)

// SetAside is the error of entries that a text cannot carry, one error for each,
// which names it. What was encoded or written beside it is whole but for them:
// there is nothing to try again before the entries change.
type SetAside []error

// shown is how many of its errors a SetAside tells in full.
const shown = 3

// Error tells the first few of the errors, and how many there are.
func (s SetAside) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d left out: ", len(s))
	for i, err := range s[:min(len(s), shown)] {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(err.Error())
	}
	if n := len(s) - shown; n > 0 {
		fmt.Fprintf(&b, "; and %d more", n)
	}
	return b.String()
}

// Unwrap returns the errors of the entries.
func (s SetAside) Unwrap() []error { return s }

// asError returns s, or nil where it has no errors.
func (s SetAside) asError() error {
	if len(s) == 0 {
		return nil
	}
	return s
}

// errNotUTF8 says of an entry what JSON and YAML cannot carry.
var errNotUTF8 = errors.New("is not UTF-8, which JSON and YAML need; correct it in the resource that gives it")

// spelled returns r's entry in l's spelling.
func spelled(r *vip.Row, l vip.Listing) vip.Entry {
	e := r.Entry
	e.Name = l.Name
	return e
}

// Carriable returns an error that names r's entry if no JSON or YAML can carry
// what l, one of its listings, says of it.
func Carriable(r *vip.Row, l vip.Listing) error {
	e := spelled(r, l)
	if err := e.Validate(); err != nil {
		return fmt.Errorf("entry %.80q: %w", e, err)
	}
	if !utf8.ValidString(e.Name) {
		return fmt.Errorf("entry %.80q: its name %w", e, errNotUTF8)
	}
	for _, o := range l.Outbounds {
		if !utf8.ValidString(o.Origin) {
			return fmt.Errorf("entry %.80q: the origin %.80q %w", e, o.Origin, errNotUTF8)
		}
		for _, t := range o.Tags {
			if !utf8.ValidString(t.Key) || !utf8.ValidString(t.Value) {
				return fmt.Errorf("entry %.80q: the tag %.80q %w", e, t.Key+"="+t.Value, errNotUTF8)
			}
		}
	}
	return nil
}

// listed calls do for each row that mesh lists and that a table can carry, and
// returns what is wrong with the others, and what do says is. Kinds that are
// keyed by their mesh are passed over: Kuma's tables do not know them.
func listed(mesh string, rows []*vip.Row, do func(*vip.Row, vip.Listing) error) SetAside {
	var aside SetAside
	for _, r := range rows {
		l, ok := r.Listing(mesh)
		if !ok || r.Entry.Kind.OfMesh() {
			continue
		}
		err := Carriable(r, l)
		if err == nil {
			err = do(r, l)
		}
		if err != nil {
			aside = append(aside, err)
		}
	}
	return aside
}
