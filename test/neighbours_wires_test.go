package test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// certified makes a certificate for 127.0.0.1 that signs itself, in cert.pem and
// key.pem of dir, and returns what its clients trust.
func certified(t testing.TB, dir string) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "meshvip test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	write(t, dir, "key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private})))
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	trust := &tls.Config{RootCAs: x509.NewCertPool()}
	trust.RootCAs.AddCert(cert)
	return trust
}

// wire is a way to ask a server.
type wire struct {
	name, port string
	ask        func(q *dns.Msg) (*dns.Msg, error)
}

// overDNS asks as miekg/dns does over a network.
func overDNS(network, port string, trust *tls.Config) wire {
	return wire{network, port, func(q *dns.Msg) (*dns.Msg, error) {
		c := &dns.Client{Net: network, TLSConfig: trust, Timeout: 2 * time.Second}
		r, _, err := c.Exchange(q, "127.0.0.1:"+port)
		return r, err
	}}
}

// overHTTPS asks by RFC 8484.
func overHTTPS(port string, trust *tls.Config) wire {
	c := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: trust, ForceAttemptHTTP2: true, DisableKeepAlives: true}}
	return wire{"https", port, func(q *dns.Msg) (*dns.Msg, error) {
		packed, err := q.Pack()
		if err != nil {
			return nil, err
		}
		resp, err := c.Post("https://127.0.0.1:"+port+"/dns-query", "application/dns-message", bytes.NewReader(packed))
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("%s, %w", resp.Status, err)
		}
		r := new(dns.Msg)
		return r, r.Unpack(body)
	}}
}

func TestEveryWireGivesTheSameAnswers(t *testing.T) {
	t.Parallel()
	p := neighbourly(t)
	trust := certified(t, p.dir)
	tlsPort, httpsPort := freePort(t), freePort(t)
	corefile := p.beside(nil, "ns 192.0.2.53")
	for scheme, port := range map[string]string{"tls": tlsPort, "https": httpsPort} {
		corefile += fmt.Sprintf("%[1]s://mesh:%[2]s %[1]s://240.0.0.0/8:%[2]s {\n\tbind 127.0.0.1\n\terrors\n\ttls cert.pem key.pem\n\tmeshvip {\n\t\tns 192.0.2.53\n\t}\n}\n", scheme, port)
	}
	s := launch(t, p.dir, corefile, "127.0.0.1:"+p.port)
	s.metrics = p.metrics
	s.servesOther()
	fill := s.neighbours(p)
	asked := map[string]string{"wide.mesh. A": "NOERROR aa | wide.mesh. 60 IN A WIDE"}
	for q, want := range plain {
		asked[q] = want
	}
	for _, w := range []wire{
		overDNS("udp", p.port, nil), overDNS("tcp", p.port, nil), overDNS("tcp-tls", tlsPort, trust), overHTTPS(httpsPort, trust),
	} {
		for q, want := range asked {
			name, qtype, _ := strings.Cut(fill.Replace(q), " ")
			r, err := w.ask(new(dns.Msg).SetQuestion(name, dns.StringToType[qtype]))
			if err != nil {
				t.Errorf("%s over %s: %v", q, w.name, err)
				continue
			}
			if got := shown(r); got != fill.Replace(want) {
				t.Errorf("%s over %s:\n\t%s, want\n\t%s", q, w.name, got, fill.Replace(want))
			}
		}
		// Only datagrams have a limit.
		r, err := w.ask(new(dns.Msg).SetQuestion("wide.mesh.", dns.TypeSRV))
		if err != nil {
			t.Errorf("a large answer over %s: %v", w.name, err)
		} else if datagram := w.name == "udp"; r.Truncated != datagram || (len(r.Answer) == 40) == datagram {
			t.Errorf("a large answer over %s has %d records and TC %v", w.name, len(r.Answer), r.Truncated)
		}
		if n := s.metricOf("requests_total", ":"+w.port+`"`); n == 0 {
			t.Errorf("no question over %s is counted", w.name)
		}
	}
	s.unlogged("[ERROR]")
	s.stop()
}

// Plugin bufsize lowers what a client says that it takes, and nothing else.
func TestAnAnswerFitsTheBufferThatPluginBufsizeAllows(t *testing.T) {
	t.Parallel()
	p := neighbourly(t)
	s := launch(t, p.dir, p.beside([]string{"bufsize 700"}), "127.0.0.1:"+p.port)
	s.servesOther()
	s.neighbours(p)
	q := new(dns.Msg).SetQuestion("wide.mesh.", dns.TypeSRV)
	q.SetEdns0(4096, false)
	r, err := overDNS("udp", p.port, nil).ask(q)
	if err != nil {
		t.Fatal(err)
	}
	r.Compress = true // as it came
	if r.Len() > 700 || !r.Truncated || len(r.Answer) == 0 {
		t.Errorf("%d octets, %d records, TC %v", r.Len(), len(r.Answer), r.Truncated)
	}
	q = new(dns.Msg).SetQuestion("backend.mesh.", dns.TypeSRV)
	q.SetEdns0(4096, false)
	if r, err = overDNS("udp", p.port, nil).ask(q); err != nil || r.Truncated || len(r.Answer) != 1 || len(r.Extra) != 2 {
		t.Errorf("%v, %v", r, err)
	}
}
