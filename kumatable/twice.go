package kumatable

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// JSON does not say what a key means that an object has twice. Go takes the last
// value, so Kuma does, and so do we: the others never had any effect.

// errTwice is that of a key of the table that another of the same name hides.
var errTwice = errors.New("the table has the key more than once: the last counts, as it does for Kuma; this is another")

// last returns of members with one key the last, and notes the others.
func (d *decoder) last(members []member) []member {
	at := make(map[string]int, len(members))
	for i, m := range members {
		at[m.key] = i
	}
	if len(at) == len(members) {
		return members
	}
	kept := members[:0]
	for i, m := range members {
		if at[m.key] != i {
			d.bad = append(d.bad, RowError{Key: m.key, Offset: m.at, Err: errTwice})
			continue
		}
		kept = append(kept, m)
	}
	return kept
}

// warnTwice notes that an object in m's value, which is JSON, has a key twice.
func (d *decoder) warnTwice(key string, m member) {
	if inner, ok := twice(m.raw(d.text)); ok {
		d.bad = append(d.bad, RowError{
			Key: key, Offset: m.at, Kept: true,
			Err: fmt.Errorf("it has %.40q more than once: the last counts, as it does for Kuma", inner),
		})
	}
}

// twice returns a key that one of the objects in value has twice.
func twice(value []byte) (key string, ok bool) {
	s := scanner{text: value}
	var members []member
	switch {
	case len(value) == 0:
	case value[0] == '{':
		members, _ = s.object()
		if key, ok = sameKey(members); ok {
			return key, true
		}
	case value[0] == '[':
		members, _ = s.list()
	}
	for _, m := range members {
		if key, ok = twice(m.raw(value)); ok {
			return key, true
		}
	}
	return "", false
}

// sameKey returns a key that is there twice. It compares a few keys with each
// other, and sorts many.
func sameKey(members []member) (string, bool) {
	if len(members) > 16 {
		members = slices.Clone(members)
		slices.SortFunc(members, func(x, y member) int { return strings.Compare(x.key, y.key) })
		for i := 1; i < len(members); i++ {
			if members[i].key == members[i-1].key {
				return members[i].key, true
			}
		}
		return "", false
	}
	for i, m := range members {
		for _, n := range members[:i] {
			if m.key == n.key {
				return m.key, true
			}
		}
	}
	return "", false
}
