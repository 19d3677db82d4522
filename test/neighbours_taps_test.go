package test

import (
	"bytes"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// Control frames of Frame Streams, in which dnstap is sent.
const (
	frameAccept = 1
	frameFinish = 5
	frameReady  = 4
	frameStop   = 3
)

// tap listens at a unix socket for one sender of dnstap, and passes its data
// frames on.
func tap(t testing.TB, path string) <-chan []byte {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	frames := make(chan []byte, 100)
	done := make(chan struct{})
	t.Cleanup(func() { l.Close(); <-done })
	go func() {
		defer close(done)
		defer close(frames)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		for {
			data, control, err := frame(conn)
			switch {
			case err != nil:
				return
			case !control:
				frames <- data
			case data[3] == frameReady: // it names its content, which is agreed to
				data[3] = frameAccept
				err = answer(conn, data)
			case data[3] == frameStop:
				_ = answer(conn, []byte{0, 0, 0, frameFinish}) // the sender is going
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return frames
}

// frame reads a frame, and whether it is a control frame.
func frame(r io.Reader) (data []byte, control bool, err error) {
	n, err := size(r)
	if control = n == 0; control && err == nil {
		n, err = size(r)
	}
	if err != nil {
		return nil, false, err
	}
	data = make([]byte, n)
	_, err = io.ReadFull(r, data)
	return data, control, err
}

// size reads the size of what follows.
func size(r io.Reader) (int, error) {
	var b [4]byte
	_, err := io.ReadFull(r, b[:])
	return int(b[0])<<24 | int(b[1])<<16 | int(b[2])<<8 | int(b[3]), err
}

// answer writes a control frame.
func answer(w io.Writer, control []byte) error {
	head := []byte{0, 0, 0, 0, 0, 0, 0, byte(len(control))} // it is short
	_, err := w.Write(append(head, control...))
	return err
}

// raw asks over UDP and returns the octets of the answer.
func (s *server) raw(name string, qtype uint16) []byte {
	s.t.Helper()
	conn, err := net.Dial("udp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	q, err := new(dns.Msg).SetQuestion(name, qtype).Pack()
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := conn.Write(q); err != nil {
		s.t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(patience)) // a read that fails tells
	b := make([]byte, 4096)
	n, err := conn.Read(b)
	if err != nil {
		s.t.Fatal(err)
	}
	return b[:n]
}

// The log and dnstap have the entry and its addresses beside what they know
// themselves, and dnstap has the answer as it went over the wire.
func TestLogAndDnstapHaveTheEntry(t *testing.T) {
	t.Parallel()
	p := neighbourly(t)
	socket := filepath.Join(p.dir, "tap.sock")
	frames := tap(t, socket)
	s := launch(t, p.dir, p.beside([]string{
		"metadata",
		`log . "asked {type} {name}: {rcode}, {/meshvip/entry} of {/meshvip/mesh} at {/meshvip/vip}."`,
		"dnstap unix://" + socket + " full {\n\t\textra \"tapped {/meshvip/entry} at {/meshvip/vip}.\"\n\t}",
	}), "127.0.0.1:"+p.port)
	s.servesOther()
	fill := s.neighbours(p)
	for q, want := range map[string][2]string{ // in the log and in dnstap
		"backend.mesh. A":             {"NOERROR, 0:backend of default at ADDR.", "tapped 0:backend at ADDR."},
		"backend.mesh. AAAA":          {"NOERROR, 0:backend of default at ADDR.", "tapped 0:backend at ADDR."},
		"wide.mesh. SRV":              {"NOERROR, 0:wide of default at WIDE.", "tapped 0:wide at WIDE."},
		"REV PTR":                     {"NOERROR, 0:backend of default at ADDR.", "tapped 0:backend at ADDR."},
		"nope.mesh. A":                {"NXDOMAIN,  of  at .", "tapped  at ."},
		"9.9.9.240.in-addr.arpa. PTR": {"NXDOMAIN,  of  at .", "tapped  at ."},
	} {
		name, qtype, _ := strings.Cut(fill.Replace(q), " ")
		reply := s.raw(name, dns.StringToType[qtype])
		s.logged("asked " + qtype + " " + name + ": " + fill.Replace(want[0]))
		for found := false; !found; {
			select {
			case f, ok := <-frames:
				if !ok {
					t.Fatal("the sender of dnstap has gone")
				}
				if found = bytes.Contains(f, reply); found && !bytes.Contains(f, []byte(fill.Replace(want[1]))) {
					t.Errorf("%s: dnstap lacks %q in %q", q, fill.Replace(want[1]), f)
				}
			case <-time.After(patience):
				t.Fatalf("%s: dnstap has not the answer", q)
			}
		}
	}
	s.unlogged("[ERROR]")
}

// The process is well while our table is not: health is not ready.
func TestHealthDoesNotDependOnTheTable(t *testing.T) {
	t.Parallel()
	p := newSite(t)
	write(t, p.dir, "meshvip.db", "this is no store\n")
	p.store = "" // and stays none
	health := "127.0.0.1:" + freePort(t)
	s := launch(t, p.dir, p.beside([]string{"health " + health}, "store bolt "+filepath.Join(p.dir, "meshvip.db")), "127.0.0.1:"+p.port)
	s.ready = p.ready
	s.servesNothing()
	if _, err := fetch("http://" + health + "/health"); err != nil {
		t.Errorf("not healthy without a table: %v", err)
	}
	s.stop()
}
