package test

import (
	"sync"
	"time"
)

// uptime counts how long servers have run, from before their start to after
// their end: at least as much as the clock of their table has gone on.
type uptime struct {
	mu    sync.Mutex
	sum   time.Duration
	since time.Time // zero while none runs
}

// up and down are to be called before a server starts and after it has ended.
func (u *uptime) up() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.since = time.Now()
}

func (u *uptime) down() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sum += time.Since(u.since)
	u.since = time.Time{}
}

func (u *uptime) now() time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.since.IsZero() {
		return u.sum
	}
	return u.sum + time.Since(u.since)
}

// listings knows since when each service is listed without a break. It follows
// what happens to the files, and is a moment behind.
type listings struct {
	clock *uptime

	mu sync.Mutex
	// back is when a service that is listed came to be, by its dotted name.
	back map[string]time.Duration
}

// set says what is listed now, and which services may not have been just now.
func (l *listings) set(services, broken []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, was := l.clock.now(), l.back
	l.back = make(map[string]time.Duration, len(services))
	for _, s := range services {
		l.back[dotted(s)] = now
	}
	for _, s := range broken {
		delete(was, dotted(s))
	}
	for name, since := range was {
		if _, listed := l.back[name]; listed {
			l.back[name] = since
		}
	}
}

// throughout reports whether a service has been listed from some time on until
// now.
func (l *listings) throughout(name string, from time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	since, listed := l.back[name]
	return listed && since < from
}
