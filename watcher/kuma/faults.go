package kuma

import "fmt"

// maxFaults bounds how many faults of one resource are told.
const maxFaults = 20

// faults collects what is wrong with values that are passed over while the
// resource that has them counts.
type faults struct {
	errs []error
	more int // how many were not told
}

func (f *faults) add(err error) {
	if len(f.errs) == maxFaults {
		f.more++
		return
	}
	f.errs = append(f.errs, err)
}

// all returns what was collected, nil if nothing was.
func (f *faults) all() []error {
	if f.more == 0 {
		return f.errs
	}
	return append(f.errs, fmt.Errorf("and %d more values are passed over", f.more))
}
