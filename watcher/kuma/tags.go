package kuma

import (
	"encoding/binary"
	"slices"
	"strings"
	"unique"

	"github.com/meshvip/coredns-meshvip/vip"
)

// Tags is a set of tags. It is interned: however many inbounds have a set, it
// is in memory once. Equal sets compare with ==. The zero Tags is no set, which
// is not an empty one.
type Tags struct{ encoded unique.Handle[string] }

// noTags is the empty set.
var noTags = NewTags(nil)

// NewTags returns the set of tags, which are sorted by key, none twice.
func NewTags(tags []vip.Tag) Tags {
	var b []byte
	for _, t := range tags {
		b = appendText(b, t.Key)
		b = appendText(b, t.Value)
	}
	return Tags{unique.Make(string(b))}
}

// appendText appends s with its length before it: a tag may have any byte.
func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// IsZero reports whether t is no set at all.
func (t Tags) IsZero() bool { return t == Tags{} }

// All returns the tags, sorted by key.
func (t Tags) All() []vip.Tag {
	if t.IsZero() {
		return nil
	}
	var tags []vip.Tag
	text := t.encoded.Value()
	next := func() string {
		n, length := binary.Uvarint([]byte(text[:min(len(text), binary.MaxVarintLen64)]))
		s := text[length : length+int(n)]
		text = text[length+int(n):]
		return s
	}
	for text != "" {
		tags = append(tags, vip.Tag{Key: next(), Value: next()})
	}
	return tags
}

// Of returns the tags of t, and that of the service beside them, sorted by key.
func (t Tags) Of(service string) []vip.Tag {
	tags := t.All()
	own := vip.Tag{Key: vip.ServiceTag, Value: service}
	i, _ := slices.BinarySearchFunc(tags, own.Key, compareKey)
	return slices.Insert(tags, i, own)
}

// Compare orders sets, no set first. The order means nothing else.
func (t Tags) Compare(u Tags) int {
	switch {
	case t == u:
		return 0
	case t.IsZero():
		return -1
	case u.IsZero():
		return 1
	}
	return strings.Compare(t.encoded.Value(), u.encoded.Value())
}

// Equal reports whether t and u are the same set.
func (t Tags) Equal(u Tags) bool { return t == u }

func compareKey(t vip.Tag, key string) int { return strings.Compare(t.Key, key) }

// tagOf returns the value of the tag key of tags, which are sorted by key, and
// whether there is one.
func tagOf(tags []vip.Tag, key string) (string, bool) {
	i, ok := slices.BinarySearchFunc(tags, key, compareKey)
	if !ok {
		return "", false
	}
	return tags[i].Value, true
}

// tagsBeside reads the tags of o but for those that name the service and its
// address, which no policy selects by. One that is no text is a fault.
func tagsBeside(o object) Tags {
	if m, ok := o.m["tags"].(map[string]any); !ok || len(m) == 1 && m[vip.ServiceTag] != nil {
		return noTags // as many are, so it costs nothing
	}
	all, _, _ := o.object("tags") // serviceTag has told the error
	var tags []vip.Tag
	for _, key := range sortedKeys(all.m) {
		if key == vip.ServiceTag || key == vip.StaticTag || all.m[key] == nil {
			continue
		}
		value, err := all.text(key)
		if err != nil {
			all.faults.add(err)
			continue
		}
		tags = append(tags, vip.Tag{Key: key, Value: value})
	}
	if len(tags) == 0 {
		return noTags
	}
	return NewTags(tags)
}

// textMap reads the mapping at key, whose values have to be text. A value that
// is null is as good as absent.
func (o object) textMap(key string) ([]vip.Tag, error) {
	all, _, err := o.object(key)
	if err != nil {
		return nil, err
	}
	var tags []vip.Tag
	for _, key := range sortedKeys(all.m) {
		if all.m[key] == nil {
			continue
		}
		value, err := all.text(key)
		if err != nil {
			return nil, err
		}
		tags = append(tags, vip.Tag{Key: key, Value: value})
	}
	return tags, nil
}

func sortedKeys(m map[string]any) []string {
	if len(m) == 0 {
		return nil
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
