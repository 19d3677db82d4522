package file

import "time"

// window is a stretch of time that ends when nothing has happened for a while,
// and at the latest a while after it began.
type window struct {
	quiet, limit time.Duration
	first, last  time.Time // zero while closed
}

func (w *window) open() bool { return !w.first.IsZero() }

// extend opens the window, or keeps it open for another while.
func (w *window) extend(now time.Time) {
	if !w.open() {
		w.first = now
	}
	w.last = now
}

// close closes the window.
func (w *window) close() { w.first, w.last = time.Time{}, time.Time{} }

// end returns when an open window ends.
func (w *window) end() time.Time {
	quiet, limit := w.last.Add(w.quiet), w.first.Add(w.limit)
	if limit.Before(quiet) {
		return limit
	}
	return quiet
}

// over reports whether an open window has ended.
func (w *window) over(now time.Time) bool { return w.open() && !now.Before(w.end()) }
