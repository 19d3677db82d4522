package allocator

// Of several replicas over one store one leads: it allocates, and all changes are
// its own. The others follow: their tables are what the store shows them, commit
// by commit, in the pools that the table itself has, whatever they are configured
// with. Which one leads is decided elsewhere, and may change at any time: a store
// refuses what one writes that leads no more.

// Follows reports whether the allocator follows what another writes. Then all
// that writes returns ErrFollows, and nothing is ever due.
func (a *Allocator) Follows() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.follows
}

// Lead makes one that follows the one that allocates. It is to have followed all
// that was committed: the store refuses its commits else. The layout that it was
// configured with last is in force from now on, and the table's clock goes on.
func (a *Allocator) Lead() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || !a.follows {
		return
	}
	a.follows = false
	a.lay(a.t)
	a.tellRetired()
	a.unread, a.served, a.wish = true, 0, 0
	// What is shown of a broken table depends on who it is that shows it.
	a.reread = a.broken
}

// StandDown makes one that allocates follow. What was not finished is no longer
// its business: a commit whose outcome is not known, what is held, and what it
// would move. The table may be older than the store's: call Reload next.
func (a *Allocator) StandDown() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || a.follows {
		return
	}
	a.follows, a.reread = true, false
	a.doubt, a.tried = nil, nil
	a.held, a.reasons, a.incomplete = nil, nil, ""
	a.moves, a.stale = Moves{}, ""
	clear(a.notes)
	for s := range a.whys {
		// Who waits for another address since a repair gets it from somebody else.
		if row := a.t.rows[s.key]; row == nil || hasFamily(row, s.v4) {
			delete(a.whys, s)
		}
	}
	a.lay(a.t)
}

// lay gives a table its pools: those of the configuration, and what else it has;
// where another allocates, just those that it has.
func (a *Allocator) lay(t *table) {
	if a.follows {
		t.setPools(t.durable, layoutOf(t.durable))
		return
	}
	t.lay(a.cfg.Layout)
}

// layoutOf returns a layout that gives addresses of the pools that are not retired.
func layoutOf(pools []Pool) Layout {
	var l Layout
	for _, p := range pools {
		if !p.Retired {
			l.Pools = append(l.Pools, Range{Prefix: p.Prefix})
		}
	}
	return l
}
