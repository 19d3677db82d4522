package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/spf13/cobra"
)

// restoreOptions are the flags of restore.
type restoreOptions struct {
	over, otherStore bool
	dryRun           bool
	givenSince       uint64
	knowsGiven       bool
	cooldown         time.Duration
}

func restoreCommand(s *session) *cobra.Command {
	var o restoreOptions
	c := &cobra.Command{
		Use:     "restore BACKUP",
		GroupID: groupOffline,
		Short:   "Make a store of a backup, and give no address to the wrong entry",
		Long: `restore makes the store that --store or the Corefile names of a backup; "-" is
standard input. The server must not run. With --over it replaces a store that is
there, and keeps that as PATH.before-restore-TIME. One that has another id than
the backup is the store of another table, or was made anew since; it is replaced
only with --other-store.

Where the Corefile has "store etcd", the table is made there: under a prefix
that has none, while no replica stands for election.

Clients may still know addresses that were given after the backup was made, so
more is done than to write it back: the serial goes on rising, and no address
goes to another entry before a cooldown has passed.

  - Where the store that is replaced can be read, it tells what was given since:
    these addresses cool down. An entry whose address somebody else got since
    keeps what it has there.
  - Where it is lost, the addresses that the pools would have given next are
    kept from everybody for a cooldown: 65,536 of each pool, or a quarter of
    what was left of it; --given-since says how many there were at most.

What was done is told in words; --dry-run tells it and writes nothing.`,
		Example: `  meshvipctl restore backup.json --corefile Corefile --over
  meshvipctl restore backup.json --store meshvip.db --given-since 500
  gunzip -c backup.json.gz | meshvipctl restore - --store new.db --dry-run`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.knowsGiven = c.Flags().Changed("given-since")
			return s.restore(c.Context(), o, args[0])
		},
	}
	f := c.Flags()
	f.BoolVar(&o.over, "over", false, "replace the store that is there, and keep it beside")
	f.BoolVar(&o.otherStore, "other-store", false, "replace it although it is not the store of the backup")
	f.BoolVar(&o.dryRun, "dry-run", false, "tell what would be done, and write nothing")
	f.Uint64Var(&o.givenSince, "given-since", 0, "most `addresses` a pool gave since the backup")
	f.DurationVar(&o.cooldown, "cooldown", 0, "cooldown of the table (default: Corefile's, or 24h)")
	return c
}

// restore carries out one restore.
func (s *session) restore(ctx context.Context, o restoreOptions, from string) error {
	r, to, err := s.restoration(o)
	if err != nil {
		return err
	}
	backup, err := s.readBackup(from)
	if err != nil {
		return err
	}
	path := to.place()
	old, err := s.found(ctx, to)
	if err != nil {
		return err
	}
	if to.etcd != nil && old.there && !o.dryRun {
		return notReplaced(to, from)
	}
	if old.there && !o.over && !o.dryRun {
		return wrong("there is a store at %s: to replace it give --over, which keeps it beside; \"meshvipctl diff %s %s\" tells how the two differ",
			path, from, path)
	}
	other := o.refused(path, from, old, backup)
	if other != nil && !o.dryRun {
		return other
	}
	if len(r.Layout.Pools) == 0 {
		r.Layout = layoutOf(backup.Meta)
	}
	state, done := allocator.Restore(backup, old.state, r)
	if err := allocator.Check(state); err != nil {
		return unopened("the table that %s would become breaks rules, so nothing is written: %w", from, err)
	}
	report := newRestoreReport(path, from, old, done, r.Cooldown)
	if !o.dryRun {
		if to.etcd != nil {
			err = s.makeEtcd(ctx, to, state, r.Cooldown)
		} else {
			report.Kept, err = old.replace(path, "restore", state)
		}
		if err != nil {
			return unopened("%w", err)
		}
		report.Written = true
	}
	if err := s.print(report, report.text); err != nil {
		return err
	}
	if to.etcd != nil && old.there {
		return notReplaced(to, from)
	}
	return other
}

// refused is the error of a backup that is to replace the store of another table,
// nil if it may.
func (o restoreOptions) refused(path, from string, old standingStore, backup allocator.State) error {
	if old.state == nil || o.otherStore || old.state.Meta.ID == backup.Meta.ID {
		return nil
	}
	return wrong("the store %s is not the one that %s is a backup of: its id is %s, and the backup's is %s;"+
		" give the backup of this store, or --other-store to replace it all the same",
		path, from, orNone(old.state.Meta.ID), orNone(backup.Meta.ID))
}

// restoration returns how to restore, and which store, by the flags and the
// Corefile.
func (s *session) restoration(o restoreOptions) (allocator.Restoration, target, error) {
	table, err := s.configuredTable()
	if err != nil {
		return allocator.Restoration{}, target{}, err
	}
	r := allocator.Restoration{Now: time.Now(), Cooldown: o.cooldown, Layout: table.Layout}
	if r.Cooldown == 0 {
		r.Cooldown = table.Cooldown
	}
	if r.Cooldown == 0 {
		r.Cooldown = defaultCooldown
	}
	if o.knowsGiven {
		r.GivenSince = &o.givenSince
	}
	path := cmp.Or(s.store, table.Store)
	switch {
	case table.Etcd != nil && (s.store == "" || named(&table, s.store)):
		return r, target{etcd: table.Etcd, configured: &table}, nil
	case path == "":
		return r, target{}, usage("name the store to make with --store PATH, or the server's Corefile with --corefile PATH")
	}
	return r, target{store: path}, nil
}

// readBackup reads the backup in a file, or from standard input.
func (s *session) readBackup(from string) (allocator.State, error) {
	p := s.progress("reading the backup", 0)
	defer p.end()
	p.at(0)
	if from != stdStream {
		return readBackupFile(from)
	}
	state, err := allocator.ReadBackup(bufio.NewReader(s.in))
	if err != nil {
		return allocator.State{}, unopened("backup from standard input: %w", err)
	}
	return state, nil
}

// layoutOf returns the layout that a table itself tells of.
func layoutOf(m allocator.Meta) allocator.Layout {
	var l allocator.Layout
	for _, p := range m.Pools {
		if !p.Retired {
			l.Pools = append(l.Pools, allocator.Range{Prefix: p.Prefix})
		}
	}
	return l
}

// standingStore is the store that a restore finds.
type standingStore struct {
	there bool
	// state is what it holds, nil where it cannot be read; lost says why.
	state *allocator.State
	lost  error
	info  fs.FileInfo
}

// found reads the store that is to be made, if there is one.
func (s *session) found(ctx context.Context, to target) (standingStore, error) {
	if to.etcd != nil {
		return s.standingEtcd(ctx, to)
	}
	return s.standing(ctx, to.store)
}

// standing reads the store at path, if there is one and no server has it open.
func (s *session) standing(ctx context.Context, path string) (standingStore, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return standingStore{}, nil
	case err != nil:
		return standingStore{}, unopened("%w", err)
	}
	old := standingStore{there: true, info: info}
	store, err := s.openFile(ctx, path, toRead)
	switch {
	case errors.Is(err, allocator.ErrDamaged):
		old.lost = err
		return old, nil
	case err != nil:
		return standingStore{}, refusedStore(path, err)
	}
	state, err := store.Load(ctx)
	if err != nil {
		return standingStore{}, unopened("%w", err)
	}
	old.state = &state
	return old, nil
}

// refusedStore is the error of a store that may not be replaced.
func refusedStore(path string, err error) error {
	if errors.Is(err, allocator.ErrLocked) {
		return unopened("a server has the store %s open: stop it first, for it would go on with the old table", path)
	}
	return unopened("%w", err)
}
