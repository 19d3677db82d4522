package meshvip

import (
	"fmt"
	"strings"
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

// checkStale returns an error where the block of c has stale, and its store has
// no replicas.
func checkStale(r RuntimeConfig, c Config) error {
	stale := c.Block.StaleServe
	if !stale.Stated() || r.Store.Value.Kind == storeEtcd {
		return nil
	}
	return fmt.Errorf("%s: stale has no effect here: nobody else writes to the store %v, and it is answered from whatever becomes of it; "+
		"remove the line, or keep the table in etcd (\"%s\")", stale.Place, r.Store.Value, etcdExample)
}
