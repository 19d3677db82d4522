package meshvip

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/plugin"
)

// parser reads one server block's meshvip.
type parser struct {
	c    *caddy.Controller
	cfg  Config
	root string              // absolute; relative paths are below it
	seen map[string]struct{} // the properties met so far
}

// property reads the arguments of one property into p.cfg.
type property struct {
	name  string
	parse func(p *parser, args []string) error
	many  bool // may be stated more than once
	block bool // may have a block, which parse reads too
}

// properties are the known ones, in the order in which they are documented.
var properties = []property{
	{name: "pool", parse: (*parser).pool, many: true, block: true},
	{name: "static", parse: (*parser).static, many: true},
	{name: "source", parse: (*parser).source, many: true, block: true},
	{name: "store", parse: (*parser).store, block: true},
	{name: "ttl", parse: (*parser).ttl},
	{name: "negative_ttl", parse: (*parser).negativeTTL},
	{name: "cooldown", parse: (*parser).cooldown},
	{name: "kuma_zone", parse: (*parser).kumaZone},
	{name: "kuma_domain", parse: (*parser).kumaDomain},
	{name: "ns", parse: (*parser).ns},
	{name: "max_release", parse: (*parser).maxRelease},
	{name: "confirm", parse: (*parser).confirm},
	{name: "repair", parse: (*parser).repair},
	{name: "publish", parse: (*parser).publish},
	{name: "admin", parse: (*parser).admin},
	{name: "meshes", parse: (*parser).meshes},
	{name: "fallthrough", parse: (*parser).fallThrough},
	{name: "stale", parse: (*parser).stale},
}

// propertyNames returns the names of the known properties.
func propertyNames() []string {
	names := make([]string, len(properties))
	for i, p := range properties {
		names[i] = p.name
	}
	return names
}

// parse reads the meshvip of one server block. It touches no file. Errors name
// the file and line, what was expected there, and what to write instead.
//
// Whether the runtime has all that it needs is not known from one block: see
// merge, complete and fits.
func parse(c *caddy.Controller) (Config, error) {
	root, err := filepath.Abs(dnsserver.GetConfig(c).Root)
	if err != nil {
		return Config{}, fmt.Errorf("finding the directory that relative paths are below: %w", err)
	}
	p := &parser{c: c, root: root, seen: make(map[string]struct{})}
	for i := 0; c.Next(); i++ {
		if i > 0 {
			return Config{}, c.Errf("%v: the first is at %s", plugin.ErrOnce, p.cfg.Place)
		}
		if err := p.stanza(); err != nil {
			return Config{}, err
		}
	}
	slices.SortFunc(p.cfg.Runtime.Pools, func(a, b PoolConfig) int { return a.Prefix.Compare(b.Prefix) })
	slices.SortFunc(p.cfg.Runtime.Statics, StaticConfig.compare)
	if len(p.cfg.Runtime.Pools) > 0 {
		if err := checkStatics(p.cfg.Runtime); err != nil {
			return Config{}, err
		}
	}
	if p.cfg.Runtime.Cooldown.Stated() {
		if err := fits(p.cfg.Runtime, p.cfg); err != nil {
			return Config{}, err
		}
	}
	return p.cfg, nil
}

// stanza reads the zones and the block of one meshvip.
func (p *parser) stanza() error {
	p.cfg = defaults(p.place(), p.root)
	args := p.c.RemainingArgs()
	if err := p.plain("meshvip", "meshvip", args); err != nil {
		return err
	}
	forward, reverse, err := origins(args, p.c.ServerBlockKeys)
	if err != nil {
		return p.c.Err(err.Error())
	}
	p.cfg.Block.Forward, p.cfg.Block.Reverse = forward, reverse

	return p.block("meshvip", p.property)
}

// property reads one line of the block.
func (p *parser) property() error {
	name := p.c.Val()
	i := slices.IndexFunc(properties, func(pr property) bool { return pr.name == name })
	if i < 0 {
		return p.unknown(name, "", propertyNames())
	}
	if _, ok := p.seen[name]; ok && !properties[i].many {
		return p.c.Errf("property '%s' is stated twice: keep one of the lines", name)
	}
	p.seen[name] = struct{}{}
	args, err := p.args("meshvip", name)
	if err != nil {
		return err
	}
	if p.blockFollows() && !properties[i].block {
		return p.noBlock(name)
	}
	return properties[i].parse(p, args)
}

// place returns the file and line of the current token.
func (p *parser) place() string { return fmt.Sprintf("%s:%d", p.c.File(), p.c.Line()) }

// path returns the absolute form of a path in the Corefile.
func (p *parser) path(s string) string {
	if filepath.IsAbs(s) {
		return filepath.Clean(s)
	}
	return filepath.Join(p.root, s)
}

// defaults returns the configuration of a meshvip that states nothing.
func defaults(place, root string) Config {
	return Config{
		Place: place,
		Runtime: RuntimeConfig{
			Place:      place,
			Store:      Stated[StoreConfig]{Value: StoreConfig{Kind: "bolt", Path: filepath.Join(root, defaultStoreFile)}},
			Cooldown:   Stated[time.Duration]{Value: defaultCooldown},
			KumaZone:   Stated[string]{Value: defaultKumaZone},
			KumaDomain: Stated[string]{Value: defaultKumaDomain},
		},
		Block: BlockConfig{
			TTL:         Stated[uint32]{Value: defaultTTL},
			NegativeTTL: Stated[uint32]{Value: defaultNegativeTTL},
		},
	}
}
