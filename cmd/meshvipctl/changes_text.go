package main

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/meshvip/coredns-meshvip/admin"
)

// changeText writes one line for each thing that a commit did: when, which
// change, what.
func changeText(p *page, c admin.Change) {
	for _, e := range c.Events {
		p.line("%s  %s  %s", stamp(c.Time), c.ID, eventWords(e))
	}
	if len(c.Events) == 0 {
		p.line("%s  %s  nothing that entries see", stamp(c.Time), c.ID)
	}
}

// eventWords says what happened, the entry or mesh first.
func eventWords(e admin.Event) string {
	switch e.What {
	case admin.Allocated:
		return fmt.Sprintf("%s got %v", e.Entry, e.To)
	case admin.Returned:
		return fmt.Sprintf("%s got %v back", e.Entry, e.To)
	case admin.ReleasedAddr:
		return fmt.Sprintf("%s gave up %v", e.Entry, e.From)
	case admin.Moved:
		return strings.TrimSuffix(fmt.Sprintf("%s moved from %v to %v: %s", e.Entry, e.From, e.To, e.Why), ": ")
	case admin.Listed:
		return fmt.Sprintf("%s listed by mesh %s", e.Entry, e.Mesh)
	case admin.Unlisted:
		return fmt.Sprintf("%s no longer listed by mesh %s", e.Entry, e.Mesh)
	case admin.Changed:
		return fmt.Sprintf("%s changed by mesh %s", e.Entry, e.Mesh)
	case admin.GivenChanged:
		return fmt.Sprintf("%s given %s by Kuma", e.Entry, givenWords(e.Given))
	case admin.Forgotten:
		return fmt.Sprintf("%s no longer remembered at %v", e.Entry, e.From)
	case admin.MeshCreated:
		return fmt.Sprintf("mesh %s has a table", e.Mesh)
	case admin.MeshGone:
		return fmt.Sprintf("mesh %s has no table any more", e.Mesh)
	}
	// A newer server tells of more.
	return joined(" ", e.Entry, e.Mesh, e.What)
}

func givenWords(given []netip.Addr) string {
	if len(given) == 0 {
		return "nothing"
	}
	return strings.Join(addresses(given), ", ")
}
