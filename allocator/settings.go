package allocator

import "time"

// Settings are what an allocator works by at the moment; see [Config].
type Settings struct {
	Layout     Layout
	Confirm    string
	ReportOnly bool
	Cooldown   time.Duration
	MaxRelease Limit
}

// Settings returns what the allocator works by.
func (a *Allocator) Settings() Settings {
	a.mu.Lock()
	defer a.mu.Unlock()
	return Settings{
		Layout: a.cfg.Layout.clone(), Confirm: a.cfg.Confirm, ReportOnly: a.cfg.ReportOnly,
		Cooldown: a.cfg.Cooldown, MaxRelease: a.cfg.MaxRelease,
	}
}
