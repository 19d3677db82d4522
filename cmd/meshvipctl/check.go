package main

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// checkOptions are the flags of check.
type checkOptions struct {
	pools, zones   []string
	kumaZone       string
	domain         string
	meshes, exists []string
	strict         bool
}

func checkCommand(s *session) *cobra.Command {
	var o checkOptions
	c := &cobra.Command{
		Use:     "check PATH...",
		GroupID: groupOffline,
		Short:   "Check resource files before they are deployed",
		Long: `check reads resource files, or directories of them, as a server would, and
tells which entries and names each mesh would get, and what is wrong: documents
that would be set aside, resources that wait for their mesh, names and addresses
that two ask for, and, where pools are named, who would wait for an address.
All paths together are one source. "-" is standard input.

What is asked for in vain is an error: the exit code is 1 then. What counts, if
not as somebody may have meant it, is a warning; with --strict it counts as an
error. The list goes to standard output, what is wrong to standard error; with
-o json or yaml, all of it to standard output.

With --corefile, the pools, statics, zones, Kuma zone and domain are those of
the Corefile, but for what flags say.`,
		Example: `  meshvipctl check resources
  meshvipctl check --strict --pool 240.0.0.0/8 resources
  kubectl get meshes,dataplanes,externalservices -A -o yaml | meshvipctl check -`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, paths []string) error { return s.check(c.Context(), o, paths) },
	}
	f := c.Flags()
	f.StringSliceVar(&o.pools, "pool", nil, "range to take addresses from, as in 240.0.0.0/8; several are tried in order")
	f.StringSliceVar(&o.zones, "zone", nil, "zone that the names are served in (default \"mesh\")")
	f.StringVar(&o.kumaZone, "kuma-zone", "", "name of our own Kuma zone (default \"default\")")
	f.StringVar(&o.domain, "domain", "", "domain of the names of gateways that have none of their own (default \"mesh\")")
	f.StringSliceVar(&o.meshes, "mesh", nil, "list the entries of these meshes only")
	f.StringSliceVar(&o.exists, "exists", nil, "mesh that exists although no document here declares it")
	f.BoolVar(&o.strict, "strict", false, "let warnings count as errors")
	return c
}

// check carries out one check.
func (s *session) check(ctx context.Context, o checkOptions, paths []string) error {
	setting, err := s.checkSetting(o)
	if err != nil {
		return err
	}
	r := newReading(setting.home, o.exists)
	for _, path := range paths {
		if err := r.read(path, s.in); err != nil {
			return err
		}
	}
	report, err := r.report(ctx, setting, o.meshes)
	if err != nil {
		return err
	}
	if err := s.print(report, report.text); err != nil {
		return err
	}
	if s.format == formatText {
		for _, f := range report.Findings {
			s.note("%s", f)
		}
		s.note("%s", report.summary())
	}
	if report.Errors > 0 || o.strict && report.Warnings > 0 {
		return errFound
	}
	return nil
}

// parsePools reads ranges as --pool gives them.
func parsePools(list []string) ([]netip.Prefix, error) {
	var pools []netip.Prefix
	for _, text := range list {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, usage("--pool %s: write a range such as 240.0.0.0/8", text)
		}
		pools = append(pools, p)
	}
	return pools, nil
}

// zoneNames returns zones as the index wants them: lower case, with a final dot.
func zoneNames(zones []string) []string {
	names := make([]string, 0, len(zones))
	for _, z := range zones {
		names = append(names, strings.ToLower(strings.TrimSuffix(z, "."))+".")
	}
	slices.Sort(names)
	return slices.Compact(names)
}
