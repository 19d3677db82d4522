package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/meshvip/coredns-meshvip/admin"
	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/spf13/cobra"
)

func verifyCommand(s *session) *cobra.Command {
	return &cobra.Command{
		Use:     "verify [FILE...]",
		GroupID: groupOffline,
		Short:   "Verify that a table breaks none of its rules",
		Long: `verify reads a table back from its store and holds it against the rules that a
table must keep: one owner an address, one address an entry and family, nothing
outside the pools, and the like. It changes nothing.

It verifies the table that the flags name, or the FILEs: stores (through their
server where one has them open) and backups. Each breach is a line; the exit
code is 1 if there is any, also where a file is empty, no table, or too damaged
to be read. Every FILE is looked at: if one is missing, or may not be read, that
is its line, and the exit code is 3.`,
		Example: `  meshvipctl verify
  meshvipctl verify /var/lib/meshvip/meshvip.db
  meshvipctl verify backup-*.json`,
		RunE: func(c *cobra.Command, paths []string) error { return s.verify(c.Context(), paths) },
	}
}

// verified is what verify found of one table.
type verified struct {
	Table string `json:"table"`
	OK    bool   `json:"ok"`
	// Unread: it could not be reached or opened, and the one breach says why.
	Unread bool `json:"unread,omitempty"`
	// Breaches are what is wrong, one a line.
	Breaches []string `json:"breaches"`
	Entries  int      `json:"entries"`
	Serial   uint32   `json:"serial"`
	Revision uint64   `json:"revision"`
}

// verify verifies the tables at paths, or the one that the flags name.
func (s *session) verify(ctx context.Context, paths []string) error {
	var found []verified
	if len(paths) == 0 {
		v, err := s.verifyTable(ctx)
		if err != nil {
			return err
		}
		found = append(found, v)
	}
	code := codeOK
	for _, path := range paths {
		v, err := s.verifyFile(ctx, path)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			v = verified{Table: path, Unread: true, Breaches: []string{reason(err)}}
			code = codeUnopened
		}
		found = append(found, v)
	}
	for _, v := range found {
		if !v.OK {
			code = max(code, codeWrong)
		}
	}
	if err := s.print(found, func(p *page) { verifiedText(p, found) }); err != nil || code == codeOK {
		return err
	}
	return &exitError{code, errFound} // the output has said it
}

// reason returns what an error says of a file, without its name where it is that
// of one.
func reason(err error) string {
	var of *fs.PathError
	if errors.As(err, &of) {
		return of.Err.Error()
	}
	return err.Error()
}

// verifyTable verifies the table that the session names.
func (s *session) verifyTable(ctx context.Context) (verified, error) {
	c, err := s.connect(ctx, toRead)
	switch {
	case errors.Is(err, allocator.ErrDamaged):
		t, _ := s.find() // which went well before
		return verified{Table: cmp.Or(s.store, t.place()), Breaches: []string{err.Error()}}, nil
	case err != nil:
		return verified{}, err
	}
	v := verified{Table: cmp.Or(s.store, c.status.Store), Entries: c.status.Counts.Entries}
	done := s.progress("reading the store back", 0)
	got, err := c.Verify(ctx)
	done.end()
	if err != nil {
		return verified{}, unopened("%w", err)
	}
	v.Breaches, v.Serial, v.Revision = got.Breaches, got.Serial, got.Revision
	aside, err := c.Conflicts(ctx, 0)
	if err != nil {
		return verified{}, unopened("%w", err)
	}
	v.Breaches = append(v.Breaches, damagedLines(aside)...)
	v.OK = len(v.Breaches) == 0
	return v, nil
}

// damagedLines says which records of a store could not be read: no breach of
// what is left, but of what was stored.
func damagedLines(c admin.Conflicts) []string {
	lines := make([]string, 0, len(c.Damaged))
	for _, d := range c.Damaged {
		lines = append(lines, fmt.Sprintf("record %s cannot be read and is set aside: %s", d.Record, d.Error))
	}
	if n := c.DamagedCount - len(c.Damaged); n > 0 {
		lines = append(lines, fmt.Sprintf("and %s more that cannot be read", count(n, "record")))
	}
	return lines
}

// verifyFile verifies a store file or a backup.
func (s *session) verifyFile(ctx context.Context, path string) (verified, error) {
	kind, err := kindOf(path)
	switch {
	case err != nil:
		return verified{}, unopened("%w", err)
	case kind == kindTable:
		return verified{Table: path, Breaches: []string{"it is empty, or neither a store nor a backup of one" +
			" (what a table of Kuma's would become, \"meshvipctl import --dry-run\" tells)"}}, nil
	case kind == kindStore:
		own := *s
		own.admin, own.corefile, own.store, own.open = "", "", path, nil
		v, err := own.verifyTable(ctx)
		return v, errors.Join(err, own.close())
	}
	state, err := readBackupFile(path)
	if err != nil {
		return verified{Table: path, Breaches: []string{err.Error()}}, nil
	}
	v := verified{
		Table: "backup " + path, Entries: len(state.Rows), Serial: state.Meta.Serial, Revision: state.Meta.Revision,
		Breaches: breaches(state),
	}
	v.OK = len(v.Breaches) == 0
	return v, nil
}

// breaches returns what is wrong with a state, one a line.
func breaches(state allocator.State) []string {
	lines := []string{}
	if err := allocator.Check(state); err != nil {
		lines = strings.Split(err.Error(), "\n")
	}
	for _, d := range state.Damaged {
		lines = append(lines, fmt.Sprintf("record %s could not be read: %v", d.Place, d.Err))
	}
	return lines
}

// verifiedText writes what was found of each table.
func verifiedText(p *page, found []verified) {
	for _, v := range found {
		for _, b := range v.Breaches {
			p.line("%s: %s", v.Table, b)
		}
		if v.OK {
			p.line("%s: sound: %s, serial %d, revision %d", v.Table, count(v.Entries, "entry"), v.Serial, v.Revision)
		}
	}
}
