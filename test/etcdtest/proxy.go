package etcdtest

import (
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy is a TCP proxy on loopback between a client and a server, which loses what
// a network may lose. It passes everything until it is told otherwise. Each of its
// methods is in force when it returns: not one byte passes after Blackhole.
type Proxy struct {
	target   string
	listener net.Listener
	running  sync.WaitGroup

	// Whoever passes bytes on holds gate for reading.
	gate    sync.RWMutex
	mode    mode
	changed chan struct{} // closed when the mode changes

	mu    sync.Mutex
	links map[*link]bool
}

// mode is what a proxy does.
type mode int

const (
	passing mode = iota
	cut
	blackhole
	droppingReplies
	closed
)

// direction is that of bytes.
type direction int

const (
	requests direction = iota
	replies
)

// passes reports whether bytes are passed on.
func (m mode) passes(d direction) bool {
	return m == passing || m == droppingReplies && d == requests
}

// NewProxy starts a proxy for target, "127.0.0.1:4711" as of Server.Addr. It ends
// with the test, and all connections with it.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{target: target, listener: l, changed: make(chan struct{}), links: make(map[*link]bool)}
	p.running.Go(p.accept)
	t.Cleanup(func() {
		p.become(closed)
		l.Close()
		p.running.Wait()
	})
	return p
}

// Addr returns where the proxy listens, "127.0.0.1:4712".
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Cut resets all connections, and each that comes from then on.
func (p *Proxy) Cut() { p.become(cut) }

// Blackhole keeps connections open, and takes new ones, and passes nothing in
// either direction, the end of a connection neither. What is sent meanwhile arrives
// after Heal, as on a network that tries again.
func (p *Proxy) Blackhole() { p.become(blackhole) }

// DropReplies passes requests on and throws replies away: what was asked for
// happens, and the client never learns of it. Connections whose replies were thrown
// away are reset when the mode changes, for they lack bytes. A connection that is
// made meanwhile hears nothing either, so gRPC does not use it.
func (p *Proxy) DropReplies() { p.become(droppingReplies) }

// Heal passes everything again.
func (p *Proxy) Heal() { p.become(passing) }

// become changes the mode, once nobody is passing bytes on any more.
func (p *Proxy) become(m mode) {
	p.expire(time.Unix(1, 0)) // who waits for a peer that does not read gives up the gate
	p.gate.Lock()
	defer p.gate.Unlock()
	p.expire(time.Time{})
	p.mode = m
	close(p.changed)
	p.changed = make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		if m == cut || m == closed || l.lacking && m != droppingReplies {
			l.reset()
		}
	}
}

// expire sets the deadline of all that is written.
func (p *Proxy) expire(at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		_ = l.client.SetWriteDeadline(at) // one that is closed has none
		_ = l.server.SetWriteDeadline(at)
	}
}

// now returns the mode, and what is closed when it is over.
func (p *Proxy) now() (mode, <-chan struct{}) {
	p.gate.RLock()
	defer p.gate.RUnlock()
	return p.mode, p.changed
}

// accept takes connections until the listener is closed.
func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.connect(client.(*net.TCPConn)) })
	}
}

// connect connects a client with the server, when it may.
func (p *Proxy) connect(client *net.TCPConn) {
	for {
		m, over := p.now()
		if m == cut || m == closed {
			reset(client)
			return
		}
		if m.passes(requests) {
			break
		}
		<-over
	}
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		reset(client)
		return
	}
	l := &link{proxy: p, client: client, server: server.(*net.TCPConn), gone: make(chan struct{})}
	if !p.add(l) {
		l.reset()
		return
	}
	p.running.Go(func() { l.pass(l.client, l.server, requests) })
	p.running.Go(func() { l.pass(l.server, l.client, replies) })
}

// add keeps a link, unless it came too late.
func (p *Proxy) add(l *link) bool {
	p.gate.RLock()
	defer p.gate.RUnlock()
	if p.mode == cut || p.mode == closed {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.links[l] = true
	return true
}
