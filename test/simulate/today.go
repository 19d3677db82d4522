package main

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// today is what was measured of one day.
type today struct {
	day     int
	tally   tally
	counts  counts
	applies []time.Duration // how long each batch took
	ticks   []time.Duration
	waiting []int // how many waited, at each tick
	// written are the bytes that batches wrote to files, tickWritten those of ticks.
	written, tickWritten int
	processor            time.Duration
	entries              int
	// size are the addresses of the pool, of which live have an entry, cooling ones
	// had one within the cooldown, and past ones are remembered to have had one.
	size, live, cooling, past int
	heap                      int
	file                      int64
}

// columns are the head of the table of days.
const columns = "" +
	"      entries  mean  CPU µs  Apply µs       tick µs         in     keys a  KiB written   % of the pool           past      heap    file\n" +
	" day  changed  wait  an entry  p50    p99     p50    max  store     entry  batch  tick   live  cooling  unused   owners   B/entry   MiB\n"

// print prints a line of the table.
func (d today) print(w io.Writer) {
	changed := d.changed()
	applies := slices.Sorted(slices.Values(d.applies))
	ticks := slices.Sorted(slices.Values(d.ticks))
	kib := func(bytes, n int) float64 { return float64(bytes) / 1024 / float64(max(n, 1)) }
	fmt.Fprintf(w, "%4d %8d %5.0f %8d %5d %6d %7d %6d %5.0f%% %9.2f %6.1f %5.1f %6.2f %8.2f %7.2f %8d %9d %5.0f\n",
		d.day, changed, d.meanWaiting(), d.processor.Microseconds()/int64(changed),
		at(applies, 50).Microseconds(), at(applies, 99).Microseconds(),
		at(ticks, 50).Microseconds(), at(ticks, 100).Microseconds(),
		100*d.counts.took.Seconds()/max(total(applies)+total(ticks), 1).Seconds(),
		float64(d.counts.keys-2*len(d.ticks))/float64(changed), kib(d.written, len(applies)), kib(d.tickWritten, len(ticks)),
		d.percent(d.live), d.percent(d.cooling), d.percent(d.unused()), d.past,
		d.heap/max(d.entries, 1), float64(d.file)/(1<<20))
}

// changed counts the entries that went and that came, at least one, to divide by.
func (d today) changed() int { return max(d.tally.went+d.tally.came(), 1) }

// unused counts the addresses of which nobody is known.
func (d today) unused() int { return d.size - d.live - d.cooling - d.past }

func (d today) percent(n int) float64 { return 100 * float64(n) / float64(d.size) }

// meanWaiting is how many entries waited for an address, over the day.
func (d today) meanWaiting() float64 {
	sum := 0
	for _, n := range d.waiting {
		sum += n
	}
	return float64(sum) / float64(max(len(d.waiting), 1))
}

// at returns a percentile of durations, which are sorted.
func at(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)-1)*percent/100]
}

// median returns the middle of durations.
func median(list []time.Duration) time.Duration {
	return at(slices.Sorted(slices.Values(list)), 50)
}

func total(list []time.Duration) time.Duration {
	var sum time.Duration
	for _, d := range list {
		sum += d
	}
	return sum
}
