package file

import (
	"cmp"
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/meshvip/coredns-meshvip/watcher"
)

// Options are what may be set of a [Source]. Zero values mean the defaults.
type Options struct {
	// Zone is our own Kuma zone: its ingress is skipped. Default "default".
	Zone string
	// Domain is what the names of gateways end in that have none of their own,
	// Kuma's DNS domain. Default "mesh".
	Domain string
	// Logger gets what goes wrong and is right again. Default: no log.
	Logger *slog.Logger
	// Debounce is how long to wait for more after a change. Default 20 ms,
	// extended to at most a second while changes keep coming.
	Debounce time.Duration
	// Grace is how long a removed file's resources stay. Default 2 s,
	// extended to at most [MaxGrace] while more files go.
	Grace time.Duration
	// Poll is how often everything is read again. Default 10 s.
	Poll time.Duration
	// MaxFile is the greatest size of a file in bytes. Default 16 MiB.
	MaxFile int64
}

// maxDebounce bounds how long changes that keep coming put off reading.
const maxDebounce = time.Second

// Source follows a directory of resource files. It is a [watcher.Source].
type Source struct {
	dir    string
	opts   Options
	status atomic.Pointer[watcher.Status]
	// notify makes the notifier; tests replace it.
	notify func() (notifier, error)
}

var _ watcher.Source = (*Source)(nil)

// New returns a source that follows the directory dir, which need not exist
// yet. A relative dir is resolved now.
func New(dir string, opts Options) *Source {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	opts.Zone = cmp.Or(opts.Zone, "default")
	opts.Domain = cmp.Or(strings.Trim(opts.Domain, "."), "mesh")
	opts.Debounce = cmp.Or(opts.Debounce, 20*time.Millisecond)
	opts.Grace = cmp.Or(opts.Grace, 2*time.Second)
	opts.Poll = cmp.Or(opts.Poll, 10*time.Second)
	opts.MaxFile = cmp.Or(opts.MaxFile, 16<<20)
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Source{dir: filepath.Clean(dir), opts: opts, notify: newSystemNotifier}
	s.status.Store(&watcher.Status{})
	return s
}

// Status implements [watcher.Source].
func (s *Source) Status() watcher.Status { return *s.status.Load() }

// Run implements [watcher.Source].
func (s *Source) Run(ctx context.Context, feed watcher.Feed) error {
	f := newFollower(s, feed)
	defer f.close()
	f.scan(true)
	for ctx.Err() == nil {
		f.state.commit(time.Now())
		f.publish()
		f.wait(ctx)
	}
	return nil
}
