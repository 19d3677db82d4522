package kumaapi

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"
)

// testCA is an authority that signs certificates.
type testCA struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  string
}

func newCA(t *testing.T) *testCA {
	t.Helper()
	c := &testCA{}
	c.cert, c.key, c.pem, _ = c.sign(t, &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return c
}

// sign makes a certificate, signed by c, or by itself where c has none yet. It
// returns it and its key, also in PEM.
func (c *testCA) sign(t *testing.T, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey, string, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.Subject = pkix.Name{CommonName: "test"}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := template, key
	if c.cert != nil {
		parent, signer = c.cert, c.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))
}

// server is a TLS server of 127.0.0.1 whose certificate c signed.
func (c *testCA) server(t *testing.T, h http.Handler, clients *testCA) *httptest.Server {
	t.Helper()
	cert, key, _, _ := c.sign(t, &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}}}
	if clients != nil {
		srv.TLS.ClientAuth, srv.TLS.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		srv.TLS.ClientCAs.AddCert(clients.cert)
	}
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv
}

func TestOnlyAControlPlaneThatTheCAVouchesForIsAsked(t *testing.T) {
	t.Parallel()
	ours, others := newCA(t), newCA(t)
	k := twoMeshes()
	srv := ours.server(t, k, nil)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	r := networked(t, k, srv.URL, Options{CA: ca}).pass().problems("the CA file cannot be read").want("")
	write(t, ca, "no certificate")
	r.pass().problems("holds no certificate").want("")
	write(t, ca, others.pem)
	r.pass().problems("its certificate is not trusted").want("")
	write(t, ca, ours.pem)
	r.pass().want(all).problems()
	write(t, ca, others.pem)
	r.pass().want(all).problems("its certificate is not trusted")
	networked(t, k, srv.URL, Options{}).pass().problems("its certificate is not trusted").want("")
}

func TestACertificateOfAnotherHostIsNotTrusted(t *testing.T) {
	t.Parallel()
	ours := newCA(t)
	k := twoMeshes()
	srv := ours.server(t, k, nil)
	_, port, err := net.SplitHostPort(srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ca := write(t, filepath.Join(t.TempDir(), "ca.pem"), ours.pem)
	networked(t, k, "https://localhost:"+port, Options{CA: ca}).pass().problems("its certificate is not trusted...the name that the certificate has").want("")
}

func TestAClientCertificateMayBeReplacedAtAnyTime(t *testing.T) {
	t.Parallel()
	ours, theirs := newCA(t), newCA(t)
	k := twoMeshes()
	srv := ours.server(t, k, theirs)
	dir := t.TempDir()
	ca := write(t, filepath.Join(dir, "ca.pem"), ours.pem)
	networked(t, k, srv.URL, Options{CA: ca}).pass().want("").problems("it refuses the TLS connection...give a client certificate and key")

	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	r := networked(t, k, srv.URL, Options{CA: ca, Cert: cert, Key: key}).pass().want("").problems("the client certificate cannot be used")
	for _, signer := range []*testCA{ours, theirs} {
		_, _, certPEM, keyPEM := signer.sign(t, &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
		write(t, cert, certPEM)
		write(t, key, keyPEM)
		if r.pass(); signer == ours {
			r.want("").problems("it refuses the TLS connection")
		} else {
			r.want(all).problems()
		}
	}
}

func TestAPortWithoutTLSIsToldAsThat(t *testing.T) {
	t.Parallel()
	k := twoMeshes()
	srv := serve(t, k)
	networked(t, k, "https"+srv.URL[len("http"):], Options{}).pass().want("").problems("it does not speak TLS on this port")
}

func TestAPortWithTLSIsToldAsThat(t *testing.T) {
	t.Parallel()
	k := twoMeshes()
	srv := newCA(t).server(t, k, nil)
	networked(t, k, "http"+srv.URL[len("https"):], Options{}).pass().want("").problems("400 Bad Request...with https:// where the port has TLS")
}
