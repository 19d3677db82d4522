package meshvip

import (
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// one returns the only argument of a property, or an error that says what it
// should be, with an example.
func (p *parser) one(name string, args []string, want, example string) (string, error) {
	if len(args) != 1 || args[0] == "" {
		return "", p.c.Errf("%s needs one argument, %s: write for example \"%s %s\"", name, want, name, example)
	}
	return args[0], nil
}

func (p *parser) store(args []string) error {
	if len(args) > 0 && args[0] == storeEtcd {
		return p.etcdStore(args[1:])
	}
	var s StoreConfig
	switch {
	case len(args) == 2 && args[0] == "bolt" && args[1] != "":
		s = StoreConfig{Kind: "bolt", Path: p.path(args[1])}
	case len(args) == 1 && args[0] == "memory":
		s = StoreConfig{Kind: "memory"}
	default:
		return p.c.Errf("store needs \"bolt PATH\", \"memory\" or \"etcd ENDPOINT...\": write for example \"store bolt %s\" or \"%s\"",
			defaultStoreFile, etcdExample)
	}
	if p.blockFollows() {
		return p.noBlock("store " + s.Kind)
	}
	p.cfg.Runtime.Store = Stated[StoreConfig]{s, p.place()}
	return nil
}

func (p *parser) ttl(args []string) error {
	return p.seconds("ttl", args, &p.cfg.Block.TTL)
}

func (p *parser) negativeTTL(args []string) error {
	return p.seconds("negative_ttl", args, &p.cfg.Block.NegativeTTL)
}

// seconds reads a TTL.
func (p *parser) seconds(name string, args []string, to *Stated[uint32]) error {
	example := strconv.Itoa(int(to.Value))
	arg, err := p.one(name, args, "a number of seconds", example)
	if err != nil {
		return err
	}
	n, err := strconv.ParseUint(arg, 10, 32)
	if err != nil || n > maxTTL {
		return p.c.Errf("%s '%s' is not a number of seconds from 0 to %d: write for example \"%s %s\"",
			name, arg, maxTTL, name, example)
	}
	*to = Stated[uint32]{uint32(n), p.place()}
	return nil
}

func (p *parser) cooldown(args []string) error {
	arg, err := p.one("cooldown", args, "a duration", "24h")
	if err != nil {
		return err
	}
	d, err := time.ParseDuration(arg)
	if err != nil || d <= 0 {
		return p.c.Errf("cooldown '%s' is not a positive duration with its unit: write for example \"cooldown 24h\" or \"cooldown 90m\"", arg)
	}
	p.cfg.Runtime.Cooldown = Stated[time.Duration]{d, p.place()}
	return nil
}

func (p *parser) kumaZone(args []string) error {
	arg, err := p.one("kuma_zone", args, "the name of this Kuma zone", defaultKumaZone)
	if err != nil {
		return err
	}
	p.cfg.Runtime.KumaZone = Stated[string]{arg, p.place()}
	return nil
}

func (p *parser) kumaDomain(args []string) error {
	arg, err := p.one("kuma_domain", args, "the DNS domain of Kuma", defaultKumaDomain)
	if err != nil {
		return err
	}
	names, err := zoneNames(arg)
	domain := strings.TrimSuffix(strings.Join(names, " "), ".")
	if err != nil || len(names) != 1 || domain == "" {
		return p.c.Errf("kuma_domain '%s' is not one DNS name: write it as in Kuma's configuration, for example \"kuma_domain %s\"",
			arg, defaultKumaDomain)
	}
	p.cfg.Runtime.KumaDomain = Stated[string]{domain, p.place()}
	return nil
}

func (p *parser) ns(args []string) error {
	if len(args) == 0 {
		return p.c.Errf("ns needs the addresses of this server: write for example \"ns 192.0.2.53\"")
	}
	var addrs []netip.Addr
	for _, a := range args {
		addr, err := netip.ParseAddr(a)
		if err != nil || addr.Zone() != "" || addr.Is4In6() || addr.IsUnspecified() || addr.IsMulticast() {
			return p.c.Errf("ns '%s' is not the address of a server: write an IPv4 or IPv6 address that clients reach, "+
				"for example \"ns 192.0.2.53\"", a)
		}
		if !slices.Contains(addrs, addr) {
			addrs = append(addrs, addr)
		}
	}
	p.cfg.Block.NS = Stated[[]netip.Addr]{addrs, p.place()}
	return nil
}

func (p *parser) maxRelease(args []string) error {
	arg, err := p.one("max_release", args, "a number of entries or a percentage of a mesh's", "20%")
	if err != nil {
		return err
	}
	digits, percent := strings.CutSuffix(arg, "%")
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil || percent && n > 100 {
		return p.c.Errf("max_release '%s' is neither a number of entries nor a percentage from 0%% to 100%%: "+
			"write for example \"max_release 50\" or \"max_release 20%%\"", arg)
	}
	p.cfg.Runtime.MaxRelease = Stated[MaxRelease]{MaxRelease{N: int(n), Percent: percent}, p.place()}
	return nil
}

func (p *parser) confirm(args []string) error {
	arg, err := p.one("confirm", args, "the name of the plan that the log shows", "3-9f2a61c0")
	if err != nil {
		return err
	}
	if !planName.MatchString(arg) {
		return p.c.Errf("confirm '%s' is not the name of a plan: write it as the log shows it, for example \"confirm 3-9f2a61c0\"", arg)
	}
	p.cfg.Runtime.Confirm = Stated[string]{arg, p.place()}
	return nil
}

// planName is the form of the names that the allocator gives to plans of moves:
// the generation of the table, and a digest of the moves.
var planName = regexp.MustCompile(`^[0-9]{1,20}-[0-9a-f]{1,64}$`)

func (p *parser) repair(args []string) error {
	var mode RepairMode
	switch {
	case len(args) == 0:
	case len(args) == 1 && args[0] == "report":
		mode = RepairReport
	default:
		return p.c.Errf("repair '%s' is unknown: write \"repair\" alone to repair a table that breaks its rules, "+
			"or \"repair report\" to say only what is to be repaired", strings.Join(args, " "))
	}
	p.cfg.Runtime.Repair = Stated[RepairMode]{mode, p.place()}
	return nil
}

func (p *parser) publish(args []string) error {
	if len(args) == 0 || args[0] == "" {
		return p.c.Errf("publish needs a directory: write for example \"publish published\"")
	}
	cfg := PublishConfig{Dir: p.path(args[0])}
	for _, a := range args[1:] {
		switch a {
		case "tags":
			cfg.Tags = true
		case "backendRef":
			cfg.BackendRefs = true
		default:
			return p.c.Errf("publish %s: '%s' is no form of outbounds: write \"tags\" for those that name a service tag, "+
				"\"backendRef\" for those of Kuma's newer resources, or both", args[0], a)
		}
	}
	if !cfg.Tags && !cfg.BackendRefs {
		cfg.Tags = true
	}
	p.cfg.Runtime.Publish = Stated[PublishConfig]{cfg, p.place()}
	return nil
}

func (p *parser) meshes(args []string) error {
	if len(args) == 0 || slices.Contains(args, "") {
		return p.c.Errf("meshes needs the names of the meshes to serve: write for example \"meshes default\", " +
			"or leave the line out to serve all")
	}
	slices.Sort(args)
	p.cfg.Block.Meshes = Stated[[]string]{slices.Compact(args), p.place()}
	return nil
}

func (p *parser) fallThrough(args []string) error {
	var zones []string
	for _, a := range args {
		names, err := zoneNames(a)
		if err != nil {
			return p.c.Errf("fallthrough: %v", err)
		}
		zones = append(zones, names...)
	}
	p.cfg.Block.Fall.SetZonesFromArgs(zones)
	return nil
}
