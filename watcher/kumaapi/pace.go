package kumaapi

import (
	"math/rand/v2"
	"time"

	"github.com/cenkalti/backoff/v5"
)

const (
	// maxPause bounds every pause, also the one that a server asks for.
	maxPause = 5 * time.Minute
	// maxIntervals bounds the pause after failures, in intervals.
	maxIntervals = 6
	// jitter is by how much an interval may be longer or shorter.
	jitter = 0.1
)

// pace says how long to wait between passes.
type pace struct {
	interval time.Duration
	failures *backoff.ExponentialBackOff
}

func newPace(interval time.Duration) *pace {
	return &pace{interval: interval, failures: &backoff.ExponentialBackOff{
		InitialInterval:     min(time.Second, interval),
		RandomizationFactor: 0.3,
		Multiplier:          2,
		MaxInterval:         max(interval, min(maxPause, maxIntervals*interval)),
	}}
}

// outcome is how a pass went.
type outcome struct {
	// nothing could be read: none of the kinds.
	nothing bool
	// refused says that there is no sense in asking again soon.
	refused bool
	// leave is how long the control plane asked to be left alone.
	leave time.Duration
}

// pause returns how long to wait after a pass.
func (p *pace) pause(o outcome) time.Duration {
	pause := time.Duration(float64(p.interval) * (1 + jitter*(2*rand.Float64()-1)))
	switch {
	case o.refused:
		pause = max(pause, time.Duration(float64(maxPause)*(1-jitter*rand.Float64())))
	case o.nothing:
		pause = p.failures.NextBackOff()
	default:
		p.failures.Reset()
	}
	return max(pause, o.leave)
}
