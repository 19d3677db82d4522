package meshvip

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/coredns/caddy"
	"github.com/coredns/caddy/caddyfile"
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/meshvip/coredns-meshvip/allocator"
)

// Table is what a Corefile says of one table, for tools that work on it beside
// the server.
type Table struct {
	// Place is where the plugin stands that states the table, "Corefile:3".
	Place string
	// Store is the absolute path of the store's file; empty for one in memory or
	// in etcd.
	Store string
	// Etcd is where in etcd the table is; nil where it is elsewhere.
	Etcd *EtcdConfig
	// Admin is the address of the admin interface, "unix:PATH" or "HOST:PORT";
	// empty where there is none.
	Admin      string
	Layout     allocator.Layout
	Cooldown   time.Duration
	MaxRelease allocator.Limit
	// Zones are the forward zones of all blocks, none twice: the first is the one
	// in which names are shown.
	Zones                []string
	KumaZone, KumaDomain string
	// Dirs are the directories of the file sources.
	Dirs []string
	// Publish is the directory that tables are published to, or empty.
	Publish string
}

// ReadCorefile returns the tables that a Corefile states, in its order. It reads
// the file as CoreDNS does, imports and environment variables included, sets
// nothing up, and opens no store. Its errors are those that CoreDNS would have of
// meshvip, and of the server blocks themselves; what other plugins make of their
// properties is not looked at.
func ReadCorefile(path string) ([]Table, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("corefile: %w", err)
	}
	defer f.Close()
	blocks, err := caddyfile.Parse(filepath.Base(path), f, nil)
	if err != nil {
		return nil, fmt.Errorf("corefile %s: %w", path, err)
	}
	c := caddy.NewTestController("dns", "") // the one way to have a controller
	if blocks, err = c.Context().InspectServerBlocks(path, blocks); err != nil {
		return nil, fmt.Errorf("corefile %s: %w", path, err)
	}
	var configs []Config
	for i, b := range blocks {
		tokens, ok := b.Tokens[pluginName]
		if !ok {
			continue
		}
		c.ServerBlockIndex, c.ServerBlockKeys = i, b.Keys
		if root := b.Tokens["root"]; len(root) == 2 {
			dnsserver.GetConfig(c).Root = root[1].Text
		}
		c.Dispenser = caddyfile.NewDispenserTokens(filepath.Base(path), tokens)
		cfg, err := parse(c)
		if err != nil {
			return nil, fmt.Errorf("corefile %s: %w", path, err)
		}
		configs = append(configs, cfg)
	}
	if len(configs) == 0 {
		return nil, fmt.Errorf("corefile %s: no server block has the plugin %s", path, pluginName)
	}
	groups, err := group(configs)
	if err != nil {
		return nil, fmt.Errorf("corefile %s: %w", path, err)
	}
	tables := make([]Table, len(groups))
	for i, g := range groups {
		tables[i] = g.table(configs)
	}
	return tables, nil
}

// table returns what the blocks of the group say of their table.
func (g *blockGroup) table(configs []Config) Table {
	t := Table{
		Place: g.cfg.Place, Store: g.cfg.Store.Value.Path, Admin: g.cfg.adminAddress(),
		Layout: g.cfg.layout(), Cooldown: g.cfg.Cooldown.Value, MaxRelease: g.cfg.limit(),
		KumaZone: g.cfg.KumaZone.Value, KumaDomain: g.cfg.KumaDomain.Value, Publish: g.cfg.Publish.Value.Dir,
	}
	if g.cfg.Store.Value.Kind == storeEtcd {
		t.Etcd = &g.cfg.Store.Value.Etcd
	}
	for _, s := range g.cfg.Sources {
		if s.Kind == sourceFile {
			t.Dirs = append(t.Dirs, s.Dir)
		}
	}
	for _, b := range g.blocks {
		for _, zone := range configs[b].Block.Forward {
			if !slices.Contains(t.Zones, zone) {
				t.Zones = append(t.Zones, zone)
			}
		}
	}
	return t
}
