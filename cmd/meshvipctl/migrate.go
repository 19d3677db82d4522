package main

import (
	"context"
	"errors"
	"io/fs"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/etcdstore"
	"github.com/meshvip/coredns-meshvip/plugin/meshvip"
	"github.com/spf13/cobra"
)

// migrateOptions are the flags of migrate.
type migrateOptions struct {
	from, to        string
	replace, dryRun bool
}

func migrateCommand(s *session) *cobra.Command {
	var o migrateOptions
	c := &cobra.Command{
		Use:     "migrate --from FILE | --to FILE",
		GroupID: groupOffline,
		Short:   "Bring a table from a store file into etcd, or back",
		Long: `migrate brings the whole table of a store file into the etcd that the "store
etcd" of the Corefile states, or with --to from there into a new file. Nothing
moves: all addresses are kept, those that cool down too, and the serial, the
revision, the clock and the id. What was written is read back and compared with
what it was made of; a difference is told, and ends with 1.

Into etcd: stop the server of the file first. The prefix must have no table, or
one that nothing was ever written to, and no replica may stand for election. One
that is stopped midway is begun anew by the next; no server reads what is there
until then. To bring the same table again changes nothing, and ends with 0.

Into a file: stop the replicas first, or what they change afterwards is not in
it. A file that is there is replaced with --replace only, and kept beside.

Where the Corefile has several tables in etcd, --store PREFIX chooses one. When
it is done, one table is to be used, and not both: they would give addresses
without knowing of each other.`,
		Example: `  meshvipctl migrate --corefile Corefile --from meshvip.db --dry-run
  meshvipctl migrate --corefile Corefile --from meshvip.db
  meshvipctl migrate --corefile Corefile --to meshvip.db`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return s.migrate(c.Context(), o) },
	}
	f := c.Flags()
	f.StringVar(&o.from, "from", "", "store `file` whose table goes into etcd")
	f.StringVar(&o.to, "to", "", "store `file` to make of the table in etcd")
	f.BoolVar(&o.replace, "replace", false, "with --to, replace a file that is there, and keep it beside")
	f.BoolVar(&o.dryRun, "dry-run", false, "tell what would be done, and write nothing")
	return c
}

// migrate carries out one migration.
func (s *session) migrate(ctx context.Context, o migrateOptions) error {
	switch {
	case (o.from == "") == (o.to == ""):
		return usage("give --from FILE to bring its table into etcd, or --to FILE to bring the table in etcd there")
	case o.replace && o.to == "":
		return usage("--replace is for --to: a table in etcd is not replaced")
	}
	table, err := s.etcdTable()
	if err != nil {
		return err
	}
	if o.from != "" {
		return s.migrateIn(ctx, o, table)
	}
	return s.migrateOut(ctx, o, table)
}

// etcdTable returns the table in etcd that the Corefile states, the only one or the
// one that --store names too.
func (s *session) etcdTable() (*meshvip.Table, error) {
	path := s.corefile
	switch {
	case path != "":
	case exists(defaultCorefile):
		path = defaultCorefile
	default:
		return nil, usage("name the Corefile that states the store in etcd with --corefile PATH")
	}
	all, err := meshvip.ReadCorefile(path)
	if err != nil {
		return nil, unopened("%w", err)
	}
	var tables []meshvip.Table
	for _, t := range all {
		if t.Etcd != nil && (s.store == "" || named(&t, s.store)) {
			tables = append(tables, t)
		}
	}
	switch {
	case len(tables) == 1:
		return &tables[0], nil
	case len(tables) == 0 && s.store != "":
		return nil, usage("%s has no table in etcd with the prefix %s", path, s.store)
	case len(tables) == 0:
		return nil, usage("%s has no table in etcd: write its \"store etcd ENDPOINT...\" there first", path)
	}
	if _, err = pick(tables, ""); s.store != "" {
		_, err = pick(tables, s.store)
	}
	if err == nil {
		return nil, usage("%s has several tables in etcd with the prefix %s: give each a prefix of its own", path, s.store)
	}
	return nil, usage("%s: %w", path, err)
}

// migrateIn brings the table of a file into etcd.
func (s *session) migrateIn(ctx context.Context, o migrateOptions, table *meshvip.Table) error {
	to := target{etcd: table.Etcd, configured: table}
	source, err := s.migrated(ctx, o.from)
	if err != nil {
		return err
	}
	r := newMigrateReport(o.from, to.place(), source)
	if o.dryRun {
		seen, err := s.readEtcd(ctx, table)
		r.Leader = seen.Leader
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, etcdstore.ErrImport), err == nil && seen.State.Meta.Revision == 0:
		case err != nil:
			return unopened("%w", err)
		default:
			r.compare(source, seen.State)
			return s.migrateThere(r)
		}
		if seen.Led {
			r.Outcome = migrateRefused
			return s.migrateEnd(r, wrong("%s stands for election or leads there, so this would be refused: stop all replicas that allocate",
				orUnnamed(seen.Leader)))
		}
		return s.migrateEnd(r, nil)
	}
	err = s.makeEtcd(ctx, to, source, table.Cooldown)
	switch {
	case errors.Is(err, allocator.ErrLocked):
		return wrong("%w", err)
	case err != nil && !errors.Is(err, fs.ErrExist):
		return unopened("%w", err)
	}
	seen, readErr := s.readEtcd(ctx, table)
	if readErr != nil {
		return errors.Join(err, unopened("the table is written, and cannot be read back: %w", readErr))
	}
	r.compare(source, seen.State)
	if err != nil {
		return s.migrateThere(r)
	}
	r.Outcome = migrateDone
	return s.migrateEnd(r, nil)
}

// migrateThere ends a migration that found a table: the same, or another.
func (s *session) migrateThere(r *migrateReport) error {
	if r.Difference == "" {
		r.Outcome = migrateThere
		return s.migrateEnd(r, nil)
	}
	r.Outcome = migrateRefused
	return s.migrateEnd(r, wrong("there is %s already, and it is not that of %s, so nothing is written: state another prefix,"+
		" or bring it into a file with --to and then delete the keys of the prefix", r.To, r.From))
}

// keysOf returns how many keys a table has in etcd, but for those that stand before
// every table.
func keysOf(s allocator.State) int {
	n := len(s.Addrs) + len(s.Meshes) + len(s.Rows)
	for _, r := range s.Rows {
		n += len(r.Listings)
	}
	return n
}
