package meshvip

import "time"

// leastPause is at least between two looks at what fell due in the table.
const leastPause = 200 * time.Millisecond

// alarm rings when something in the table falls due by itself, such as the end
// of a cooldown that an entry waits for. It rings at that time, and more and
// more seldom where nothing comes of it, so that a table that cannot be written
// is not tried again and again.
type alarm struct {
	*time.Timer
	rang  time.Time     // when it rang last
	pause time.Duration // at least, until it rings again
}

// newAlarm returns an alarm that is not set.
func newAlarm() *alarm {
	a := &alarm{Timer: time.NewTimer(0), pause: leastPause}
	a.Stop()
	return a
}

// set lets it ring once, after d; not at all where nothing falls due.
func (a *alarm) set(d time.Duration, due bool) {
	if !due {
		a.Stop()
		return
	}
	a.Reset(max(d, a.pause-time.Since(a.rang)))
}

// rings notes that it has rung.
func (a *alarm) rings() {
	a.rang = time.Now()
	a.pause = min(2*a.pause, tickInterval)
}

// changed notes that the table has: what falls due may be something else.
func (a *alarm) changed() { a.pause = leastPause }
