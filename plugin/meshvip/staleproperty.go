package meshvip

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// stale reads what becomes of answers that another replica may have overtaken.
func (p *parser) stale(args []string) error {
	if len(args) != 1 || args[0] != "serve" {
		return p.c.Errf("stale '%s' is unknown: write \"stale serve\" to go on answering without etcd, "+
			"or leave the line out to answer SERVFAIL when addresses may have changed hands", strings.Join(args, " "))
	}
	p.cfg.Block.StaleServe = Stated[bool]{true, p.place()}
	return nil
}

// checkStale returns an error where the block of c has stale and its store no
// replicas, or where without it no answer could ever be given.
func checkStale(r RuntimeConfig, c Config) error {
	stale, ttl := c.Block.StaleServe, c.Block.TTL
	switch replicas := r.Store.Value.Kind == storeEtcd; {
	case replicas && !stale.Stated() && r.Cooldown.Value <= time.Duration(ttl.Value)*time.Second:
		return fmt.Errorf("%s: cooldown is %v, and the ttl (%s) too: without etcd, answers end after cooldown less ttl, which would be at once; "+
			"raise cooldown, or lower ttl", cmp.Or(r.Cooldown.Place, r.Place), r.Cooldown.Value, cmp.Or(ttl.Place, c.Place+", by default"))
	case replicas || !stale.Stated():
		return nil
	}
	return fmt.Errorf("%s: stale has no effect here: nobody else writes to the store %v, and it is answered from whatever becomes of it; "+
		"remove the line, or keep the table in etcd (\"%s\")", stale.Place, r.Store.Value, etcdExample)
}
