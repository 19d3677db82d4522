package interop

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

// signedZones are the zones of a signed site: each is a server block of its own,
// with its key.
var signedZones = []struct{ key, zone string }{
	{"mesh", forwardZone}, {"240.0.0.0/8", reverse4}, {"fd00:6d76::/64", reverse6},
}

// newSignedSite returns a site whose zones plugin dnssec signs, and its trust
// anchors: public keys as records.
func newSignedSite(t testing.TB) (*site, []*dns.DNSKEY) {
	t.Helper()
	keygen := need(t, "dnssec-keygen")
	s := newSite(t)
	var anchors []*dns.DNSKEY
	var blocks strings.Builder
	for i, z := range signedZones {
		base := strings.TrimSpace(output(t, keygen, "-K", s.dir, "-a", "ECDSAP256SHA256", "-f", "KSK", z.zone))
		signing := "dnssec {\n\t\tkey file " + base + "\n\t}"
		f, err := os.Open(filepath.Join(s.dir, base+".key"))
		if err != nil {
			t.Fatal(err)
		}
		rr, err := dns.ReadRR(f, base)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		anchors = append(anchors, rr.(*dns.DNSKEY))
		if i == 0 {
			s.keys, s.plugins = []string{z.key}, signing
			continue
		}
		fmt.Fprintf(&blocks, "%s:%s {\n\tbind 127.0.0.1\n\terrors\n\t%s\n\tmeshvip {\n\t\tstore bolt meshvip.db\n\t\tns 127.0.0.1\n\t}\n}\n",
			z.key, s.port, signing)
	}
	s.others = blocks.String()
	return s, anchors
}

// bindAnchors writes trust anchors as BIND's programs read them.
func bindAnchors(anchors []*dns.DNSKEY) string {
	var b strings.Builder
	b.WriteString("trust-anchors {\n")
	for _, k := range anchors {
		fmt.Fprintf(&b, "\t%q static-key %d %d %d %q;\n", k.Hdr.Name, k.Flags, k.Protocol, k.Algorithm, k.PublicKey)
	}
	return b.String() + "};\n"
}

// signedQuestion is a question about a signed zone, and whether its answer has
// records.
type signedQuestion struct {
	zone, name string
	qtype      uint16
	records    bool
}

// signedQuestions are of all kinds that there are.
func signedQuestions(d *daemon) []signedQuestion {
	d.t.Helper()
	v4, v6 := d.resolves("backend.mesh.", dns.TypeA), d.resolves("backend.mesh.", dns.TypeAAAA)
	return []signedQuestion{
		{forwardZone, "backend.mesh.", dns.TypeA, true},
		{forwardZone, "backend.mesh.", dns.TypeAAAA, true},
		{forwardZone, "backend.mesh.", dns.TypeSRV, true},
		{forwardZone, "backend.mesh.", dns.TypeTXT, false},
		{forwardZone, "backend.kuma-demo.svc.5678.mesh.", dns.TypeA, true},
		{forwardZone, "backend_kuma-demo_svc_5678.mesh.", dns.TypeA, true},
		{forwardZone, "kuma-demo.svc.5678.mesh.", dns.TypeA, false},
		{forwardZone, "nope.mesh.", dns.TypeA, false},
		{forwardZone, "nope.backend.mesh.", dns.TypeAAAA, false},
		{forwardZone, "mesh.", dns.TypeSOA, true},
		{forwardZone, "mesh.", dns.TypeNS, true},
		{forwardZone, "mesh.", dns.TypeA, false},
		{forwardZone, "ns.dns.mesh.", dns.TypeA, true},
		{forwardZone, "ns.dns.mesh.", dns.TypeAAAA, false},
		{reverse4, reverse(v4), dns.TypeTXT, false},
		{reverse4, reverse(v4), dns.TypePTR, true},
		{reverse4, "1.2.3.240.in-addr.arpa.", dns.TypePTR, false},
		{reverse4, "0.0.240.in-addr.arpa.", dns.TypePTR, false},
		{reverse6, reverse(v6), dns.TypePTR, true},
		{reverse6, "f." + reverse6, dns.TypePTR, false},
	}
}

func TestSignedAnswersValidate(t *testing.T) {
	t.Parallel()
	s, anchors := newSignedSite(t)
	d := s.start()
	questions := signedQuestions(d)

	t.Run("delv", func(t *testing.T) {
		path := need(t, "delv")
		file := write(t, t.TempDir(), "anchors", bindAnchors(anchors))
		for _, q := range questions {
			out := output(t, path, "@127.0.0.1", "-p", s.port, "-a", file, "+root="+q.zone, q.name, dns.TypeToString[q.qtype])
			want := "; negative response, fully validated"
			if q.records {
				want = "; fully validated"
			}
			if first := words(out)[0]; first != want {
				t.Errorf("delv says of %s %s: %q, want %q", q.name, dns.TypeToString[q.qtype], first, want)
			}
		}
		told(t, "delv validates %d answers: records, NODATA and names that do not exist, of both families", len(questions))
	})
	t.Run("unbound", func(t *testing.T) {
		// The types that plugin dnssec says exist at a name lack PTR, where another
		// was asked for. Who concludes from that (RFC 8198) finds no name of an
		// address for as long as a negative answer lasts.
		lines := []string{"aggressive-nsec: no"}
		for _, k := range anchors {
			lines = append(lines, fmt.Sprintf("trust-anchor: \"%s DNSKEY %d %d %d %s\"", k.Hdr.Name, k.Flags, k.Protocol, k.Algorithm, k.PublicKey))
		}
		validated(t, startUnbound(t, "validator iterator", lines, "forward", d, forwardZone, reverse4, reverse6), questions)
	})
	t.Run("BIND", func(t *testing.T) {
		validated(t, startBindResolver(t, d, "dnssec-validation yes;", bindAnchors(anchors), forwardZone, reverse4, reverse6), questions)
	})
}

// validated checks that a validating resolver has all answers, and says that
// they are authentic.
func validated(t *testing.T, r *daemon, questions []signedQuestion) {
	t.Helper()
	for _, q := range questions {
		m := r.ask(q.name, q.qtype)
		if m.Rcode != dns.RcodeSuccess || !m.AuthenticatedData || q.records != (len(m.Answer) > 0) {
			t.Errorf("%s does not take the answer to %s %s for authentic: %v", r.name, q.name, dns.TypeToString[q.qtype], m)
		}
	}
	told(t, "%s says of %d answers that they are authentic", r.name, len(questions))
}
