package file

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/meshvip/coredns-meshvip/watcher"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
)

// MaxGrace bounds how long the grace of removed files is extended.
const MaxGrace = 15 * time.Second

// file is what is known of one resource file.
type file struct {
	// hash is of the content that was interpreted last.
	hash [sha256.Size]byte
	// good says that some content could be read as documents.
	good bool
	// content are the problems of that content.
	content []watcher.Problem
	// unread says why the file could not be read the last time.
	unread string
}

// directory is the state machine of the source. It is told what was seen of
// the directory and at what time, and what it makes of that it tells its feed. It does no
// input or output, knows no other clock, and is not safe for concurrent use.
type directory struct {
	path string
	home kuma.Home

	feed  watcher.Feed
	files map[string]*file
	gone  map[string]struct{} // files that are missing and in their grace
	// incomplete are the files, and subdirectories, of which something was
	// never read.
	incomplete map[string]struct{}
	troubled   map[string]struct{} // files that have problems
	closed     map[string]string   // subdirectories that cannot be listed, and why

	grace window
	// listed says that the directory could be listed once.
	listed bool
	// settled says that it is known what the directory holds; it is not while
	// a directory that was empty or missing at the start is being filled.
	settled bool
	failure string // why the directory cannot be listed now
	events  string // why there are no file events

	report
}

func newDirectory(path string, home kuma.Home, grace time.Duration, feed watcher.Feed) *directory {
	return &directory{
		path:       path,
		home:       home,
		feed:       feed,
		files:      make(map[string]*file),
		gone:       make(map[string]struct{}),
		incomplete: make(map[string]struct{}),
		troubled:   make(map[string]struct{}),
		closed:     make(map[string]string),
		grace:      window{quiet: grace, limit: max(grace, MaxGrace)},
		report:     report{stale: true},
	}
}

// present returns how many resource files the directory holds.
func (d *directory) present() int { return len(d.files) - len(d.gone) }

// content says that the file at path was read.
func (d *directory) content(now time.Time, path string, data []byte) {
	f := d.found(now, path)
	d.read(now)
	hash := sha256.Sum256(data)
	if f.hash == hash && f.unread == "" {
		return
	}
	again := f.hash == hash
	f.hash, f.unread = hash, ""
	if !again {
		d.interpret(path, f, data)
	}
	d.assess(path, f)
}

func (d *directory) interpret(path string, f *file, data []byte) {
	c, err := interpret(path, data, d.feed.Place(path), d.home)
	if err != nil {
		state := "its last good content stays"
		if !f.good {
			state = "nothing of it is known"
		}
		f.content = []watcher.Problem{{Place: path, What: fmt.Sprintf("%v (%s)", err, state)}}
		return
	}
	f.good = true
	f.content = c.problems
	d.feed.Put(path, c.resources)
	if c.unknown {
		d.incomplete[path] = struct{}{}
	} else {
		delete(d.incomplete, path)
	}
}

// unreadable says that there is a file at path, but that it could not be read.
func (d *directory) unreadable(now time.Time, path string, why error) {
	f := d.found(now, path)
	f.unread = why.Error()
	d.assess(path, f)
}

// assess notes what is wrong with a file.
func (d *directory) assess(path string, f *file) {
	d.stale = true
	if !f.good {
		d.incomplete[path] = struct{}{}
	}
	if f.unread != "" || len(f.content) > 0 {
		d.troubled[path] = struct{}{}
	} else {
		delete(d.troubled, path)
	}
}

// found returns the file at path, which is there.
func (d *directory) found(now time.Time, path string) *file {
	f := d.files[path]
	_, back := d.gone[path]
	if f != nil && !back {
		return f
	}
	d.stale = true
	if d.present() == 0 {
		// The first to come into an empty directory: whoever fills it gets
		// the whole grace for the rest.
		d.grace.close()
	}
	if f == nil {
		f = new(file)
		d.files[path] = f
	}
	delete(d.gone, path)
	if len(d.gone) > 0 || !d.settled {
		d.grace.extend(now)
	}
	return f
}

// absent says that there is no file at path.
func (d *directory) absent(now time.Time, path string) {
	if _, gone := d.gone[path]; gone || d.files[path] == nil {
		return
	}
	d.stale = true
	d.gone[path] = struct{}{}
	d.grace.extend(now)
}

// list says which files the directory holds, and which of its subdirectories
// could not be listed, and why. What the files hold is told separately.
func (d *directory) list(now time.Time, paths []string, closed map[string]error) {
	again := d.failure != ""
	if again || !d.listed {
		// A directory that was there at once, with files in it, is taken as
		// it is; one that appears later is perhaps still being filled.
		d.settled = d.settled || !again && len(paths) > 0
	}
	d.listed, d.failure, d.stale = true, "", true
	for dir := range d.closed {
		delete(d.incomplete, dir)
	}
	clear(d.closed)
	for dir, why := range closed {
		d.closed[dir] = why.Error()
		d.incomplete[dir] = struct{}{}
	}
	there := make(map[string]struct{}, len(paths))
	for _, path := range paths {
		there[path] = struct{}{}
	}
	if again && len(d.gone) > 0 {
		d.grace.close()
		d.grace.extend(now)
	}
	for path := range d.files {
		if _, ok := there[path]; !ok && !below(path, closed) {
			d.absent(now, path)
		}
	}
	if len(paths) > 0 {
		d.read(now)
	}
}

// fail says that the directory as a whole could not be listed.
func (d *directory) fail(why error) {
	d.failure, d.stale = why.Error(), true
}

// eventless says why there are no file events, "" where there are.
func (d *directory) eventless(why string) {
	if d.events != why {
		d.events, d.stale = why, true
	}
}

// read notes that the source could be read.
func (d *directory) read(now time.Time) {
	if d.failure == "" {
		d.lastSync = now
	}
}

// expire lets go what has been missing for its grace.
func (d *directory) expire(now time.Time) {
	if d.failure != "" || !d.grace.over(now) {
		return
	}
	d.grace.close()
	if d.present() == 0 {
		return // held until a file comes back, see found
	}
	d.stale, d.settled = true, true
	for path := range d.gone {
		d.feed.Put(path, nil)
		delete(d.files, path)
		delete(d.incomplete, path)
		delete(d.troubled, path)
	}
	clear(d.gone)
}

// commit lets go what is due, and tells the feed of all that was seen since the
// last time.
func (d *directory) commit(now time.Time) {
	d.expire(now)
	s := watcher.State{Read: d.listed, Incomplete: d.missing()}
	d.synced = d.synced || s.Read && s.Incomplete == ""
	d.feed.Commit(s)
}

// wake returns when commit has something to do even if nothing happens, the zero
// time if never.
func (d *directory) wake() time.Time {
	if d.grace.open() && d.failure == "" {
		return d.grace.end()
	}
	return time.Time{}
}
