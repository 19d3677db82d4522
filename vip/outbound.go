package vip

import (
	"cmp"
	"slices"
	"strings"
)

// Kuma's origins of an outbound, as its tables (format 3) write them.
const (
	// OriginService marks what a service tag gives.
	OriginService = "service"
	// OriginHostPrefix stands before the name of the ExternalService that
	// gave a host.
	OriginHostPrefix = "external-service:"
)

// ServiceTag is the tag that names a service in Kuma's resources.
const ServiceTag = "kuma.io/service"

// DefaultMesh is the mesh that exists without being declared.
const DefaultMesh = "default"

// Tag is one key and value of an outbound's tags.
type Tag struct{ Key, Value string }

// Outbound is one port on which the proxies of a mesh reach an entry.
type Outbound struct {
	// Port is 1-65535, or 0 where the resource names none; what listens then
	// is Kuma's service port, 80.
	Port uint16
	// Tags select the destination. They are sorted by key.
	Tags []Tag
	// Origin says which resource gave the outbound, in Kuma's words.
	Origin string
}

// NewTags returns the tags of m sorted by key.
func NewTags(m map[string]string) []Tag {
	tags := make([]Tag, 0, len(m))
	for k, v := range m {
		tags = append(tags, Tag{k, v})
	}
	slices.SortFunc(tags, func(a, b Tag) int { return strings.Compare(a.Key, b.Key) })
	return tags
}

// TagMap returns the outbound's tags as a new map.
func (o Outbound) TagMap() map[string]string {
	m := make(map[string]string, len(o.Tags))
	for _, t := range o.Tags {
		m[t.Key] = t.Value
	}
	return m
}

// Compare orders outbounds by port, then origin, then tags.
func (o Outbound) Compare(p Outbound) int {
	return cmp.Or(
		cmp.Compare(o.Port, p.Port),
		strings.Compare(o.Origin, p.Origin),
		slices.CompareFunc(o.Tags, p.Tags, func(a, b Tag) int {
			return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(a.Value, b.Value))
		}),
	)
}

// Equal reports whether o and p are the same outbound.
func (o Outbound) Equal(p Outbound) bool { return o.Compare(p) == 0 }
