package main

import (
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
)

// restoreReport is what a restore did, or would do.
type restoreReport struct {
	Store   string `json:"store"`
	Backup  string `json:"backup"`
	Written bool   `json:"written"`
	// Kept is where the store that was replaced is.
	Kept string `json:"kept,omitempty"`
	// Exact: the store that is replaced told what was given since the backup.
	// Lost says why it could not be read; empty too where there was none.
	Exact bool   `json:"exact"`
	Lost  string `json:"lost,omitempty"`

	Serial    uint32             `json:"serial"`
	Entries   int                `json:"entries"`
	Released  int                `json:"released"`
	Displaced []displaced        `json:"displaced"`
	Withheld  []quarantinedRange `json:"quarantined"`
	Mended    []string           `json:"mended"`
	there     bool
	cooldown  time.Duration
}

// displaced is an entry that does not have the address of the backup.
type displaced struct {
	Entry string     `json:"entry"`
	From  netip.Addr `json:"from"`
	To    netip.Addr `json:"to,omitzero"`
	Why   string     `json:"why"`
}

// quarantinedRange are addresses that nobody gets for a while.
type quarantinedRange struct {
	Range string `json:"range"`
	// Seconds is for how long, counted while a server runs.
	Seconds float64 `json:"seconds"`
}

func newRestoreReport(path, from string, old standingStore, done allocator.Restored, cooldown time.Duration) restoreReport {
	r := restoreReport{
		Store: path, Backup: from, Exact: done.Exact, Serial: done.Serial, Entries: done.Entries, Released: done.Released,
		Displaced: []displaced{}, Withheld: []quarantinedRange{}, Mended: []string{}, there: old.there, cooldown: cooldown,
	}
	if old.lost != nil {
		r.Lost = old.lost.Error()
	}
	for _, d := range done.Displaced {
		r.Displaced = append(r.Displaced, displaced{d.Key.String(), d.From, d.To, d.Why})
	}
	for _, q := range done.Quarantined {
		r.Withheld = append(r.Withheld, quarantinedRange{q.Range.String(), (q.Until - done.Clock).Seconds()})
	}
	for _, m := range done.Mended {
		what := m.What
		if m.Addr.IsValid() {
			what = m.Addr.String() + ": " + what
		}
		if m.Key != (vip.Key{}) {
			what = m.Key.String() + ": " + what
		}
		r.Mended = append(r.Mended, what)
	}
	return r
}

// text writes the report as somebody reads it who has just lost a table.
func (r restoreReport) text(p *page) {
	if n := len(r.Displaced); n > 0 {
		p.title("%d of %s do not get the backup's address", n, count(r.Entries, "entry"))
	}
	if r.Written {
		p.line("restored %s from %s to %s, serial %d", count(r.Entries, "entry"), r.Backup, r.Store, r.Serial)
	} else {
		p.line("would restore %s from %s to %s, serial %d; nothing was written", count(r.Entries, "entry"), r.Backup, r.Store, r.Serial)
	}
	if r.Kept != "" {
		p.line("the store that was there is kept as %s", r.Kept)
	}
	switch {
	case r.Exact:
		p.line("the store that is replaced tells all that was given since the backup")
	case r.Lost != "":
		p.line("the store that is replaced cannot be read, so what was given since the backup is not known: %s", r.Lost)
	case r.there:
		p.line("the store that is replaced is another, or older than the backup: what was given since is not known")
	default:
		p.line("there was no store, so what was given since the backup is not known")
	}
	if r.Released > 0 {
		p.line("%s without an entry cool down from now on", count(r.Released, "address"))
	}
	for _, q := range r.Withheld {
		p.line("%s goes to nobody but who had it before, for %s of the server's running time: somebody may know it still",
			q.Range, span(seconds(q.Seconds)))
	}
	for _, m := range r.Mended {
		p.line("mended in the backup: %s", m)
	}
	if len(r.Displaced) == 0 {
		return
	}
	p.line("")
	p.title("%s without the address of the backup", count(len(r.Displaced), "entry"))
	g := &grid{columns: []column{{head: "ENTRY", cut: true}, {head: "IN THE BACKUP"}, {head: "NOW"}, {head: "WHY", wrap: true}}}
	for _, d := range r.Displaced {
		g.add(d.Entry, d.From.String(), addrOrNone(d.To.IsValid(), d.To), d.Why)
	}
	p.grid(g)
}

// keepFile gives the file at path a second name, or copies it where a file system
// has no hard links. It is on disk when keepFile returns.
func keepFile(path, as string) error {
	if err := os.Link(path, as); err == nil {
		return syncDir(filepath.Dir(as))
	} else if errors.Is(err, os.ErrExist) {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return replaceFile(as, func(w io.Writer) error { _, err := io.Copy(w, f); return err })
}
