package main

import (
	"strings"
	"time"

	"github.com/meshvip/coredns-meshvip/admin"
)

// statusText writes how a server and its table are.
func statusText(p *page, s admin.Status, now time.Time) {
	switch {
	case s.Offline && strings.HasPrefix(s.Store, "etcd "):
		p.title("The table as etcd has it: no server was asked")
	case s.Offline:
		p.title("The store as it lies: no server has it open")
	default:
		p.title("Server %s, up since %s", s.Version, when(s.Started, now))
	}
	p.field("store", "%s", s.Store)
	p.field("store id", "%s", s.StoreID)
	roleText(p, s)
	p.field("serial", "%d, revision %d, generation %d", s.Serial, s.Revision, s.Generation)
	switch {
	case !s.Loaded:
		p.warn("table", "not loaded: the store cannot be opened, and queries are answered with SERVFAIL")
	case !s.Synced:
		p.warn("table", "loaded; the sources were never read completely, so that nothing is released and an unknown name is no NXDOMAIN")
	default:
		p.field("table", "loaded, and its sources were read completely")
	}
	p.field("entries", "%d in %s", s.Counts.Entries, count(s.Counts.Meshes, "mesh"))
	if len(s.Zones) > 0 {
		p.field("zones", "%s", strings.Join(s.Zones, ", "))
	}
	if s.CooldownSeconds > 0 {
		p.field("cooldown", "%s", span(seconds(s.CooldownSeconds)))
	}
	if s.MaxRelease != "" {
		p.field("max_release", "%s", s.MaxRelease)
	}
	if s.Confirm != "" {
		p.field("confirm", "%s", s.Confirm)
	}
	attention(p, s.Counts)
}

// roleText writes which part a server has in a table that several have.
func roleText(p *page, s admin.Status) {
	const nobody = "none leads at present: nothing new is allocated"
	switch {
	case s.Role == admin.Leads:
		p.field("role", "leader: it allocates, and all other replicas follow it")
	case s.Role == admin.Follower && s.Leader != "":
		p.field("role", "follower of %s, which allocates", s.Leader)
	case s.Role == admin.Follower:
		p.warn("role", "follower, and %s", nobody)
	case s.Leader != "":
		p.field("leader", "%s allocates", s.Leader)
	case s.Offline && strings.HasPrefix(s.Store, "etcd "):
		p.warn("leader", nobody)
	}
	if s.ContactAgeSeconds == nil {
		return
	}
	lag := uint64(0)
	if s.LagRevisions != nil {
		lag = *s.LagRevisions
	}
	p.field("in step", "%s behind; known to be as etcd has it %s ago", count(lag, "revision"), span(seconds(*s.ContactAgeSeconds)))
}

// attention writes what of the counts an operator should look at, and with what.
func attention(p *page, c admin.Counts) {
	tell := func(n int, noun, what, command string) {
		if n > 0 {
			p.warn("attention", "%s %s: meshvipctl %s", count(n, noun), what, command)
		}
	}
	tell(c.Waiting, "entry", "without an address", "conflicts")
	tell(c.Refused, "static address", "not had by those they are for", "conflicts")
	tell(c.Held, "entry", "no longer listed, and kept", "release")
	tell(c.Moves, "move", "waiting for a word", "plan")
	tell(c.Damaged, "damaged record", "set aside", "conflicts")
	if c.Repaired > 0 {
		p.field("repaired", "%s since the start, each of which is in the log", count(c.Repaired, "step"))
	}
}
