package meshvip

import (
	"slices"
	"strings"

	"go4.org/netipx"
)

// poolProperties are what the block of a pool may state, in the order in which
// they are documented.
var poolProperties = []string{"exclude", "reserve", "drain"}

// poolLine is a pool property while its block is read.
type poolLine struct {
	pools  []PoolConfig // of this line; a part of the configuration's
	place  string
	ranges []poolRange
	drains string // where drain is stated
}

// poolRange is a range that the block of a pool states.
type poolRange struct {
	property string // exclude or reserve
	netipx.IPRange
	place string
}

// pool reads the ranges of a pool, and its block.
func (p *parser) pool(args []string) error {
	if len(args) == 0 {
		return p.c.Errf("pool needs one or more address ranges: write for example \"pool 240.0.0.0/8\"")
	}
	pools := &p.cfg.Runtime.Pools
	before := len(*pools)
	for _, a := range args {
		prefix, err := parsePool(a)
		if err != nil {
			return p.c.Errf("pool %v", err)
		}
		for _, q := range *pools {
			if q.Prefix.Overlaps(prefix) {
				return p.c.Errf("pool %v overlaps pool %v (%s): an address belongs to one pool; "+
					"remove or narrow one of them", prefix, q.Prefix, q.Place)
			}
		}
		*pools = append(*pools, PoolConfig{Prefix: prefix, Place: p.place()})
	}
	l := &poolLine{pools: (*pools)[before:], place: p.place()}
	return p.block("pool", func() error { return p.poolProperty(l) })
}

// poolProperty reads one line of the block of a pool.
func (p *parser) poolProperty(l *poolLine) error {
	name := p.c.Val()
	if !slices.Contains(poolProperties, name) {
		return p.unknown(name, " in the block of pool", poolProperties)
	}
	args, err := p.args("pool", name)
	if err != nil {
		return err
	}
	if p.blockFollows() {
		return p.noBlock(name)
	}
	if name == "drain" {
		return p.drain(l, args)
	}
	if len(args) == 0 {
		return p.c.Errf("%s needs one or more ranges of addresses: write for example \"%s %v-%v\"",
			name, name, givable(l.pools[0].Prefix).From(), givable(l.pools[0].Prefix).To())
	}
	for _, a := range args {
		r, err := parseRange(a)
		if err != nil {
			return p.c.Errf("%s %v", name, err)
		}
		if err := p.poolRange(l, poolRange{name, r, p.place()}); err != nil {
			return err
		}
	}
	return nil
}

// drain reads the property that lets the pools of a line run empty.
func (p *parser) drain(l *poolLine, args []string) error {
	if len(args) > 0 {
		return p.c.Errf("drain takes no argument, it is for all ranges of its pool line (%s): "+
			"write \"drain\" alone, and a range that is not to be drained on a pool line of its own", l.place)
	}
	if l.drains != "" {
		return p.c.Errf("property 'drain' is stated twice, first at %s: keep one of the lines", l.drains)
	}
	l.drains = p.place()
	for i := range l.pools {
		l.pools[i].Drain = true
	}
	return nil
}

// poolRange adds a range to the pool that contains it.
func (p *parser) poolRange(l *poolLine, r poolRange) error {
	i := slices.IndexFunc(l.pools, func(q PoolConfig) bool { return contains(netipx.RangeOfPrefix(q.Prefix), r.IPRange) })
	if i < 0 {
		return p.outside(l, r)
	}
	for _, q := range l.ranges {
		if q.property != r.property && q.Overlaps(r.IPRange) {
			return p.c.Errf("%s %s overlaps \"%s %s\" (%s): an address is either excluded or reserved; "+
				"narrow or remove one of them", r.property, writeRange(r.IPRange), q.property, writeRange(q.IPRange), q.place)
		}
	}
	l.ranges = append(l.ranges, r)
	pool := &l.pools[i]
	if r.property == "reserve" {
		pool.Reserve = withRange(pool.Reserve, r.IPRange)
		return nil
	}
	pool.Exclude = withRange(pool.Exclude, r.IPRange)
	if slices.ContainsFunc(pool.Exclude, func(e netipx.IPRange) bool { return contains(e, givable(pool.Prefix)) }) {
		return p.c.Errf("exclude %s leaves nothing of pool %v: narrow the range, or remove the pool; "+
			"a pool that is to run empty has the line \"drain\"", writeRange(r.IPRange), pool.Prefix)
	}
	return nil
}

// outside is the error of a range that does not lie in a pool of its line.
func (p *parser) outside(l *poolLine, r poolRange) error {
	for _, q := range l.pools {
		whole := netipx.RangeOfPrefix(q.Prefix)
		if !whole.Overlaps(r.IPRange) {
			continue
		}
		inside := r.IPRange
		if inside.From().Less(whole.From()) {
			inside = netipx.IPRangeFrom(whole.From(), inside.To())
		}
		if whole.To().Less(inside.To()) {
			inside = netipx.IPRangeFrom(inside.From(), whole.To())
		}
		return p.c.Errf("%s %s reaches beyond pool %v (%s): write \"%s %s\" for the part inside it",
			r.property, writeRange(r.IPRange), q.Prefix, q.Place, r.property, writeRange(inside))
	}
	return p.c.Errf("%s %s lies in no pool of its line, \"pool %s\" (%s): "+
		"write a range inside one of them, or move the line to the block of the pool that has it",
		r.property, writeRange(r.IPRange), poolRanges(l.pools), l.place)
}

// poolRanges returns the ranges of pools as one line of the Corefile has them.
func poolRanges(pools []PoolConfig) string {
	list := make([]string, len(pools))
	for i, q := range pools {
		list[i] = q.Prefix.String()
	}
	return strings.Join(list, " ")
}

// String returns the pool with what its block states.
func (c PoolConfig) String() string {
	var said []string
	for _, r := range c.Exclude {
		said = append(said, "exclude "+writeRange(r))
	}
	for _, r := range c.Reserve {
		said = append(said, "reserve "+writeRange(r))
	}
	if c.Drain {
		said = append(said, "drain")
	}
	if len(said) == 0 {
		return c.Prefix.String()
	}
	return c.Prefix.String() + " (" + strings.Join(said, ", ") + ")"
}
