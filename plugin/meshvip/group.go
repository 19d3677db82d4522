package meshvip

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// blockGroup is the blocks of an instance that share a runtime.
type blockGroup struct {
	id     string // the identity of the store
	cfg    RuntimeConfig
	blocks []int // indexes
}

// group joins blocks by the identity of their stores. A block that states no
// store belongs to the one that others state, if there is only one; if nobody
// states one, all share the default.
func group(configs []Config) ([]*blockGroup, error) {
	// Asked once for each block: the files may change between two times.
	identities := make([]string, len(configs))
	var stated []string
	for b, c := range configs {
		identities[b] = c.Runtime.Store.Value.identity()
		if c.Runtime.Store.Stated() && !slices.Contains(stated, identities[b]) {
			stated = append(stated, identities[b])
		}
	}
	var groups []*blockGroup
	for b, c := range configs {
		id := identities[b]
		switch {
		case c.Runtime.Store.Stated():
		case len(stated) == 1:
			id = stated[0]
		case len(stated) == 0:
			// One runtime, at the default path of the first block.
			id = identities[0]
		default:
			return nil, fmt.Errorf("%s: meshvip states no store, and other server blocks state %d of them: "+
				"add the \"store\" line of the one that this block belongs to", c.Place, len(stated))
		}
		n := slices.IndexFunc(groups, func(g *blockGroup) bool { return g.id == id })
		if n < 0 {
			groups = append(groups, &blockGroup{id: id, cfg: c.Runtime, blocks: []int{b}})
			continue
		}
		if err := groups[n].join(b, c.Runtime); err != nil {
			return nil, err
		}
	}
	for _, g := range groups {
		if err := g.check(configs); err != nil {
			return nil, err
		}
	}
	return groups, nil
}

// join adds block b, which states cfg.
func (g *blockGroup) join(b int, cfg RuntimeConfig) error {
	if g.cfg.Store.Stated() && cfg.Store.Stated() && cfg.Store.Value.Kind != storeEtcd {
		cfg.Store.Value = g.cfg.Store.Value // another path to the same file
	}
	merged, err := merge(g.cfg, cfg)
	if err != nil {
		return err
	}
	g.cfg, g.blocks = merged, append(g.blocks, b)
	return nil
}

// check verifies that the merged configuration is whole and fits every block.
func (g *blockGroup) check(configs []Config) error {
	if err := complete(g.cfg); err != nil {
		return err
	}
	if err := checkStatics(g.cfg); err != nil {
		return err
	}
	if err := g.cfg.layout().Check(); err != nil {
		return fmt.Errorf("%s: %w", g.cfg.Place, err)
	}
	for _, b := range g.blocks {
		if err := fits(g.cfg, configs[b]); err != nil {
			return err
		}
		if err := checkStale(g.cfg, configs[b]); err != nil {
			return err
		}
	}
	if len(g.suffixes(configs)) == 0 {
		return errors.New(configs[g.blocks[0]].Place + ": meshvip has reverse zones only, and no other server block of its store " +
			"has a zone for the names: add a zone such as \"mesh\"")
	}
	return nil
}

// suffixes returns the forward zones of the first block that has any.
func (g *blockGroup) suffixes(configs []Config) []string {
	for _, b := range g.blocks {
		if f := configs[b].Block.Forward; len(f) > 0 {
			return f
		}
	}
	return nil
}

// options returns a fingerprint of what answers depend on beside the table: a
// secondary must see that they have changed.
func (g *blockGroup) options(configs []Config) string {
	// The SOA's expiry follows from it.
	all := []string{g.cfg.Cooldown.Value.String()}
	for _, b := range g.blocks {
		c := configs[b].Block
		all = append(all, fmt.Sprintf("%q %v %d %d %q %v %q", c.Forward, c.Reverse, c.TTL.Value, c.NegativeTTL.Value,
			c.Meshes.Value, c.NS.Value, c.Fall.Zones))
	}
	sum := sha256.Sum256([]byte(strings.Join(all, "\n")))
	return hex.EncodeToString(sum[:8])
}
