package main

import (
	"time"

	"github.com/meshvip/coredns-meshvip/admin"
)

// sourcesText writes how each source fares.
func sourcesText(p *page, s admin.Sources, now time.Time) {
	for i, source := range s.Sources {
		if i > 0 {
			p.line("")
		}
		p.title("%s", source.Name)
		switch {
		case source.LastSync.IsZero():
			p.warn("read", "never, since the server started")
		case !source.Synced:
			p.warn("read", "not completely yet; last %s", when(source.LastSync, now))
		default:
			p.field("read", "%s", when(source.LastSync, now))
		}
		p.field("errors", "%d since the start, %d now", source.Errors, len(source.Problems))
		for _, problem := range source.Problems {
			p.warn("problem", "%s: %s", problem.Place, problem.What)
		}
	}
	if s.Incomplete != "" {
		p.line("")
		p.warn("incomplete", "nothing is released while this is not read: %s", s.Incomplete)
	}
}
