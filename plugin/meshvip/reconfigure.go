package meshvip

import "context"

// reconfigure makes cfg the runtime's configuration: what differs is changed,
// and what does not differ goes on undisturbed. It is called when the instance
// whose configuration this is has taken over, never before.
func (r *runtime) reconfigure(cfg RuntimeConfig, options string) {
	r.mu.Lock()
	was, source, alloc := r.cfg, r.source, r.alloc
	r.cfg, r.options = cfg, options
	r.mu.Unlock()
	if alloc == nil {
		return // openLater will open with the new configuration
	}
	ctx := context.Background()
	follows := was.Source.Value != cfg.Source.Value || was.KumaZone.Value != cfg.KumaZone.Value
	if follows {
		source.end()
	}
	if err := alloc.Configure(cfg.Prefixes(), cfg.Cooldown.Value, cfg.limit()); err != nil {
		// The pools were checked when the Corefile was read.
		r.log.Error("the new configuration of the table is not used", "error", err)
	}
	r.showPools()
	r.publish.move(cfg.Publish.Value)
	if err := alloc.SetOptions(ctx, options); err != nil {
		r.log.Error("the table cannot be written", "store", cfg.Store.Value, "error", err)
	}
	r.tickOnce(ctx, alloc)
	if follows {
		r.mu.Lock()
		r.source = follow(r, cfg)
		r.mu.Unlock()
	}
}
