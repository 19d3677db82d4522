package meshvip

import (
	"testing"
	"testing/synctest"
	"time"
)

// until returns how long it is until the alarm rings.
func (a *alarm) until() time.Duration {
	begin := time.Now()
	<-a.C
	return time.Since(begin)
}

func TestTheAlarmRingsWhenSomethingFallsDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAlarm()
		a.set(time.Hour, true)
		a.set(3*time.Second, true)
		if d := a.until(); d != 3*time.Second {
			t.Errorf("it rang after %v, want 3s", d)
		}
		a.rings()
		a.changed()
		a.set(time.Minute, true)
		if d := a.until(); d != time.Minute {
			t.Errorf("it rang after %v, want 1m", d)
		}
		a.rings()
		a.set(time.Minute, true)
		a.set(0, false)
		select {
		case <-a.C:
			t.Error("it rang where nothing falls due")
		case <-time.After(time.Hour):
		}
	})
}

// What is due and cannot be done would be due at once again, for ever.
func TestTheAlarmDoesNotRingOnAndOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAlarm()
		a.set(0, true)
		if d := a.until(); d != 0 {
			t.Errorf("it rang after %v, want at once", d)
		}
		rung := 0
		begin := time.Now()
		for time.Since(begin) < time.Hour {
			a.rings()
			a.set(0, true)
			<-a.C
			rung++
		}
		if rung > 75 {
			t.Errorf("it rang %d times in an hour in which nothing came of it", rung)
		}
		a.rings()
		a.changed() // another commit made it work
		a.set(0, true)
		if d := a.until(); d > leastPause {
			t.Errorf("after a change it rang after %v, want %v", d, leastPause)
		}
	})
}
