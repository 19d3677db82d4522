package etcdtest

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// echo starts a server that answers each message with itself, and tells what it
// got.
func echo(t testing.TB) (addr string, got <-chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	messages := make(chan string, 64)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				b := make([]byte, 1<<10)
				for {
					n, err := c.Read(b)
					if err != nil {
						messages <- "end"
						return
					}
					messages <- string(b[:n])
					_, _ = c.Write(b[:n]) // it notices at the next Read
				}
			}()
		}
	}()
	return l.Addr().String(), messages
}

// peer is a client of an echo server.
type peer struct {
	net.Conn
	t testing.TB
}

func dial(t testing.TB, addr string) peer {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return peer{c, t}
}

func (p peer) say(text string) {
	p.t.Helper()
	if _, err := io.WriteString(p, text); err != nil {
		p.t.Error(err)
	}
}

// hears fails the test unless text comes next.
func (p peer) hears(text string) {
	p.t.Helper()
	_ = p.SetReadDeadline(time.Now().Add(patience))
	b := make([]byte, len(text))
	if _, err := io.ReadFull(p, b); err != nil || string(b) != text {
		p.t.Errorf("heard %q, %v, want %q", b, err, text)
	}
}

// hearsNothing fails the test if anything comes, an end too.
func (p peer) hearsNothing() {
	p.t.Helper()
	_ = p.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := p.Read(make([]byte, 10)); !errors.Is(err, os.ErrDeadlineExceeded) {
		p.t.Errorf("heard %d bytes, %v", n, err)
	}
}

// isReset fails the test unless the connection breaks.
func (p peer) isReset() {
	p.t.Helper()
	_ = p.SetReadDeadline(time.Now().Add(patience))
	if n, err := p.Read(make([]byte, 10)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		p.t.Errorf("heard %d bytes, %v, want the connection to break", n, err)
	}
}

// nothing fails the test if the server got anything.
func nothing(t testing.TB, got <-chan string) {
	t.Helper()
	select {
	case text := <-got:
		t.Errorf("the server got %q", text)
	default:
	}
}

func expect(t testing.TB, got <-chan string, want string) {
	t.Helper()
	select {
	case text := <-got:
		if text != want {
			t.Errorf("the server got %q, want %q", text, want)
		}
	case <-time.After(patience):
		t.Errorf("the server never got %q", want)
	}
}

func TestACutBreaksEveryConnectionUntilItHeals(t *testing.T) {
	t.Parallel()
	addr, got := echo(t)
	p := NewProxy(t, addr)
	c := dial(t, p.Addr())
	c.say("before")
	c.hears("before")
	expect(t, got, "before")
	p.Cut()
	c.isReset()
	if c, err := net.Dial("tcp", p.Addr()); err == nil { // a fast one fails itself
		peer{c, t}.isReset()
		c.Close()
	}
	expect(t, got, "end")
	p.Heal()
	c = dial(t, p.Addr())
	c.say("after")
	c.hears("after")
	expect(t, got, "after")
}

func TestABlackholeHoldsEverythingBackUntilItHeals(t *testing.T) {
	t.Parallel()
	addr, got := echo(t)
	p := NewProxy(t, addr)
	old, leaver := dial(t, p.Addr()), dial(t, p.Addr())
	for _, c := range []peer{old, leaver} {
		c.say("before")
		c.hears("before")
		expect(t, got, "before")
	}
	p.Blackhole()
	fresh := dial(t, p.Addr())
	fresh.say("fresh")
	old.say("during")
	leaver.Close()
	old.hearsNothing()
	fresh.hearsNothing()
	nothing(t, got)
	p.Heal()
	old.hears("during")
	fresh.hears("fresh")
	heard := map[string]bool{}
	for range 3 {
		heard[<-got] = true
	}
	if !heard["during"] || !heard["fresh"] || !heard["end"] {
		t.Errorf("the server got %v", heard)
	}
	// From a blackhole to a cut.
	p.Blackhole()
	fresh = dial(t, p.Addr())
	p.Cut()
	old.isReset()
	fresh.isReset()
}

func TestDroppedRepliesAreOfRequestsThatArrived(t *testing.T) {
	t.Parallel()
	addr, got := echo(t)
	p := NewProxy(t, addr)
	c, idle := dial(t, p.Addr()), dial(t, p.Addr())
	for _, c := range []peer{c, idle} {
		c.say("before")
		c.hears("before")
		expect(t, got, "before")
	}
	p.DropReplies()
	c.say("during")
	expect(t, got, "during")
	c.hearsNothing()
	p.Heal()
	c.isReset() // it lacks a reply
	expect(t, got, "end")
	idle.say("after")
	idle.hears("after")
}

func TestAModeIsInForceThoughAPeerDoesNotRead(t *testing.T) {
	t.Parallel()
	deaf, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	p := NewProxy(t, deaf.Addr().String())
	c := dial(t, p.Addr())
	fill := func(limit time.Duration) error {
		_ = c.SetWriteDeadline(time.Now().Add(limit))
		_, err := c.Write(make([]byte, 64<<20)) // more than buffers hold
		return err
	}
	if err := fill(200 * time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("writing more than anybody reads: %v", err)
	}
	p.Blackhole()
	p.Cut()
	if err := fill(patience); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("writing to a connection that was cut: %v", err)
	}
}

func TestAClientOfEtcdLearnsNothingOfWhatItWrote(t *testing.T) {
	t.Parallel()
	s := Start(t, WithUnsafeNoFsync())
	p := NewProxy(t, s.Addr())
	far, err := clientv3.New(clientv3.Config{Endpoints: []string{"http://" + p.Addr()}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	near := s.Client(t)
	put(t, far, "key", "before")
	p.DropReplies()
	if _, err := far.Put(brief(t), "key", "during"); err == nil {
		t.Error("there is an answer")
	}
	holds(t, near, "key", "during")
	p.Heal()
	holds(t, far, "key", "during")
	p.Blackhole()
	silent(t, far)
	p.Heal()
	put(t, far, "key", "after")
	p.Cut()
	silent(t, far)
	holds(t, near, "key", "after")
	p.Heal()
	holds(t, far, "key", "after")
}
