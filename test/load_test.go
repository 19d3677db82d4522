package test

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// question is one kind of question of a load, and what is right to answer it.
type question struct {
	what  string
	name  string
	qtype uint16
	// wrong says what is wrong with an answer r, "" if nothing is. last is the
	// same client's answer before, nil for its first.
	wrong func(last, r *dns.Msg) string
}

// asker is a client that asks one question again and again, over one network.
type asker struct {
	question
	network                 string
	answered, lost, refused atomic.Int64
}

func (a *asker) String() string {
	return fmt.Sprintf("%s over %s: %d answered, %d lost, %d refused", a.what, a.network, a.answered.Load(), a.lost.Load(), a.refused.Load())
}

// ask asks until stop is closed, or an answer is wrong. Lost are the questions
// that got no answer in time, refused those whose socket was closed.
func (a *asker) ask(t testing.TB, addr string, timeout time.Duration, stop <-chan struct{}) {
	c := &dns.Client{Net: a.network, Timeout: timeout}
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	var last *dns.Msg
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		r, _, err := c.Exchange(new(dns.Msg).SetQuestion(a.name, a.qtype), addr)
		if nerr, ok := err.(net.Error); ok && nerr.Timeout() {
			a.lost.Add(1)
			continue
		} else if err != nil {
			a.refused.Add(1)
			continue
		}
		a.answered.Add(1)
		if wrong := a.wrong(last, r); wrong != "" {
			t.Errorf("%s over %s: %s in\n%v", a.what, a.network, wrong, r)
			return
		}
		last = r
	}
}

// crowd is the clients of a load.
type crowd struct {
	askers []*asker
	stop   chan struct{}
	wg     sync.WaitGroup
}

// gather lets two clients of each question begin, one over UDP and one over TCP.
// Lost is for them what has no answer within timeout.
func gather(s *server, timeout time.Duration, questions []question) *crowd {
	c := &crowd{stop: make(chan struct{})}
	for _, q := range questions {
		for _, network := range []string{"udp", "tcp"} {
			a := &asker{question: q, network: network}
			c.askers = append(c.askers, a)
			c.wg.Go(func() { a.ask(s.t, s.addr, timeout, c.stop) })
		}
	}
	return c
}

// everybody waits until every client has had n answers more.
func (c *crowd) everybody(s *server, n int64) {
	s.t.Helper()
	for _, a := range c.askers {
		want := a.answered.Load() + n
		s.wait("answers to "+a.what, func() bool { return a.answered.Load() >= want || s.t.Failed() })
	}
}

// leaves ends the load.
func (c *crowd) leaves() {
	close(c.stop)
	c.wg.Wait()
}

// authoritative says what is wrong with an answer that is to be ours, with rcode
// and so many records; a negative one has the SOA.
func authoritative(r *dns.Msg, rcode, records int) string {
	switch {
	case !r.Authoritative:
		return "no AA"
	case r.Rcode != rcode:
		return "want " + dns.RcodeToString[rcode]
	case len(r.Answer) != records:
		return fmt.Sprintf("want %d records", records)
	case records == 0 && (len(r.Ns) != 1 || r.Ns[0].Header().Rrtype != dns.TypeSOA):
		return "no SOA"
	}
	return ""
}

// positive returns what says whether an answer has one record with the given
// data.
func positive(data string) func(_, r *dns.Msg) string {
	return func(_, r *dns.Msg) string {
		if wrong := authoritative(r, dns.RcodeSuccess, 1); wrong != "" {
			return wrong
		}
		if got := strings.TrimPrefix(r.Answer[0].String(), r.Answer[0].Header().String()); got != data {
			return "want " + data
		}
		return ""
	}
}

// negative returns what says whether an answer is negative, with rcode.
func negative(rcode int) func(_, r *dns.Msg) string {
	return func(_, r *dns.Msg) string { return authoritative(r, rcode, 0) }
}

// rising says whether a SOA has a serial that is not lower than the last.
func rising(last, r *dns.Msg) string {
	wrong := authoritative(r, dns.RcodeSuccess, 1)
	if wrong != "" || last == nil {
		return wrong
	}
	before, now := last.Answer[0].(*dns.SOA).Serial, r.Answer[0].(*dns.SOA).Serial
	if int32(now-before) < 0 {
		return fmt.Sprintf("a serial lower than %d", before)
	}
	return ""
}
