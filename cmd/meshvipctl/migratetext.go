package main

import (
	"github.com/meshvip/coredns-meshvip/allocator"
)

// How a migration ended.
const (
	migratePlanned = "planned" // nothing was written, for none was to be
	migrateRefused = "refused" // nothing was written, for there is something else
	migrateDone    = "done"
	migrateThere   = "there" // all of it was there already
)

// migrateReport is what a migration did, or would do.
type migrateReport struct {
	From    string `json:"from"`
	To      string `json:"to"`
	Outcome string `json:"outcome"`
	// Kept is where the file that was replaced is.
	Kept string `json:"kept,omitempty"`
	// Leader is the replica that leads, where one does.
	Leader string `json:"leader,omitempty"`

	Entries   int `json:"entries"`
	Meshes    int `json:"meshes"`
	Addresses int `json:"addresses"`
	// Released are those of the addresses that are remembered with their last owner.
	Released int     `json:"released"`
	StoreID  string  `json:"store_id"`
	Serial   uint32  `json:"serial"`
	Revision uint64  `json:"revision"`
	Clock    float64 `json:"clock_seconds"`
	// Same: what is there now was read back, and is the same as the source.
	// Difference is the first thing in which it is not.
	Same       bool   `json:"same"`
	Difference string `json:"difference,omitempty"`
}

func newMigrateReport(from, to string, s allocator.State) *migrateReport {
	r := &migrateReport{
		From: from, To: to, Outcome: migratePlanned,
		Entries: len(s.Rows), Meshes: len(s.Meshes), Addresses: len(s.Addrs),
		StoreID: s.Meta.ID, Serial: s.Meta.Serial, Revision: s.Meta.Revision, Clock: s.Meta.Clock.Seconds(),
	}
	for _, h := range s.Addrs {
		if h.Released {
			r.Released++
		}
	}
	return r
}

// compare notes whether what was read back is the source.
func (r *migrateReport) compare(source, back allocator.State) {
	if source.Meta.ID == "" { // one of an old store, which gets one on the way
		source.Meta.ID = back.Meta.ID
		r.StoreID = back.Meta.ID
	}
	r.Difference = stateDifference(source, back)
	r.Same = r.Difference == ""
}

// text writes the report.
func (r *migrateReport) text(p *page) {
	switch r.Outcome {
	case migrateDone:
		p.title("Migrated %s", count(r.Entries, "entry"))
	case migrateThere:
		p.title("All %s are there already; nothing was written", count(r.Entries, "entry"))
	case migrateRefused:
		p.title("Refused; nothing was written")
	default:
		p.title("Would migrate %s; nothing was written", count(r.Entries, "entry"))
	}
	p.field("from", "%s", r.From)
	p.field("to", "%s", r.To)
	if r.Kept != "" {
		p.field("kept", "what was there, as %s", r.Kept)
	}
	p.field("table", "%s in %s, %s, of which %d are remembered with their last owner",
		count(r.Entries, "entry"), count(r.Meshes, "mesh"), count(r.Addresses, "address"), r.Released)
	p.field("store id", "%s", r.StoreID)
	p.field("serial", "%d, revision %d, clock %s", r.Serial, r.Revision, span(seconds(r.Clock)))
	switch {
	case r.Same:
		p.field("read back", "it is the same, record by record")
	case r.Difference != "":
		p.warn("differs", "%s", r.Difference)
	}
}

// migrateEnd tells of a migration, and ends with err. One whose table differs is
// none.
func (s *session) migrateEnd(r *migrateReport, err error) error {
	if perr := s.print(r, r.text); perr != nil {
		return perr
	}
	if err != nil {
		return err
	}
	switch {
	case r.Outcome != migrateDone:
	case !r.Same:
		return wrong("what was written to %s is not what %s has: do not use it; %s", r.To, r.From, r.Difference)
	case r.Leader == "": // or it is not to be used yet
		s.note("use %s from now on, and no longer %s: two tables give addresses without knowing of each other", r.To, r.From)
	}
	return nil
}
