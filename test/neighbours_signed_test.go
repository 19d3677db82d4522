package test

import (
	"crypto/ecdsa"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// signingKey makes a key for plugin dnssec, and returns its public part and the
// path of the file without its ending.
func signingKey(t testing.TB, dir string) (*dns.DNSKEY, string) {
	t.Helper()
	k := &dns.DNSKEY{
		Hdr:   dns.RR_Header{Name: "mesh.", Rrtype: dns.TypeDNSKEY, Class: dns.ClassINET, Ttl: 3600},
		Flags: dns.ZONE | dns.SEP, Protocol: 3, Algorithm: dns.ECDSAP256SHA256,
	}
	private, err := k.Generate(256)
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("Kmesh.+%03d+%05d", k.Algorithm, k.KeyTag())
	write(t, dir, name+".key", k.String()+"\n")
	write(t, dir, name+".private", k.PrivateKeyString(private.(*ecdsa.PrivateKey)))
	return k, filepath.Join(dir, name)
}

// askSigned asks as a client that wants signatures.
func (s *server) askSigned(name string, qtype uint16) *dns.Msg {
	s.t.Helper()
	q := new(dns.Msg).SetQuestion(name, qtype)
	q.SetEdns0(4096, true)
	r, _, err := new(dns.Client).Exchange(q, s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// unsigned returns the record sets of a section that have no signature which key
// verifies, and how many do.
func unsigned(section []dns.RR, key *dns.DNSKEY) (bad []string, verified int) {
	sets := make(map[string][]dns.RR)
	for _, rr := range section {
		if t := rr.Header().Rrtype; t != dns.TypeRRSIG && t != dns.TypeOPT {
			set := strings.ToLower(rr.Header().Name) + " " + dns.TypeToString[t]
			sets[set] = append(sets[set], rr)
		}
	}
	for set, rrs := range sets {
		var why error = fmt.Errorf("no signature")
		for _, rr := range section {
			sig, ok := rr.(*dns.RRSIG)
			if !ok || strings.ToLower(sig.Hdr.Name)+" "+dns.TypeToString[sig.TypeCovered] != set {
				continue
			}
			signer := *key
			signer.Hdr.Name = sig.SignerName
			if why = sig.Verify(&signer, rrs); why == nil && !sig.ValidityPeriod(time.Now()) {
				why = fmt.Errorf("not valid now")
			}
			if why == nil {
				break
			}
		}
		if why == nil {
			verified++
		} else {
			bad = append(bad, fmt.Sprintf("%s: %v", set, why))
		}
	}
	return bad, verified
}

func TestSignaturesVerifyAndDenialsToo(t *testing.T) {
	t.Parallel()
	p := neighbourly(t)
	key, file := signingKey(t, p.dir)
	s := launch(t, p.dir, p.beside([]string{"cache", "dnssec {\n\t\tkey file " + file + "\n\t}"}, "ns 192.0.2.53"), "127.0.0.1:"+p.port)
	s.servesOther()
	fill := s.neighbours(p)
	for q, want := range map[string]struct {
		records, sets int // in the answer; sets that are signed, in the answer and the authority
	}{
		"backend.mesh. A":              {1, 1},
		"BackEnd.MESH. A":              {1, 1},
		"backend.mesh. SRV":            {1, 1},
		"REV PTR":                      {1, 1},
		"wide.mesh. SRV":               {40, 1},
		"mesh. SOA":                    {1, 1},
		"mesh. NS":                     {1, 1},
		"240.in-addr.arpa. SOA":        {1, 1},
		"mesh. DNSKEY":                 {1, 1},
		"ns.dns.mesh. A":               {1, 1},
		"backend.mesh. AAAA":           {0, 2}, // SOA and NSEC
		"backend.mesh. TXT":            {0, 2},
		"mesh. A":                      {0, 2},
		"dns.mesh. A":                  {0, 2},
		"nope.mesh. A":                 {0, 2},
		"nope.backend.mesh. SRV":       {0, 2},
		"9.9.9.240.in-addr.arpa. PTR":  {0, 2},
		"0.0.240.in-addr.arpa. PTR":    {0, 2},
		"REV A":                        {0, 2},
		"300.0.0.240.in-addr.arpa. A":  {0, 2},
		"backend.mesh. HTTPS":          {0, 2},
		"ns.dns.240.in-addr.arpa. A":   {1, 1},
		"ns.dns.240.in-addr.arpa. TXT": {0, 2},
	} {
		for range 2 { // it remembers signatures
			name, qtypeName, _ := strings.Cut(fill.Replace(q), " ")
			qtype := dns.StringToType[qtypeName]
			r := s.askSigned(name, qtype)
			bad, inAnswer := unsigned(r.Answer, key)
			more, inNs := unsigned(r.Ns, key)
			if bad = append(bad, more...); len(bad) > 0 {
				t.Errorf("%s: %q in\n%v", q, bad, r)
			}
			records := len(r.Answer) - len(slices.DeleteFunc(slices.Clone(r.Answer), func(rr dns.RR) bool { return rr.Header().Rrtype == qtype }))
			if records != want.records || inAnswer+inNs < want.sets || r.Rcode != dns.RcodeSuccess {
				t.Errorf("%s: %d records, %d signed sets, want %d and %d, in\n%v", q, records, inAnswer+inNs, want.records, want.sets, r)
			}
			if want.records == 0 {
				denies(t, q, r, name, qtype)
			}
		}
	}
	// Who wants no signatures gets none.
	for q, want := range plain {
		name, qtype, _ := strings.Cut(fill.Replace(q), " ")
		if got := shown(s.ask(name, dns.StringToType[qtype])); got != fill.Replace(want) {
			t.Errorf("%s without DO:\n\t%s, want\n\t%s", q, got, fill.Replace(want))
		}
	}
	s.unlogged("[ERROR]")
}

// denies checks that a negative answer denies what was asked.
func denies(t *testing.T, q string, r *dns.Msg, name string, qtype uint16) {
	t.Helper()
	for _, rr := range r.Ns {
		if nsec, ok := rr.(*dns.NSEC); ok {
			if !strings.EqualFold(nsec.Hdr.Name, name) || slices.Contains(nsec.TypeBitMap, qtype) {
				t.Errorf("%s: %v denies something else", q, nsec)
			}
			return
		}
	}
	t.Errorf("%s: nothing denies it in\n%v", q, r)
}
