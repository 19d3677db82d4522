package kuma

import (
	"fmt"
	"time"
)

// Labels that Kuma puts on resources.
const (
	labelMesh        = "kuma.io/mesh"
	labelZone        = "kuma.io/zone"
	labelOrigin      = "kuma.io/origin"
	labelEnvironment = "kuma.io/env"
	labelDisplayName = "kuma.io/display-name"
	labelNamespace   = "k8s.kuma.io/namespace"
)

// originZone is the origin of what was made in our own zone.
const originZone = "zone"

// metadata is what a document says of its resource as a whole.
type metadata struct {
	object           // the mapping that has it
	timeKey   string // of the time at which the resource was made
	env       string // the environment that has documents of this form
	name      string // without the namespace
	namespace string // empty in the Universal form
}

// created returns when the resource was made, the zero time where that is not
// known: resource files that somebody wrote do not say. A time that is none is
// a fault.
func (m metadata) created() time.Time {
	text, err := m.text(m.timeKey)
	if err != nil {
		m.faults.add(err)
		return time.Time{}
	}
	if text == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		m.fault(m.timeKey, fmt.Errorf("%.60q is no time: write one as in 2026-01-31T12:00:00Z", text))
		return time.Time{}
	}
	return t.UTC()
}

// labels returns the labels of the resource. One that is no text is a fault.
func (m metadata) labels() map[string]string {
	all, _, err := m.object.object("labels")
	if err != nil {
		m.faults.add(err)
		return nil
	}
	labels := make(map[string]string, len(all.m))
	for _, key := range sortedKeys(all.m) {
		if all.m[key] == nil {
			continue
		}
		value, err := all.text(key)
		if err != nil {
			all.faults.add(err)
			continue
		}
		labels[key] = value
	}
	return labels
}
