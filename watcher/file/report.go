package file

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/meshvip/coredns-meshvip/watcher"
)

// report is what was last said of the state.
type report struct {
	stale    bool // something may have changed since
	synced   bool // all of it was known once
	lastSync time.Time
	problems watcher.Problems
}

// status brings the report up to date. It also returns which problems came up
// and which went away.
func (d *directory) status() (s watcher.Status, came, went []watcher.Problem) {
	if d.stale {
		came, went = d.problems.Set(d.collect())
		d.stale = false
	}
	return watcher.Status{Synced: d.synced, LastSync: d.lastSync, Errors: d.problems.Count, Problems: d.problems.Now}, came, went
}

// collect returns all that is wrong.
func (d *directory) collect() []watcher.Problem {
	var ps []watcher.Problem
	whole := func(format string, args ...any) {
		ps = append(ps, watcher.Problem{Place: d.path, What: fmt.Sprintf(format, args...)})
	}
	switch {
	case d.failure != "" && !d.listed:
		whole("%s: create the directory, or correct its path or permissions; nothing is known until it can be read", d.failure)
	case d.failure != "":
		whole("%s: put the directory back, or make it readable; nothing is released meanwhile", d.failure)
	case d.listed && d.present() == 0:
		whole("the directory holds no resource file (*.yaml, *.yml, *.json): put the files back, or a file with only a comment if it is meant to hold none; nothing is released meanwhile")
	}
	if d.events != "" {
		whole("%s", d.events)
	}
	for dir, why := range d.closed {
		ps = append(ps, watcher.Problem{Place: dir, What: why + ": make the directory readable; what was read below it before stays"})
	}
	for path := range d.troubled {
		f := d.files[path]
		ps = append(ps, f.content...)
		if f.unread != "" {
			ps = append(ps, watcher.Problem{Place: path, What: f.unread})
		}
	}
	return ps
}

// missing says what was never read, "" where nothing is. It names the first
// few places.
func (d *directory) missing() string {
	const few = 3
	if !d.settled {
		if d.present() == 0 {
			return fmt.Sprintf("%s holds no resource file", d.path)
		}
		return fmt.Sprintf("%s was empty or missing at the start and is being filled", d.path)
	}
	if len(d.incomplete) == 0 {
		return ""
	}
	places := make([]string, 0, len(d.incomplete))
	for path := range d.incomplete {
		places = append(places, path)
	}
	slices.Sort(places)
	more := ""
	if n := len(places) - few; n > 0 {
		places, more = places[:few], fmt.Sprintf(" and %d more", n)
	}
	return "never read well: " + strings.Join(places, ", ") + more
}

// below reports whether path is in one of dirs, at any depth.
func below(path string, dirs map[string]error) bool {
	if len(dirs) == 0 {
		return false
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if _, ok := dirs[dir]; ok {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}
