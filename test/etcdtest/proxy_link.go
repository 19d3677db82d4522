package etcdtest

import (
	"errors"
	"net"
	"os"
	"sync"
)

// link is one connection by way of a proxy.
type link struct {
	proxy          *Proxy
	client, server *net.TCPConn
	// lacking is set when replies were thrown away, with the gate held.
	lacking bool
	once    sync.Once
	gone    chan struct{} // closed when both connections are
}

// pass passes on what from says, until one side ends. The other is told when the
// proxy's mode lets it know.
func (l *link) pass(from, to *net.TCPConn, d direction) {
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		if !l.write(to, b[:n], d) {
			break
		}
		if err != nil {
			l.wait(d)
			break
		}
	}
	l.close(func(c *net.TCPConn) { c.Close() })
	l.proxy.forget(l)
}

// write passes b on as soon as it may, and reports whether to has all of it, or
// never will have because it was thrown away.
func (l *link) write(to *net.TCPConn, b []byte, d direction) bool {
	for len(b) > 0 {
		n, err := l.try(to, b, d)
		b = b[n:]
		switch {
		case errors.Is(err, errHeld), errors.Is(err, os.ErrDeadlineExceeded):
			l.wait(d)
		case err != nil:
			return false
		}
		select {
		case <-l.gone:
			return false
		default:
		}
	}
	return true
}

// errHeld is returned while nothing may pass.
var errHeld = errors.New("held back")

// try passes on what it can of b, or throws it away, with the gate held.
func (l *link) try(to *net.TCPConn, b []byte, d direction) (int, error) {
	l.proxy.gate.RLock()
	defer l.proxy.gate.RUnlock()
	switch m := l.proxy.mode; {
	case m.passes(d):
		return to.Write(b)
	case m == droppingReplies:
		l.lacking = true
		return len(b), nil
	}
	return 0, errHeld
}

// wait waits until bytes of this direction may pass, or the link is gone.
func (l *link) wait(d direction) {
	for {
		m, over := l.proxy.now()
		if m.passes(d) {
			return
		}
		select {
		case <-over:
		case <-l.gone:
			return
		}
	}
}

// reset ends both connections so that both sides see an error.
func (l *link) reset() { l.close(reset) }

// close ends both connections, once.
func (l *link) close(end func(*net.TCPConn)) {
	l.once.Do(func() {
		end(l.client)
		end(l.server)
		close(l.gone)
	})
}

// reset ends a connection with RST, as the other end of one that is cut may.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0) // it is closed in any case
	c.Close()
}

// forget is called when nothing passes by the link any more.
func (p *Proxy) forget(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}
