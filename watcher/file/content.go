package file

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/meshvip/coredns-meshvip/watcher"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
)

// content is what the bytes of a file say, given what the file said before.
type content struct {
	resources []watcher.Resource
	problems  []watcher.Problem
	// unknown says that a document was set aside of which no good version is
	// known.
	unknown bool
}

var errEmpty = errors.New("the file is empty and counts as cut short: write its resources again, or a comment if it is meant to hold none, or remove it")

// interpret reads the bytes of the file at path. before is what the file
// declares so far. The error says that the bytes as a whole cannot be read.
func interpret(path string, data []byte, before []watcher.Resource, home kuma.Home) (content, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return content{}, errEmpty
	}
	resources, invalid, err := kuma.Decode(data)
	if err != nil {
		return content{}, err
	}
	var c content
	for _, r := range resources {
		read, problems, err := watcher.Read(r, fmt.Sprintf("%s:%d", path, r.Line), home)
		if err != nil {
			invalid = append(invalid, kuma.Invalid{ID: r.ID, Line: r.Line, Err: err})
			continue
		}
		c.resources = append(c.resources, read)
		c.problems = append(c.problems, problems...)
	}
	c.setAside(path, invalid, before)
	return c, nil
}

// setAside reports the invalid documents and keeps their last good versions.
func (c *content) setAside(path string, invalid []kuma.Invalid, before []watcher.Resource) {
	if len(invalid) == 0 {
		return
	}
	listed := make(map[kuma.ID]bool, len(c.resources))
	for _, r := range c.resources {
		listed[r.ID] = true
	}
	kept := make(map[kuma.ID]bool)
	for _, inv := range invalid {
		known := false
		for _, r := range before {
			if listed[r.ID] || !inv.ID.Covers(r.ID) {
				continue
			}
			known = true
			if !kept[r.ID] {
				kept[r.ID] = true
				c.resources = append(c.resources, r)
			}
		}
		if !known && errors.Is(inv.Err, kuma.ErrForeign) {
			continue // nothing of ours, then
		}
		state := "it is set aside"
		if known {
			state = "its last good version stays"
		} else {
			c.unknown = true
		}
		c.problems = append(c.problems, watcher.Problem{
			Place: fmt.Sprintf("%s:%d", path, inv.Line),
			What:  fmt.Sprintf("%s: %v (%s)", inv.ID, inv.Err, state),
		})
	}
}
