package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http/httptrace"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/meshvip/coredns-meshvip/admin"
	"github.com/meshvip/coredns-meshvip/allocator"
)

// connection is a way to a table: a client of its server, or of the same
// interface over its store in this process.
type connection struct {
	*admin.Client
	target
	// status is what the table was when it was found.
	status admin.Status
}

// blind notes what is not known of a store that was opened without its Corefile,
// where that makes a difference to what is shown.
func (c *connection) blind(s *session) {
	if c.status.Offline && c.configured == nil {
		s.note("without its Corefile only the store's own ranges are known: excludes, reserves, statics and zones are" +
			" missing here, and the cooldown counts as 24h; give --corefile PATH to know them")
	}
}

// access says what a command is going to do with a table.
type access bool

const (
	toRead   access = false
	toChange access = true
)

// connect finds the table and returns a way to it, which ends with the session.
// A store that no server has open is opened here: to read, it is read once and
// let go, and nothing is written to it; to change, it is kept open. One in etcd is
// only ever read.
func (s *session) connect(ctx context.Context, a access) (*connection, error) {
	t, err := s.find()
	if err != nil {
		return nil, err
	}
	if t.admin != "" {
		c, missed := s.reach(ctx, t)
		switch {
		case missed == nil:
			return c, nil
		case ctx.Err() != nil:
			return nil, ctx.Err() // an interrupt says nothing of the server
		case !t.local() || !nobody(missed):
			return nil, unreached(t, missed)
		}
	}
	c, err := s.openStore(ctx, t, a)
	if err != nil {
		return nil, unread(t, err)
	}
	return c, nil
}

// unread is the error of a store that cannot be opened or read.
func unread(t target, err error) error {
	var coded *exitError
	switch {
	case errors.As(err, &coded), errors.Is(err, context.Canceled):
		return err
	case t.etcd != nil:
		return unreadEtcd(t, err)
	case errors.Is(err, allocator.ErrLocked):
		return unopened("%w", locked(t))
	case errors.Is(err, fs.ErrNotExist) && t.configured != nil:
		return unopened("there is no store at %s, as %s has it, and no server answers at %s:"+
			" paths in a Corefile are below the directory in which the server was started; run this there, or give --store PATH too",
			t.store, t.configured.Place, t.admin)
	case errors.Is(err, fs.ErrNotExist):
		return unopened("there is no store at %s (%s), and no server answers at %s:"+
			" name the right one with --store, or the server's Corefile with --corefile", t.store, t.by, t.admin)
	}
	return unopened("%w", err)
}

// answerTime is how long a server may take to say that it is there. One that
// writes a large change answers after it.
const answerTime = 30 * time.Second

// reach asks the server for its status, so that it is known to be there.
func (s *session) reach(ctx context.Context, t target) (*connection, error) {
	client, err := admin.Dial(t.admin)
	if err != nil {
		return nil, usage("%s: %w", t.by, err)
	}
	var taken atomic.Bool
	asking := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { taken.Store(true) },
	})
	asking, stop := context.WithTimeout(asking, s.patience)
	defer stop()
	status, err := client.Status(asking)
	if err != nil {
		client.Close()
		if asking.Err() != nil && ctx.Err() == nil && taken.Load() {
			return nil, unopened("no server answers at %s (%s): it took the connection and did not answer within %s;"+
				" is it meshvip's admin interface, and is the server not stuck?", t.admin, t.by, span(s.patience))
		}
		return nil, err
	}
	s.keep(closerFunc(client.Close))
	return &connection{Client: client, target: t, status: status}, nil
}

// nobody reports whether an error of a connection says that nobody listens
// there.
func nobody(err error) bool {
	return errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOTDIR)
}

// unreached is the error of a server that does not answer.
func unreached(t target, err error) error {
	var told *admin.Error
	var coded *exitError
	switch {
	case errors.As(err, &coded):
		return err
	case errors.As(err, &told):
		return unopened("%s (%s): %w", t.admin, t.by, err)
	case errors.Is(err, fs.ErrPermission):
		return unopened("the admin interface at %s (%s) may not be reached: %w; run this as the user that the server runs as",
			t.admin, t.by, bare(err))
	}
	return unopened("no server answers at %s (%s): %w; is it running, and has the meshvip of its Corefile the line \"admin\"?",
		t.admin, t.by, bare(err))
}

// bare returns an error of a connection without the request that it stopped.
func bare(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// locked is the error of a store that a server has open which is not to be
// reached.
func locked(t target) error {
	if t.configured != nil && t.configured.Admin != "" {
		return fmt.Errorf("another process has the store %s open, and none answers at %s, which %s names:"+
			" is it a server that was started with another Corefile? Give its address with --admin", t.store, t.admin, t.by)
	}
	return fmt.Errorf("a server has the store %s open, and does not answer at %s: add the line \"admin\" to the meshvip"+
		" of its Corefile and reload it, or give the address of its admin interface with --admin", t.store, t.admin)
}

// closerFunc is a function that closes.
type closerFunc func()

func (f closerFunc) Close() error { f(); return nil }
