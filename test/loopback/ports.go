// Package loopback finds ports of this machine for the servers of tests.
package loopback

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
)

// Ports are the ports of 127.0.0.1 from First on that the tests of one package may
// use. They should lie below those that systems give to clients: a client's socket
// must not take the port of a server that is restarted. Packages are tested at the
// same time, so each has ports of its own.
type Ports struct {
	First, Count uint32

	next atomic.Uint32 // where to go on to look
}

// Free returns a port that is free for TCP and UDP, and that no other test gets.
func (p *Ports) Free(t testing.TB) string {
	t.Helper()
	port, err := p.Find()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// Find is Free where there is no test, as in TestMain.
func (p *Ports) Find() (string, error) {
	p.next.CompareAndSwap(0, 1+rand.Uint32N(p.Count)) // another run may be going on
	for range p.Count {
		port := strconv.Itoa(int(p.First + p.next.Add(1)%p.Count))
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			continue
		}
		u, err := net.ListenPacket("udp", "127.0.0.1:"+port)
		l.Close()
		if err == nil {
			u.Close()
			return port, nil
		}
	}
	return "", errors.New("no port is free for both TCP and UDP")
}
