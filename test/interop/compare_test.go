package interop

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// question is what all the servers that are compared are asked.
type question struct {
	name  string
	qtype uint16
}

func (q question) String() string {
	return q.name + " " + dns.Type(q.qtype).String()
}

// answer is what of a reply is compared. Records are in text, in lower case
// since they hold nothing but names and numbers, sorted.
type answer struct {
	rcode         string
	authoritative bool
	// answer has the records that were asked for, authority the SOA and name
	// servers, and additional the addresses.
	answer, authority, additional []string
	// ttl is that of the SOA in the authority section.
	ttl uint32
	// kept: each owner in the answer is spelt as in the question.
	kept bool
}

// whole is all of an answer in one text.
func (a answer) whole() string {
	return fmt.Sprintf("%s aa=%v ttl=%d answer=%q authority=%q additional=%q", a.rcode, a.authoritative, a.ttl, a.answer, a.authority, a.additional)
}

// compared returns what of m is compared.
func compared(m *dns.Msg) answer {
	a := answer{
		rcode: dns.RcodeToString[m.Rcode], authoritative: m.Authoritative,
		answer: texts(m.Answer), authority: texts(m.Ns), additional: texts(m.Extra), kept: true,
	}
	if soa := soaOf(m); soa != nil {
		a.ttl = soa.Hdr.Ttl
	}
	for _, rr := range m.Answer {
		a.kept = a.kept && rr.Header().Name == m.Question[0].Name
	}
	return a
}

// texts returns records as texts, but for what is of the transport.
func texts(rrs []dns.RR) []string {
	var lines []string
	for _, rr := range rrs {
		if rr.Header().Rrtype == dns.TypeOPT {
			continue
		}
		lines = append(lines, strings.ToLower(strings.ReplaceAll(rr.String(), "\t", " ")))
	}
	slices.Sort(lines)
	return lines
}

// shape is what answers to questions of one kind have alike.
func (a answer) shape() string {
	return fmt.Sprintln(a.rcode, a.authoritative, a.ttl, len(a.answer), len(a.authority), len(a.additional))
}

// compared asks d a question as a client does that wants no recursion, until
// there is an answer.
func (d *daemon) compared(q question) (a answer) {
	d.t.Helper()
	m := new(dns.Msg).SetQuestion(q.name, q.qtype)
	m.RecursionDesired = false
	m.SetEdns0(1232, false)
	d.wait(patience, d.name+" to answer for "+q.String(), func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		r, _, err := new(dns.Client).ExchangeContext(ctx, m, d.addr)
		if err == nil {
			a = compared(r)
		}
		return err == nil
	})
	return a
}

// startFile starts CoreDNS with plugin file, with zones from files in dir.
func startFile(t testing.TB, dir string, zones []string) *daemon {
	t.Helper()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	var conf strings.Builder
	for _, z := range zones {
		fmt.Fprintf(&conf, "%[1]s:%[2]s {\n\tbind 127.0.0.1\n\terrors\n\tfile %[1]s\n}\n", z, port)
	}
	write(t, dir, "Corefile.file", conf.String())
	f := start(t, dir, "127.0.0.1:"+port, bin, "-conf", "Corefile.file")
	for _, z := range zones {
		f.serves(z)
	}
	return f
}
