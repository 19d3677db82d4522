package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/spf13/cobra"
)

// exportOptions are the flags of export.
type exportOptions struct {
	format, out, namespace string
	meshes                 []string
	configMap              bool
}

func exportCommand(s *session) *cobra.Command {
	var o exportOptions
	c := &cobra.Command{
		Use:     "export",
		GroupID: groupOffline,
		Short:   "Write the table in a format of Kuma's, or as a backup",
		Long: `export writes the table of each mesh as a control plane of Kuma keeps it, to
hand it (back) to one: a file kuma-MESH-dns-vips.json a mesh in the directory
--out, or, with --configmap, ConfigMaps that "kubectl apply -f" takes, in one
file. Without --out it writes to standard output: the ConfigMaps, or the table
of the one mesh.

Kuma's formats cannot carry everything: what is left out is told on standard
error. --format backup is what "meshvipctl backup" writes; it has all.`,
		Example: `  meshvipctl export --out tables
  meshvipctl export --format 4 --mesh default
  meshvipctl export --configmap | kubectl apply -f -`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return s.export(c.Context(), o) },
	}
	f := c.Flags()
	f.StringVar(&o.format, "format", "3", "format: 3 or 4 (Kuma's), or backup")
	f.StringVar(&o.out, "out", "", "directory for tables, file for ConfigMaps or a backup; - is standard output")
	f.StringSliceVar(&o.meshes, "mesh", nil, "only the tables of these meshes")
	f.BoolVar(&o.configMap, "configmap", false, "write ConfigMaps for Kubernetes")
	f.StringVar(&o.namespace, "namespace", "kuma-system", "namespace of the ConfigMaps, Kuma's own")
	c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(exportFormats, cobra.ShellCompDirectiveNoFileComp))
	return c
}

var exportFormats = []string{"3", "4", "backup"}

// export writes the table.
func (s *session) export(ctx context.Context, o exportOptions) error {
	switch {
	case !slices.Contains(exportFormats, o.format):
		return usage("--format %s: choose 3, 4 or backup", o.format)
	case o.format == "backup" && (o.configMap || len(o.meshes) > 0):
		return usage("a backup is of the whole table: leave out --configmap and --mesh")
	case o.format == "backup":
		return s.backup(ctx, o.out)
	}
	state, err := s.wholeState(ctx)
	if err != nil {
		return err
	}
	meshes, err := stateMeshes(state, o.meshes)
	if err != nil {
		return err
	}
	if len(meshes) == 0 {
		s.note("the table has no mesh: there is nothing to export")
		return nil
	}
	toDir := !o.configMap && o.out != "" && o.out != stdStream
	if !toDir && !o.configMap && len(meshes) > 1 {
		return usage("there are %s: name the directory to write their tables to with --out, or one of them with --mesh, of %s",
			count(len(meshes), "mesh"), listed(meshes))
	}
	tables := encodeTables(o.format, meshes, sortedRows(state))
	switch {
	case o.configMap:
		err = s.writeOut(o.out, func(w io.Writer) error { return writeConfigMaps(w, tables, o.namespace) })
	case toDir:
		err = writeTables(o.out, tables)
	default:
		err = s.writeOut(o.out, func(w io.Writer) error { _, err := w.Write(tables[0].text); return err })
	}
	if err != nil {
		return unopened("%w", err)
	}
	for _, t := range tables {
		for _, lack := range t.lacks {
			s.note("left out of the table of mesh %s: %s", t.mesh, printable(lack))
		}
	}
	if toDir {
		s.note("%s in %s", count(len(tables), "table"), o.out)
	}
	return nil
}

// writeTables writes each table to a file in dir, which is made if it is not
// there.
func writeTables(dir string, tables []kumaTable) error {
	files := make([]string, len(tables))
	for i, t := range tables {
		var err error
		if files[i], err = t.file(); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for i, t := range tables {
		err := replaceFile(filepath.Join(dir, files[i]), func(w io.Writer) error { _, err := w.Write(t.text); return err })
		if err != nil {
			return err
		}
	}
	return nil
}

// writeConfigMaps writes the tables as a stream of YAML.
func writeConfigMaps(w io.Writer, tables []kumaTable, namespace string) error {
	for _, t := range tables {
		text, err := t.configMapText(namespace)
		if err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// sortedRows returns the rows of a state by key.
func sortedRows(s allocator.State) []*vip.Row {
	return slices.SortedFunc(slices.Values(s.Rows), func(x, y *vip.Row) int { return x.Key().Compare(y.Key()) })
}
