package etcdstore

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"

	"google.golang.org/grpc/credentials"
)

// handshakes makes connections secure, each with the certificates as their files
// are then.
type handshakes struct {
	credentials.TransportCredentials // says what the protocol is
	cfg                              Config
	// last is the error of the last connection that came to nothing, which gRPC
	// keeps to itself while it tries again; nil once something was read from one.
	last *atomic.Pointer[error]
}

// newHandshakes reads the files once, so that what is wrong with them is known.
func newHandshakes(cfg Config) (*handshakes, error) {
	c, err := cfg.tls()
	if err != nil {
		return nil, err
	}
	return &handshakes{credentials.NewTLS(c), cfg, new(atomic.Pointer[error])}, nil
}

// tls reads the certificates.
func (cfg Config) tls() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if cfg.CA != "" {
		pem, err := os.ReadFile(cfg.CA)
		if err != nil {
			return nil, fmt.Errorf("certificate authorities: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("certificate authorities: no certificate in %s", cfg.CA)
		}
	}
	if cfg.Cert != "" {
		pair, err := tls.LoadX509KeyPair(cfg.Cert, cfg.Key)
		if err != nil {
			return nil, fmt.Errorf("client certificate %s with key %s: %w", cfg.Cert, cfg.Key, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// ClientHandshake implements [credentials.TransportCredentials].
func (h *handshakes) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secure, info, err := h.handshake(ctx, authority, conn)
	if err != nil {
		h.last.Store(&err)
		return nil, nil, err
	}
	return &checked{secure, h.last}, info, nil
}

// checked is a connection that the other side may yet refuse: it says what is
// wrong with a certificate after the handshake.
type checked struct {
	net.Conn
	last *atomic.Pointer[error]
}

func (c *checked) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	var op *net.OpError
	switch {
	case n > 0:
		if c.last.Load() != nil {
			c.last.Store(nil)
		}
	case errors.As(err, &op) && op.Op == "remote error": // as package tls tells alerts
		c.last.Store(&err)
	}
	return n, err
}

func (h *handshakes) handshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	c, err := h.cfg.tls()
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	return credentials.NewTLS(c).ClientHandshake(ctx, authority, conn)
}

// Clone implements [credentials.TransportCredentials].
func (h *handshakes) Clone() credentials.TransportCredentials {
	return &handshakes{h.TransportCredentials.Clone(), h.cfg, h.last}
}
