package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/meshvip/coredns-meshvip/watcher"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
)

// follower is one run of a source: the shell around [directory] that lists,
// reads and waits. All of it runs in one goroutine.
type follower struct {
	*Source
	state   *directory
	watches watches
	events  <-chan fsnotify.Event
	errors  <-chan error
	known   map[string]fs.FileInfo // the files as they were read last

	debounce window
	dirty    map[string]struct{} // files to read when it is over
	listing  bool                // list the tree then
	overflow bool                // read everything then: events were lost
	poll     time.Time
	timer    *time.Timer
}

func newFollower(s *Source, feed watcher.Feed) *follower {
	f := &follower{
		Source:   s,
		state:    newDirectory(s.dir, kuma.Home{Zone: s.opts.Zone, Domain: s.opts.Domain}, s.opts.Grace, feed),
		watches:  watches{dirs: make(map[string]fs.FileInfo)},
		known:    make(map[string]fs.FileInfo),
		debounce: window{quiet: s.opts.Debounce, limit: max(maxDebounce, s.opts.Debounce)},
		dirty:    make(map[string]struct{}),
		timer:    time.NewTimer(0),
	}
	f.open()
	return f
}

// open starts the notifier. Without one the poll has to do.
func (f *follower) open() {
	if f.watches.notifier != nil {
		return
	}
	n, err := f.notify()
	if err != nil {
		f.watches.err = err
		return
	}
	f.watches.notifier, f.watches.err = n, nil
	f.events, f.errors = n.channels()
}

func (f *follower) close() {
	f.timer.Stop()
	if f.watches.notifier == nil {
		return
	}
	if err := f.watches.notifier.Close(); err != nil {
		f.opts.Logger.Warn("closing the file watches failed", "dir", f.dir, "err", err)
	}
}

// scan lists the tree and reads what differs from what was read last, or all.
func (f *follower) scan(all bool) {
	now := time.Now()
	f.poll = now.Add(f.opts.Poll)
	f.open()
	tree, err := walk(f.dir)
	// A new watch tells nothing of what came before it, so list once more.
	// Who makes directories as fast as they are listed is caught by the poll.
	for range 3 {
		if !f.watches.follow(f.dir, tree.dirs) {
			break
		}
		tree, err = walk(f.dir)
	}
	f.reportWatches()
	if err != nil {
		f.state.fail(rootError(err))
		return
	}
	paths := make([]string, 0, len(tree.files))
	for path := range tree.files {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	f.state.list(now, paths, tree.closed)
	for _, path := range paths {
		if info := tree.files[path]; all || info == nil || changed(f.known[path], info) {
			f.read(path, info)
		}
	}
	for path := range f.known {
		if _, ok := tree.files[path]; !ok {
			delete(f.known, path)
		}
	}
}

// rootError is an error of the directory itself, in an operator's words.
func rootError(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("the directory does not exist")
	}
	return fmt.Errorf("the directory cannot be listed: %w", err)
}

func (f *follower) reportWatches() {
	why := ""
	if f.watches.err != nil {
		why = fmt.Sprintf("no file events (%v): changes are seen within %v; on Linux raise fs.inotify.max_user_watches and max_user_instances",
			f.watches.err, f.opts.Poll)
	}
	f.state.eventless(why)
}

// changed reports whether a file looks different than before. It is a hint
// that saves reading; what it misses is found by events and the poll.
func changed(before, now fs.FileInfo) bool {
	return before == nil || before.Size() != now.Size() || !before.ModTime().Equal(now.ModTime()) ||
		before.Mode() != now.Mode() || !os.SameFile(before, now)
}

// read reads a file and tells the state. info is what it was before that.
func (f *follower) read(path string, info fs.FileInfo) {
	data, err := readFile(path, f.opts.MaxFile)
	now := time.Now()
	delete(f.known, path)
	switch {
	case errors.Is(err, errAbsent):
		f.state.absent(now, path)
	case err != nil:
		f.state.unreadable(now, path, err)
	default:
		f.state.content(now, path, data)
		if info != nil {
			f.known[path] = info
		}
	}
}

// publish publishes the status, and logs what has changed in it.
func (f *follower) publish() {
	s, came, went := f.state.status()
	f.status.Store(&s)
	for _, p := range came {
		f.opts.Logger.Warn(p.What, "place", p.Place)
	}
	for _, p := range went {
		f.opts.Logger.Info("no longer a problem: "+p.What, "place", p.Place)
	}
}

// wait waits for something to do and does it.
func (f *follower) wait(ctx context.Context) {
	f.timer.Reset(time.Until(f.next()))
	select {
	case <-ctx.Done():
		return
	case ev, ok := <-f.events:
		if !ok {
			f.events = nil // the notifier has ended; the poll has to do
			return
		}
		f.note(ev)
	case err, ok := <-f.errors:
		if !ok {
			f.errors = nil
			return
		}
		f.opts.Logger.Warn("file events failed, reading everything again", "dir", f.dir, "err", err)
		f.overflow = true
		f.debounce.extend(time.Now())
	case <-f.timer.C:
	}
	now := time.Now()
	switch {
	case !now.Before(f.poll):
		f.settle(true)
	case f.debounce.over(now):
		f.settle(f.overflow)
	}
}

// next returns when there is something to do if no event comes before.
func (f *follower) next() time.Time {
	t := f.poll
	if f.debounce.open() && f.debounce.end().Before(t) {
		t = f.debounce.end()
	}
	if w := f.state.wake(); !w.IsZero() && w.Before(t) {
		t = w
	}
	return t
}

// note takes an event up.
func (f *follower) note(ev fsnotify.Event) {
	switch classify(f.dir, ev, f.watches.watched) {
	case nothing:
		return
	case readOne:
		f.dirty[ev.Name] = struct{}{}
	case listTree:
		if ev.Has(fsnotify.Remove) || ev.Has(fsnotify.Rename) {
			// The system has dropped the watch; another directory may have
			// the path by now, even the same inode.
			f.watches.forget(ev.Name)
		}
		f.listing = true
	}
	f.debounce.extend(time.Now())
}

// settle does what the events since the last time ask for, or everything.
func (f *follower) settle(everything bool) {
	dirty := f.dirty
	listing := f.listing
	f.dirty, f.listing, f.overflow = make(map[string]struct{}), false, false
	f.debounce.close()
	if everything || listing {
		f.scan(everything)
	}
	if everything {
		return
	}
	paths := make([]string, 0, len(dirty))
	for path := range dirty {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	for _, path := range paths {
		info, err := os.Stat(path)
		if err == nil && info.IsDir() {
			if !f.watches.watched(path) {
				f.scan(false)
			}
			continue
		}
		f.read(path, info)
	}
}
