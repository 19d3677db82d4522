package file

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher"
)

// following is a source that runs on a real directory.
type following struct {
	*testing.T
	dir     string
	source  *Source
	union   *watcher.Union
	table   table
	batches chan vip.Batch
	ended   chan error
	stop    context.CancelFunc
	lost    atomic.Bool // some batch dropped an entry
}

// follow runs a source until the test ends. Where the poll is an hour, only
// events can tell it of changes.
func follow(t *testing.T, dir string, opts Options, change func(*Source)) *following {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	f := &following{T: t, dir: dir, table: table{}, batches: make(chan vip.Batch), ended: make(chan error, 1), stop: stop}
	f.source = New(dir, opts)
	if change != nil {
		change(f.source)
	}
	f.union = watcher.NewUnion(dir)
	go func() {
		f.ended <- runBoth(ctx, f.source, f.union, func(b vip.Batch) error {
			select {
			case f.batches <- b:
			case <-ctx.Done():
			}
			return nil
		})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-f.ended; err != nil {
			t.Errorf("Run returned %v", err)
		}
	})
	return f
}

// runBoth runs a source and the union that it feeds until both have ended.
func runBoth(ctx context.Context, s *Source, u *watcher.Union, out func(vip.Batch) error) error {
	delivered := make(chan struct{})
	go func() {
		defer close(delivered)
		u.Run(ctx, slog.New(slog.DiscardHandler), out)
	}()
	err := s.Run(ctx, u.Feed(0))
	<-delivered
	return err
}

var byEvents = Options{Debounce: time.Millisecond, Grace: 5 * time.Millisecond, Poll: time.Hour}

// await applies batches until the table is as wanted. A source that never gets
// there fails the test by its deadline.
func (f *following) await(want string) {
	f.Helper()
	deadline := time.After(time.Minute)
	for {
		select {
		case b := <-f.batches:
			before := len(f.table)
			f.table.apply(b)
			if len(f.table) < before {
				f.lost.Store(true)
			}
			if f.table.String() == want {
				return
			}
		case <-deadline:
			f.Fatalf("the table stays %q, want %q; status %+v", f.table, want, f.source.Status())
		}
	}
}

func (f *following) path(name string) string { return filepath.Join(f.dir, name) }

func (f *following) write(name, text string) {
	f.Helper()
	write(f.T, f.path(name), text)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// must fails the test for any of errs.
func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestChangesAreSeenByEvents(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.yaml"), dp("a", "a1"))
	f := follow(t, dir, byEvents, nil)
	f.await("0:a1")
	f.write("b.json", `{"type":"Dataplane","name":"b","networking":{"inbound":[{"tags":{"kuma.io/service":"b1"}}]}}`)
	f.await("0:a1 0:b1")
	f.write("a.yaml", dp("a", "a2"))
	f.await("0:a2 0:b1")
	f.write("deep/er/c.yml", dp("c", "c1"))
	f.await("0:a2 0:b1 0:c1")
	f.write("deep/er/c.yml", dp("c", "c2"))
	f.await("0:a2 0:b1 0:c2")
	must(t, os.Rename(f.path("deep"), f.path("moved")))
	f.write("moved/er/d.yml", dp("d", "d1"))
	f.await("0:a2 0:b1 0:c2 0:d1")
	f.write("moved/er/c.yml", dp("c", "c3"))
	f.await("0:a2 0:b1 0:c3 0:d1")
	must(t, os.RemoveAll(f.path("moved")))
	f.await("0:a2 0:b1")
	f.write("moved/er/c.yml", dp("c", "c4"))
	f.await("0:a2 0:b1 0:c4")
	must(t, os.Remove(f.path("b.json")))
	f.await("0:a2 0:c4")
	f.write("odd.yaml/e.yaml", dp("e", "e1")) // a directory named like a file
	f.await("0:a2 0:c4 0:e1")
}

func TestWhatEditorsLeaveBehindIsSkipped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{".a.yaml", ".a.yaml.swp", "a.yaml~", "#a.yaml#", "#a.yaml", "~a.yaml", "a.yaml.tmp", "a.txt", "yaml", ".git/a.yaml", "..2026/a.yaml"} {
		write(t, filepath.Join(dir, name), dp(name, "wrong"))
	}
	write(t, filepath.Join(dir, "a.yaml"), dp("a", "a"))
	f := follow(t, dir, byEvents, nil)
	f.await("0:a")
	if s := f.source.Status(); len(s.Problems) > 0 {
		t.Errorf("problems %v", s.Problems)
	}
}

func TestAReplacedFileIsSeenAndLosesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.yaml"), dp("a", "keep", "v0"))
	write(t, filepath.Join(dir, "z.yaml"), dp("z", "z"))
	f := follow(t, dir, Options{Debounce: time.Millisecond, Grace: time.Minute, Poll: time.Hour}, nil)
	f.await("0:keep 0:v0 0:z")
	for i := 1; i <= 5; i++ {
		text := dp("a", "keep", fmt.Sprint("v", i))
		if i%2 == 0 { // as editors do: write beside, rename over
			write(t, f.path("4913"), text)
			must(t, os.Rename(f.path("4913"), f.path("a.yaml")))
		} else { // or move away and create
			must(t, os.Rename(f.path("a.yaml"), f.path("a.yaml~")))
			write(t, f.path("a.yaml"), text)
		}
		f.await(fmt.Sprintf("0:keep 0:v%d 0:z", i))
	}
	must(t, os.Remove(f.path("a.yaml")))
	write(t, f.path("a.yaml"), dp("a", "keep", "v6"))
	f.await("0:keep 0:v6 0:z")
	if f.lost.Load() {
		t.Error("the table shrank on the way")
	}
}

// mount lays a directory out as Kubernetes mounts a ConfigMap.
func mount(t *testing.T, dir string, version int, files map[string]string) {
	t.Helper()
	data := fmt.Sprintf("..2026_%d", version)
	for name, text := range files {
		write(t, filepath.Join(dir, data, name), text)
	}
	old, _ := os.Readlink(filepath.Join(dir, "..data"))
	must(t, os.Symlink(data, filepath.Join(dir, "..data_tmp")), os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	for name := range files {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			must(t, os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)))
		}
	}
	if old != "" {
		must(t, os.RemoveAll(filepath.Join(dir, old)))
	}
}

func TestMountedConfigMapsAreFollowedOverSwaps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mount(t, dir, 0, map[string]string{"a.yaml": dp("a", "keep", "v0"), "b.yaml": dp("b", "b")})
	f := follow(t, dir, Options{Debounce: time.Millisecond, Grace: time.Minute, Poll: time.Hour}, nil)
	f.await("0:b 0:keep 0:v0")
	for i := 1; i <= 5; i++ {
		mount(t, dir, i, map[string]string{"a.yaml": dp("a", "keep", fmt.Sprint("v", i)), "b.yaml": dp("b", "b")})
		f.await(fmt.Sprintf("0:b 0:keep 0:v%d", i))
	}
	if f.lost.Load() {
		t.Error("the table shrank on the way")
	}
	mount(t, dir, 6, map[string]string{"a.yaml": dp("a", "keep", "v6"), "b.yaml": dp("b", "b"), "c.yaml": dp("c", "c")})
	f.await("0:b 0:c 0:keep 0:v6")
}

func TestASwappedLinkToADirectoryIsFollowed(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	swap := func(link string, version int) {
		target := fmt.Sprintf("v%d", version)
		write(t, filepath.Join(base, target, "a.yaml"), dp("a", target))
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(base, link)), 0o755))
		tmp := filepath.Join(base, "tmp")
		must(t, os.Symlink(filepath.Join(base, target), tmp), os.Rename(tmp, filepath.Join(base, link)))
	}
	t.Run("as the directory itself", func(t *testing.T) {
		swap("current", 0)
		f := follow(t, filepath.Join(base, "current"), byEvents, nil)
		f.await("0:v0")
		for i := 1; i <= 5; i++ {
			swap("current", i)
			f.await(fmt.Sprint("0:v", i))
		}
		write(t, filepath.Join(base, "v5", "a.yaml"), dp("a", "in-place"))
		f.await("0:in-place")
	})
	t.Run("inside the directory", func(t *testing.T) {
		swap("tree/sub", 10)
		f := follow(t, filepath.Join(base, "tree"), byEvents, nil)
		f.await("0:v10")
		for i := 11; i <= 15; i++ {
			swap("tree/sub", i)
			f.await(fmt.Sprint("0:v", i))
		}
		write(t, filepath.Join(base, "v15", "a.yaml"), dp("a", "in-place"))
		f.await("0:in-place")
	})
}

func TestADirectoryThatAppearsOrGoesIsSeen(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "later")
	f := follow(t, dir, byEvents, nil)
	write(t, dir+".tmp/a.yaml", dp("a", "a"))
	must(t, os.Rename(dir+".tmp", dir))
	f.await("0:a")
	must(t, os.Rename(dir, dir+".away"))
	write(t, dir+".new/a.yaml", dp("a", "a"))
	write(t, dir+".new/b.yaml", dp("b", "b"))
	must(t, os.Rename(dir+".new", dir))
	f.await("0:a 0:b")
	f.write("b.yaml", dp("b", "c"))
	f.await("0:a 0:c")
}

func TestAChangeAtTheSameTimeAndSizeIsSeen(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Source){
		"by events":   nil,
		"by the poll": func(s *Source) { s.notify = noEvents },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "a.yaml")
			when := time.Unix(1e9, 0)
			write(t, path, dp("a", "one"))
			must(t, os.Chtimes(path, when, when))
			opts := byEvents
			if change != nil {
				opts.Poll = 2 * time.Millisecond
			}
			f := follow(t, dir, opts, change)
			f.await("0:one")
			write(t, path, dp("a", "two"))
			must(t, os.Chtimes(path, when, when))
			f.await("0:two")
		})
	}
}

func noEvents() (notifier, error) {
	return nil, fmt.Errorf("too many open files")
}

// tight is a notifier whose limit of watches is reached at once.
type tight struct{ notifier }

func (tight) Add(string) error { return fmt.Errorf("no space left on device") }

func TestWithoutEventsThePollGoesOn(t *testing.T) {
	t.Parallel()
	for name, notify := range map[string]func() (notifier, error){
		"no notifier": noEvents,
		"no watches": func() (notifier, error) {
			n, err := newSystemNotifier()
			return tight{n}, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, filepath.Join(dir, "a.yaml"), dp("a", "a"))
			opts := Options{Debounce: time.Millisecond, Grace: time.Millisecond, Poll: 2 * time.Millisecond}
			f := follow(t, dir, opts, func(s *Source) { s.notify = notify })
			f.await("0:a")
			s := f.source.Status()
			if len(s.Problems) != 1 || !strings.Contains(s.Problems[0].What, "no file events") || !strings.Contains(s.Problems[0].What, "max_user_watches") {
				t.Errorf("problems %v", s.Problems)
			}
			f.write("s/b.yaml", dp("b", "b"))
			f.await("0:a 0:b")
			must(t, os.Remove(f.path("a.yaml")))
			f.await("0:b")
			if n := f.source.Status().Errors; n != 1 {
				t.Errorf("%d errors counted, want 1", n)
			}
		})
	}
}

// scripted is a notifier that says what a test tells it to.
type scripted struct {
	events chan fsnotify.Event
	errors chan error
}

func newScripted() *scripted {
	return &scripted{make(chan fsnotify.Event), make(chan error)}
}

func (*scripted) Add(string) error    { return nil }
func (*scripted) Remove(string) error { return nil }
func (*scripted) Close() error        { return nil }
func (s *scripted) channels() (<-chan fsnotify.Event, <-chan error) {
	return s.events, s.errors
}

func TestLostEventsMakeItReadEverything(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.yaml"), dp("a", "a"))
	n := newScripted()
	f := follow(t, dir, byEvents, func(s *Source) { s.notify = func() (notifier, error) { return n, nil } })
	f.await("0:a")
	f.write("a.yaml", dp("a", "b"))
	f.write("s/c.yaml", dp("c", "c"))
	n.errors <- fsnotify.ErrEventOverflow
	f.await("0:b 0:c")
	close(n.events) // a notifier that ends must not make it spin
	f.write("a.yaml", dp("a", "d"))
	n.errors <- fsnotify.ErrEventOverflow
	f.await("0:c 0:d")
}
