package etcdstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/test/etcdtest"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// file writes a file of a test.
func file(t testing.TB, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// leadAt is lead for a server of the test's own.
func leadAt(t testing.TB, server *etcdtest.Server, s *Store) {
	t.Helper()
	key := s.prefix + keyLeader + rand.Text()
	resp, err := server.Client(t).Put(t.Context(), key, "x")
	if err != nil {
		t.Fatal(err)
	}
	s.setFence(&fence{key: key, rev: resp.Header.Revision, term: key})
}

// TestAUserWithRightsOnThePrefixIsEnough, and one who lacks them, or has another
// password, is told what to do.
func TestAUserWithRightsOnThePrefixIsEnough(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t, etcdtest.WithUnsafeNoFsync())
	password := filepath.Join(t.TempDir(), "password")
	cfg := Config{
		Endpoints: server.Endpoints(), Prefix: "/ours/", Timeout: 20 * time.Second,
		Username: "replica", PasswordFile: file(t, password, "secret\n"),
	}
	before := opened(t, cfg) // it begins where etcd has no users
	loaded(t, before)
	server.EnableAuth(t, "root's", "replica", "secret", "/ours/")
	leadAt(t, server, before)
	committed(t, before, gives(0, "web", "240.0.0.1"))

	s := opened(t, cfg)
	loaded(t, s)
	leadAt(t, server, s)
	committed(t, s, gives(1, "db", "240.0.0.2"))

	// Tokens are lost with the server.
	server.Restart()
	leadAt(t, server, s)
	committed(t, s, gives(2, "x", "240.0.0.3"))
	loaded(t, before)

	// A watch is begun by whoever may.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	events := s.client.Watch(ctx, "/ours/", clientv3.WithPrefix(), clientv3.WithCreatedNotify())
	if resp := <-events; resp.Err() != nil || !resp.Created {
		t.Errorf("the watch begins with %+v", resp)
	}
	cancel()
	for range events { // until it has ended
	}

	others := cfg
	others.Prefix = "/theirs/"
	_, err := opened(t, others).Load(t.Context())
	says(t, err, "permission denied", `user "replica"`, "grant-permission", "/theirs/")
	nobody := cfg
	nobody.Username, nobody.PasswordFile = "", ""
	_, err = opened(t, nobody).Load(t.Context())
	says(t, err, "user name is empty", "etcd asks who this is")

	// The password is read again when it is asked for.
	wrong := cfg
	wrong.PasswordFile = file(t, filepath.Join(t.TempDir(), "password"), "wrong")
	s = opened(t, wrong)
	_, err = s.Load(t.Context())
	says(t, err, "invalid user ID or password", wrong.PasswordFile)
	file(t, wrong.PasswordFile, "secret")
	loaded(t, s)
	os.Remove(wrong.PasswordFile)
	s = opened(t, cfg)
	os.Remove(password)
	_, err = s.Load(t.Context())
	says(t, err, password)
	file(t, password, "")
	_, err = s.Load(t.Context())
	says(t, err, password, "empty")
}

// says fails the test unless an error says all of want.
func says(t *testing.T, err error, want ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("there is no error, want one that says %q", want)
		return
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error is %q, and does not say %q", err, w)
		}
	}
}

// TestCertificatesAreThoseOfTheirFiles when a connection is made.
func TestCertificatesAreThoseOfTheirFiles(t *testing.T) {
	t.Parallel()
	server, other := etcdtest.Start(t, etcdtest.WithTLS()), etcdtest.Start(t, etcdtest.WithTLS())
	cfg := Config{Endpoints: server.Endpoints(), Prefix: "/ours/", Timeout: 20 * time.Second}
	cfg.CA, cfg.Cert, cfg.Key = server.TLS().CA, server.TLS().Cert, server.TLS().Key
	s := opened(t, cfg)
	loaded(t, s)
	leadAt(t, server, s)
	committed(t, s, gives(0, "web", "240.0.0.1"))

	quick := cfg
	quick.Timeout = 3 * time.Second
	quick.CA = other.TLS().CA
	_, err := opened(t, quick).Load(t.Context())
	says(t, err, "certificate signed by unknown authority", "see to the certificates")
	quick = cfg
	quick.Timeout, quick.Cert, quick.Key = 3*time.Second, "", ""
	_, err = opened(t, quick).Load(t.Context())
	says(t, err, quick.Endpoints[0], "certificate")
	quick = cfg
	quick.Timeout, quick.CA = 3*time.Second, ""
	_, err = opened(t, quick).Load(t.Context())
	says(t, err, "certificate signed by unknown authority")

	// They are renewed: the next connection has those that are there then.
	dir := t.TempDir()
	renewed := cfg
	for name, at := range map[string]*string{"ca": &renewed.CA, "cert": &renewed.Cert, "key": &renewed.Key} {
		*at = filepath.Join(dir, name)
	}
	install := func(from etcdtest.TLS) {
		for to, from := range map[string]string{renewed.CA: from.CA, renewed.Cert: from.Cert, renewed.Key: from.Key} {
			b, err := os.ReadFile(from)
			if err != nil {
				t.Fatal(err)
			}
			file(t, to, string(b))
		}
	}
	install(other.TLS())
	renewed.Timeout = 3 * time.Second
	s = opened(t, renewed)
	_, err = s.Load(t.Context())
	says(t, err, "certificate signed by unknown authority")
	install(server.TLS())
	soon(t, "a connection with what was renewed", func() bool {
		_, err := s.Load(t.Context())
		return err == nil
	})
	os.Remove(renewed.Key)
	if _, err := Open(renewed); err == nil {
		t.Error("it opens without a key")
	}
}

// TestAnotherHostsCertificateIsRefused: who etcd is is verified, by name or address.
func TestAnotherHostsCertificateIsRefused(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t, etcdtest.WithTLS())
	files := server.TLS()
	for host, good := range map[string]bool{"127.0.0.1": true, "localhost": true, "127.0.0.2": false} {
		cfg := Config{
			Endpoints: []string{strings.Replace(server.Endpoint(), "127.0.0.1", host, 1)}, Prefix: "/ours/",
			Timeout: 5 * time.Second, CA: files.CA, Cert: files.Cert, Key: files.Key,
		}
		_, err := opened(t, cfg).Load(t.Context())
		if good != (err == nil) {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// TestOpenDoesNotWaitForEtcd, whoever it says it is; what comes then says where etcd
// was looked for.
func TestOpenDoesNotWaitForEtcd(t *testing.T) {
	t.Parallel()
	proxy := etcdtest.NewProxy(t, etcd.Addr())
	proxy.Cut()
	cfg := config()
	cfg.Endpoints, cfg.Timeout = []string{"http://" + proxy.Addr()}, 300*time.Millisecond
	cfg.Username, cfg.PasswordFile = "replica", file(t, filepath.Join(t.TempDir(), "password"), "x")
	s := opened(t, cfg)
	_, err := s.Load(t.Context())
	says(t, err, cfg.Endpoints[0], cfg.Prefix, "see that etcd runs")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Logf("the error is %v", err)
	}
	proxy.Heal()
	soon(t, "a table", func() bool {
		_, err := s.Load(t.Context())
		return err == nil
	})
}

// TestALostMemberIsNotNoticed, whichever it was, and a lost quorum is told as such.
func TestALostMemberIsNotNoticed(t *testing.T) {
	t.Parallel()
	members := etcdtest.StartCluster(t, 3, etcdtest.WithUnsafeNoFsync())
	cfg := Config{Endpoints: members[0].Endpoints(), Prefix: "/ours/", Timeout: 20 * time.Second}
	s := opened(t, cfg)
	loaded(t, s)
	leadAt(t, members[0], s)
	for i, m := range members {
		m.Kill()
		loaded(t, s)
		if err := s.Commit(t.Context(), gives(uint64(i), fmt.Sprint("svc-", i), fmt.Sprint("240.0.0.", i+1))); err != nil {
			t.Logf("while etcd elects: %v", err)
			if _, err := s.Revision(t.Context()); err != nil {
				t.Error(err)
			}
			if s.position().rev == uint64(i) {
				committed(t, s, gives(uint64(i), fmt.Sprint("svc-", i), fmt.Sprint("240.0.0.", i+1)))
			}
		}
		m.Restart()
	}
	if n := len(loaded(t, s).Rows); n != len(members) {
		t.Errorf("%d rows, want %d", n, len(members))
	}
	members[1].Kill()
	members[2].Kill()
	cfg.Timeout = time.Second
	_, err := opened(t, cfg).Load(t.Context())
	says(t, err, members[0].Endpoint(), "quorum")
}

// TestWhatIsNoConfigurationIsRefused.
func TestWhatIsNoConfigurationIsRefused(t *testing.T) {
	t.Parallel()
	good := Config{Endpoints: []string{"http://127.0.0.1:1"}, Prefix: "/"}
	opened(t, good)
	for name, spoil := range map[string]func(*Config){
		"no endpoint":     func(c *Config) { c.Endpoints = nil },
		"no scheme":       func(c *Config) { c.Endpoints = []string{"127.0.0.1:1"} },
		"another scheme":  func(c *Config) { c.Endpoints = []string{"unix:///x"} },
		"both schemes":    func(c *Config) { c.Endpoints = append(c.Endpoints, "https://127.0.0.1:1") },
		"no URL":          func(c *Config) { c.Endpoints = []string{"http://%zz"} },
		"prefix":          func(c *Config) { c.Prefix = "/x" },
		"no prefix":       func(c *Config) { c.Prefix = "" },
		"half a pair":     func(c *Config) { c.Cert = "x" },
		"plain with CA":   func(c *Config) { c.CA = "x" },
		"no password":     func(c *Config) { c.Username = "x" },
		"password of who": func(c *Config) { c.PasswordFile = "x" },
		"timeout":         func(c *Config) { c.Timeout = -1 },
		"lease":           func(c *Config) { c.Lease = 1 },
		"password file":   func(c *Config) { c.Username, c.PasswordFile = "x", "/nowhere/x" },
		"CA file": func(c *Config) {
			c.Endpoints, c.CA = []string{"https://127.0.0.1:1"}, "/nowhere/x"
		},
		"CA of nothing": func(c *Config) {
			c.Endpoints, c.CA = []string{"https://127.0.0.1:1"}, file(t, filepath.Join(t.TempDir(), "ca"), "x")
		},
		"certificate": func(c *Config) {
			c.Endpoints, c.Cert, c.Key = []string{"https://127.0.0.1:1"}, "/nowhere/x", "/nowhere/x"
		},
	} {
		cfg := good
		spoil(&cfg)
		if s, err := Open(cfg); err == nil {
			t.Errorf("%s: it opens", name)
			s.Close()
		}
	}
}
