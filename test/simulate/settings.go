package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
)

// settings are what the flags say.
type settings struct {
	Entries, Meshes int
	// Churn is the share of the entries that goes each day; as many come.
	Churn float64
	// Turnover is the share of the meshes that goes each day with its entries, and
	// as many come. It is a part of Churn.
	Turnover float64
	// Returns is the share of those that come which were there before: half of them
	// went within the cooldown, and half earlier, where there are such.
	Returns  float64
	Days     int
	Cooldown time.Duration
	Pool     netip.Prefix
	Tick     time.Duration
	Forget   int
	Seed     uint64
	Store    string // memory or bolt
	Sync     bool
	Server   string // a build, or none
	Dir      string
}

const day = 24 * time.Hour

// parse reads the flags.
func parse(args []string, usage io.Writer) (settings, error) {
	var s settings
	f := flag.NewFlagSet("simulate", flag.ContinueOnError)
	f.SetOutput(usage)
	f.IntVar(&s.Entries, "entries", 1_000_000, "how many services there are at a time")
	f.IntVar(&s.Meshes, "meshes", 0, "how many meshes they are spread over; 0: one for each hundred")
	f.Float64Var(&s.Churn, "churn", 0.1, "`share` of the services that goes each day; as many come")
	f.Float64Var(&s.Turnover, "turnover", 0.01, "`share` of the meshes that goes whole each day, within -churn")
	f.Float64Var(&s.Returns, "returns", 0.2, "`share` of the services that come which were there before")
	f.IntVar(&s.Days, "days", 14, "how long")
	f.DurationVar(&s.Cooldown, "cooldown", day, "as in a Corefile")
	f.TextVar(&s.Pool, "pool", netip.MustParsePrefix("240.0.0.0/8"), "IPv4 `range` of the addresses")
	f.DurationVar(&s.Tick, "tick", time.Minute, "how often time is let do its work")
	f.IntVar(&s.Forget, "forget", 0, "how many past owners are remembered at least; 0: as in a server")
	f.Uint64Var(&s.Seed, "seed", 1, "of what happens")
	f.StringVar(&s.Store, "store", "bolt", "memory or bolt")
	f.BoolVar(&s.Sync, "sync", false, "sync each commit to disk, as a server does")
	f.StringVar(&s.Server, "server", "", "start this `build` of CoreDNS over the store that is left, and measure it")
	f.StringVar(&s.Dir, "dir", "", "an empty or new `directory` for the store, which is left there; none: a temporary one")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if s.Meshes == 0 {
		s.Meshes = max(1, s.Entries/perMesh)
	}
	return s, s.check(f.NArg())
}

// check returns what is wrong with the settings.
func (s settings) check(arguments int) error {
	perMesh := s.Entries / max(s.Meshes, 1)
	switch first, last := allocator.Usable(s.Pool); {
	case arguments > 0:
		return errors.New("there are no arguments, only flags")
	case s.Entries < 1 || s.Entries > mostServices || s.Meshes < 1 || perMesh < 1:
		return fmt.Errorf("%d entries in %d meshes: want 1 to %d entries, and one for each mesh at least", s.Entries, s.Meshes, mostServices)
	case s.Days < 1 || s.Cooldown <= 0 || s.Tick < time.Second || s.Forget < 0:
		return errors.New("-days and -cooldown are to be above 0, -tick at least 1s, and -forget not below 0")
	case s.Churn < 0 || s.Churn > 1 || s.Turnover < 0 || s.Turnover > s.Churn || s.Returns < 0 || s.Returns > 1:
		return errors.New("-churn and -returns are shares from 0 to 1, and -turnover is at most -churn")
	case !s.Pool.IsValid() || !s.Pool.Addr().Is4() || s.Pool != s.Pool.Masked() || !first.Less(last):
		return fmt.Errorf("-pool %v is no IPv4 range such as 240.0.0.0/8", s.Pool)
	case s.Store != "bolt" && s.Store != "memory":
		return fmt.Errorf("no store %q: want bolt or memory", s.Store)
	case s.Server != "" && s.Store != "bolt":
		return errors.New("-server needs -store bolt")
	}
	return nil
}
