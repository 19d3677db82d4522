package main

import (
	"context"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/boltstore"
	"github.com/spf13/cobra"
)

// importOptions are the flags of import.
type importOptions struct {
	pools               []string
	out, mesh           string
	dryRun, acceptMoves bool
	strict, all         bool
}

func importCommand(s *session) *cobra.Command {
	var o importOptions
	c := &cobra.Command{
		Use:     "import TABLES...",
		GroupID: groupOffline,
		Short:   "Make a store of Kuma's tables, with the addresses that they have",
		Long: `import reads the tables of virtual IPs that Kuma's control plane keeps, and
makes a new store in which every entry has the address that it has there. TABLES
are files, directories, or "-" for standard input, in any of Kuma's formats:

  - tables as they stand in a Config: kuma-MESH-dns-vips.json, or MESH.json
  - ConfigMaps: kubectl get configmaps -n kuma-system -o yaml
  - Configs of Kuma, as YAML or JSON
  - rows of Kuma's database:
      psql -At -c "select name, spec from resources
                   where type = 'Config' and name like 'kuma-%dns-vips'
                   order by name"

The store is named by --store or the Corefile. It is new, or one that never had
an entry, and is there as a whole or not at all if the import is stopped.

What cannot stay as it is, because two entries have one address, one entry has
two, or an address lies in no pool, is settled by rule and told row by row. If
an address would move by that, the import is refused, and ends with 1, until
--accept-moves says that it may. --out then writes the tables as they are now,
to hand back to Kuma, in the format that they came in (older ones in format 3).

A row that cannot be read is told and set aside; the rest is imported, and the
exit code is 0. With --strict, or where not one row can be read, nothing is
imported, and it is 1. A file that cannot be read to its end is never imported
in part. To import the same tables again changes nothing, and ends with 0.`,
		Example: `  meshvipctl import tables/ --store meshvip.db --pool 240.0.0.0/8 --dry-run
  meshvipctl import tables/ --corefile Corefile
  kubectl get cm -n kuma-system -o yaml | meshvipctl import - --corefile FILE
  meshvipctl import tables/ --corefile Corefile --accept-moves --out moved/`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, paths []string) error { return s.importTables(c.Context(), o, paths) },
	}
	f := c.Flags()
	f.StringSliceVar(&o.pools, "pool", nil, "`pools` in order, as in 240.0.0.0/8 (default: the Corefile's)")
	f.BoolVar(&o.dryRun, "dry-run", false, "tell what would be done, and write nothing")
	f.BoolVar(&o.acceptMoves, "accept-moves", false, "import although addresses move")
	f.StringVar(&o.out, "out", "", "`directory` to write the tables to, as the store has them")
	f.StringVar(&o.mesh, "mesh", "", "mesh of a table whose name does not tell it")
	f.BoolVar(&o.strict, "strict", false, "import nothing if a row cannot be read")
	f.BoolVar(&o.all, "all", false, "list the rows that are kept too")
	return c
}

// importTables carries out one import.
func (s *session) importTables(ctx context.Context, o importOptions, paths []string) error {
	cfg, store, err := s.importTarget(o.pools)
	if err != nil {
		return err
	}
	in := s.readTables(paths, o.mesh)
	in.tell(s)
	switch {
	case len(in.broken) > 0:
		return unopened("nothing is imported, for not every table can be read whole: correct the file, or leave it out")
	case in.empty():
		return wrong("no table of virtual IPs was found in what was given, so nothing is imported: %s, %s, not one good row",
			count(len(in.tables), "table"), count(len(in.bad), "bad row"))
	case o.strict && len(in.bad) > 0:
		return wrong("nothing is imported, for %s cannot be read, and --strict is given", count(len(in.bad), "row"))
	}
	present, err := presentStore(ctx, store)
	if err != nil {
		return err
	}
	base := present.state
	if present.used() {
		base = allocator.State{} // what is compared is what a new store would be
	}
	state, plan, err := allocator.PlanImport(base, in.rows(), cfg)
	if err != nil {
		return unopened("planning the import: %w", err)
	}
	report := newImportReport(store, in, plan, o.all || s.format != formatText)
	in.forgetRows() // the state has them; those of a large table are many
	switch {
	case ctx.Err() != nil:
		return ctx.Err() // it has taken long, and nothing is written yet
	case present.used() && !covers(present.state, state):
		return wrong("the store %s has entries, or had, and not these: an import needs a new store;"+
			" \"meshvipctl diff TABLES %s\" tells how the two differ, and the server takes entries up from its sources", store, store)
	case present.used():
		report.Outcome = importThere
	case o.dryRun:
	case report.moving() > 0 && !o.acceptMoves:
		report.Outcome = importRefused
	default:
		// In the place of one that was never used; it is verified before.
		if err := boltstore.Create(store, state, boltstore.Options{Replace: present.there}); err != nil {
			return unopened("%w", err)
		}
		report.Outcome = importDone
	}
	return s.importEnd(o, report, in, state, present)
}

// importEnd tells of an import, and writes the tables that go back to Kuma.
func (s *session) importEnd(o importOptions, report importReport, in tablesRead, state allocator.State, present storePresent) error {
	if err := s.print(report, report.text(o.all)); err != nil {
		return err
	}
	if s.format == formatText {
		s.note("%s", report.summary())
	}
	switch report.Outcome {
	case importRefused:
		return wrong("%s would get another address, so nothing is imported: %s", count(report.moving(), "row"), report.remedy())
	case importThere:
		state = present.state
	case importPlanned:
		if report.moving() > 0 && !o.acceptMoves {
			return wrong("%s would get another address, so this import would be refused: %s", count(report.moving(), "row"), report.remedy())
		}
		return nil
	}
	if o.out == "" {
		return nil
	}
	tables := handBack(in.tables, state)
	if err := writeTables(o.out, tables); err != nil {
		return unopened("the store is made, and its tables are not written: %w; \"meshvipctl export\" writes them", err)
	}
	for _, t := range tables {
		for _, lack := range t.lacks {
			s.note("left out of the table of mesh %s: %s", t.mesh, printable(lack))
		}
	}
	s.note("%s in %s", count(len(tables), "table"), o.out)
	return nil
}
