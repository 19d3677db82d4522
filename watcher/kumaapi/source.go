package kumaapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/meshvip/coredns-meshvip/watcher"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
)

// Options are what may be set of a [Source]. Zero values mean the defaults.
type Options struct {
	// TokenFile holds the token of a user of the control plane. It is read for
	// each request, so it may be replaced at any time. Default: no token.
	TokenFile string
	// CA is a file with the certificates of the authorities that the control
	// plane's has to be signed by, in PEM form. It is read before each pass.
	// Default: those of the system.
	CA string
	// Cert and Key are the files of a client certificate, in PEM form. They are
	// read for each connection. Default: none.
	Cert, Key string
	// Interval is the time between two passes, more or less a tenth. Default
	// 10 s.
	Interval time.Duration
	// Timeout is how long one page may take. Default 15 s.
	Timeout time.Duration
	// Follow says that Kuma gives the addresses: no entry gets one from a pool.
	Follow bool
	// Tables tell which addresses Kuma gave to services, hosts and fqdns. They
	// count with Follow only. Default: nobody knows.
	Tables Tables
	// Zone is our own Kuma zone: its ingress is skipped. Default "default".
	Zone string
	// Domain is what the names of gateways end in that have none of their own,
	// Kuma's DNS domain. Default "mesh".
	Domain string
	// MaxPage is the greatest size of one page in bytes. Default 64 MiB.
	MaxPage int64
	// MaxPass is the greatest size of all pages together. Default 4 GiB.
	MaxPass int64
	// Logger gets what goes wrong and is right again. Default: no log.
	Logger *slog.Logger

	// transport is used instead of the network, by tests.
	transport http.RoundTripper
}

// Source follows the REST API of one control plane. It is a [watcher.Source].
type Source struct {
	base   string
	opts   Options
	client *client
	clear  bool // the token goes in clear
	status atomic.Pointer[watcher.Status]
}

var _ watcher.Source = (*Source)(nil)

// New returns a source that follows the API at the URL text, such as
// https://kuma.example.org:5682, which may have a path that a proxy puts before
// it. Neither the control plane nor the files need to be there yet; the error says
// what is wrong with the URL or the options.
func New(text string, opts Options) (*Source, error) {
	base, err := baseURL(text)
	if err != nil {
		return nil, err
	}
	opts.Zone = cmp.Or(opts.Zone, "default")
	opts.Domain = cmp.Or(strings.Trim(opts.Domain, "."), "mesh")
	opts.Interval = cmp.Or(opts.Interval, 10*time.Second)
	opts.Timeout = cmp.Or(opts.Timeout, 15*time.Second)
	opts.MaxPage = cmp.Or(opts.MaxPage, 64<<20)
	opts.MaxPass = cmp.Or(opts.MaxPass, 4<<30)
	if opts.Interval < 0 || opts.Timeout < 0 || opts.MaxPage < 0 || opts.MaxPass < 0 {
		return nil, fmt.Errorf("source %s: an interval, timeout or size is less than nothing: write a greater one", base)
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	c, err := newClient(base, opts)
	if err != nil {
		return nil, fmt.Errorf("source %s: %w", base, err)
	}
	s := &Source{base: base.String(), opts: opts, client: c, clear: opts.TokenFile != "" && base.Scheme == "http" && !loopback(base)}
	s.status.Store(&watcher.Status{})
	return s, nil
}

// baseURL reads the URL of an API.
func baseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("the URL of a control plane cannot be read, write it as in http://127.0.0.1:5681: %w", errors.Unwrap(err))
	}
	switch {
	case u.User != nil:
		return nil, errors.New("the URL of a control plane has a user or password in it, which would be shown: put a token into a file, and give that")
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return nil, fmt.Errorf("%.200q is no URL of a control plane: write one as in http://127.0.0.1:5681 or https://kuma.example.org:5682", text)
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return nil, fmt.Errorf("%.200q has a query or a fragment: leave away what begins with ? or #", text)
	}
	return &url.URL{Scheme: u.Scheme, Host: strings.ToLower(u.Host), Path: strings.TrimRight(u.Path, "/")}, nil
}

// URL returns the URL of the control plane, with which its places begin.
func (s *Source) URL() string { return s.base }

// Status implements [watcher.Source].
func (s *Source) Status() watcher.Status { return *s.status.Load() }

// Run implements [watcher.Source].
func (s *Source) Run(ctx context.Context, feed watcher.Feed) error {
	defer s.client.close()
	f := newFollower(s, feed)
	for f.pass(ctx) {
		f.tell()
		f.wait(ctx)
	}
	return nil
}

func (s *Source) home() kuma.Home { return kuma.Home{Zone: s.opts.Zone, Domain: s.opts.Domain} }
