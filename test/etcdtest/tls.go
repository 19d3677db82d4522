package etcdtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// TLS are the files with which a client may speak to a server that wants TLS, all
// PEM: the authority that both sides are signed by, and the client's certificate
// with its key.
type TLS struct {
	CA, Cert, Key string
}

// config returns what a client of this package uses.
func (f TLS) config() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(f.CA)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots}, nil
}

// authority signs the certificates of one server and its clients.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	dir  string
}

// newAuthority makes an authority whose files, and those of what it signs, are in
// dir.
func newAuthority(dir string) (*authority, error) {
	a := &authority{dir: dir}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	a.cert = certificate(1, "etcdtest authority")
	a.cert.IsCA, a.cert.BasicConstraintsValid = true, true
	a.cert.KeyUsage |= x509.KeyUsageCertSign
	_, _, err = a.sign("ca", a.cert, a.key)
	return a, err
}

// certificate returns a template: one that is good for a server on loopback, and
// for a client. A server of etcd is a client of its own.
func certificate(serial int64, name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(24 * time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:     []string{"localhost"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
}

// issue makes a key and a certificate for it, and returns their files.
func (a *authority) issue(serial int64, name string) (cert, key string, err error) {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	return a.sign(name, certificate(serial, name), k)
}

// sign writes the signed certificate and its key to files that are called name.
func (a *authority) sign(name string, template *x509.Certificate, key *ecdsa.PrivateKey) (certPath, keyPath string, err error) {
	cert, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return "", "", err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", "", err
	}
	certPath, keyPath = filepath.Join(a.dir, name+".pem"), filepath.Join(a.dir, name+"-key.pem")
	if err := os.WriteFile(certPath, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o644); err != nil {
		return "", "", err
	}
	return certPath, keyPath, os.WriteFile(keyPath, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600)
}

// files are those of one server and its clients.
type files struct {
	client                TLS
	serverCert, serverKey string
}

// newFiles makes an authority and both certificates in dir.
func newFiles(dir string) (*files, error) {
	a, err := newAuthority(dir)
	if err != nil {
		return nil, err
	}
	f := &files{client: TLS{CA: filepath.Join(dir, "ca.pem")}}
	if f.serverCert, f.serverKey, err = a.issue(2, "server"); err != nil {
		return nil, err
	}
	f.client.Cert, f.client.Key, err = a.issue(3, "client")
	return f, err
}
