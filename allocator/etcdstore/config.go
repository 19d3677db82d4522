package etcdstore

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"
)

// Config says where a store is and how to reach it.
type Config struct {
	// Endpoints are URLs of etcd's members, all of them http or all https.
	Endpoints []string
	// Prefix is what the store's keys begin with: it ends with a slash.
	Prefix string
	// Cert and Key are the files of a client certificate, and CA that of the
	// authorities that vouch for etcd; "" is none, and the system's authorities.
	// They are read for each connection, so that they may be renewed.
	Cert, Key, CA string
	// Username and PasswordFile are what to say where etcd has users. The file is
	// read whenever etcd asks anew.
	Username, PasswordFile string
	// Timeout bounds one request; 0 is 5 s.
	Timeout time.Duration
	// Lease is how long a leader that says nothing stays the leader; 0 is 10 s.
	Lease time.Duration
	// Name tells this replica from others, for people.
	Name string
	// Cooldown is what the table's meta shows of that: see SetCooldown.
	Cooldown time.Duration
	// Logger is told what an operator may want to know; nil is nobody.
	Logger *slog.Logger
	// Progress, if not nil, is told how many keys Create has written, or Read has
	// read, so far. It is called by several goroutines, one at a time.
	Progress func(keys int)
}

// complete returns cfg with its defaults, or why it is none.
func (cfg Config) complete() (Config, error) {
	if cfg.Timeout == 0 {
		cfg.Timeout = 5 * time.Second
	}
	if cfg.Lease == 0 {
		cfg.Lease = 10 * time.Second
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	switch {
	case len(cfg.Endpoints) == 0:
		return cfg, errors.New("no endpoint is given")
	case !strings.HasSuffix(cfg.Prefix, "/"):
		return cfg, fmt.Errorf("prefix %q does not end with a slash", cfg.Prefix)
	case (cfg.Cert == "") != (cfg.Key == ""):
		return cfg, errors.New("a client certificate needs both its file and that of its key")
	case (cfg.Username == "") != (cfg.PasswordFile == ""):
		return cfg, errors.New("a user needs a file with the password, and a password a user")
	case cfg.Timeout < 0 || cfg.Lease < time.Second:
		return cfg, fmt.Errorf("timeout %v or lease %v is too short", cfg.Timeout, cfg.Lease)
	}
	for _, e := range cfg.Endpoints {
		u, err := url.Parse(e)
		switch {
		case err != nil:
			return cfg, err
		case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
			return cfg, fmt.Errorf("endpoint %q is not of the form http://HOST:PORT or https://HOST:PORT", e)
		case strings.HasPrefix(e, "https:") != cfg.secure():
			return cfg, fmt.Errorf("endpoint %q: endpoints are all http or all https", e)
		}
	}
	if !cfg.secure() && cfg.Cert+cfg.CA != "" {
		return cfg, fmt.Errorf("endpoint %q: certificates are for https", cfg.Endpoints[0])
	}
	return cfg, nil
}

// secure reports whether connections are encrypted.
func (cfg Config) secure() bool { return strings.HasPrefix(cfg.Endpoints[0], "https:") }

// password reads the password, without the end of its line.
func (cfg Config) password() (string, error) {
	b, err := os.ReadFile(cfg.PasswordFile)
	if err != nil {
		return "", fmt.Errorf("password of user %q: %w", cfg.Username, err)
	}
	p := strings.TrimRight(string(b), "\r\n")
	if p == "" {
		return "", fmt.Errorf("password of user %q: file %s is empty", cfg.Username, cfg.PasswordFile)
	}
	return p, nil
}

// String names the store, for messages.
func (cfg Config) String() string {
	return fmt.Sprintf("%s in etcd at %s", cfg.Prefix, strings.Join(cfg.Endpoints, " "))
}
