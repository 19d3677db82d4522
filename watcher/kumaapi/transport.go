package kumaapi

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"
)

// transport is how a control plane is reached: with the CA and the client
// certificate that the files have now. Proxies of the environment are not used:
// what is asked here may carry a token.
type transport struct {
	opts Options
	ca   []byte
	http.RoundTripper
}

// newTransport returns a transport that has to be refreshed before it is used.
func newTransport(opts Options) (*transport, error) {
	t := &transport{opts: opts, RoundTripper: opts.transport}
	if (opts.Cert == "") != (opts.Key == "") {
		return nil, errors.New("a client certificate needs its key, and a key its certificate: give both files, or none")
	}
	return t, nil
}

// refresh takes up a CA file that has been replaced.
func (t *transport) refresh() error {
	if t.opts.transport != nil {
		return nil
	}
	var ca []byte
	if t.opts.CA != "" {
		var err error
		if ca, err = os.ReadFile(t.opts.CA); err != nil {
			return &failure{unreachable: true, what: fmt.Sprintf("the CA file cannot be read (%v): create it, or make it readable", err)}
		}
	}
	if t.RoundTripper != nil && bytes.Equal(ca, t.ca) {
		return nil
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != nil {
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(ca) {
			return &failure{unreachable: true, what: fmt.Sprintf("the CA file %s holds no certificate: write one in PEM form", t.opts.CA)}
		}
	}
	if t.opts.Cert != "" {
		// Read for each connection, so that a new one is used when it is there.
		conf.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(t.opts.Cert, t.opts.Key)
			if err != nil {
				return nil, &failure{unreachable: true, what: fmt.Sprintf("the client certificate cannot be used: %v", err)}
			}
			return &pair, nil
		}
	}
	t.CloseIdleConnections()
	t.ca, t.RoundTripper = ca, &http.Transport{
		DialContext:         dialer(t.opts.Timeout).DialContext,
		TLSClientConfig:     conf,
		TLSHandshakeTimeout: t.opts.Timeout,
		ForceAttemptHTTP2:   true,
		MaxIdleConns:        2,
		IdleConnTimeout:     90 * time.Second,
	}
	return nil
}

// CloseIdleConnections closes the connections that are open. It is also what
// [http.Client] looks for.
func (t *transport) CloseIdleConnections() {
	if tr, ok := t.RoundTripper.(*http.Transport); ok {
		tr.CloseIdleConnections()
	}
}
