package watcher

import "slices"

// Problems are what is wrong now, of a source or of several together, and how
// often anything was. The zero value is that of nothing.
type Problems struct {
	// Now is sorted, without repetition. It is not changed once it is there.
	Now []Problem
	// Count is how many have come up since the start.
	Count uint64
}

// Set says what is wrong now, which it sorts in place, and returns which problems
// came up and which went away.
func (p *Problems) Set(now []Problem) (came, went []Problem) {
	slices.SortFunc(now, Problem.Compare)
	now = slices.Compact(now)
	came, went = difference(p.Now, now)
	p.Now = now
	p.Count += uint64(len(came))
	return came, went
}

// difference compares two sorted lists.
func difference(before, after []Problem) (came, went []Problem) {
	for i, j := 0, 0; i < len(before) || j < len(after); {
		c := 0
		switch {
		case i == len(before):
			c = 1
		case j == len(after):
			c = -1
		default:
			c = before[i].Compare(after[j])
		}
		if c < 0 {
			went = append(went, before[i])
		}
		if c > 0 {
			came = append(came, after[j])
		}
		if c <= 0 {
			i++
		}
		if c >= 0 {
			j++
		}
	}
	return came, went
}
