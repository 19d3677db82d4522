package meshvip

import (
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// Defaults of a store in etcd.
const (
	defaultEtcdPrefix  = "/meshvip/"
	defaultEtcdTimeout = 5 * time.Second
	defaultEtcdLease   = 10 * time.Second
)

// EtcdConfig says where in etcd a table is, and how etcd is talked to. Two that
// say the same are equal.
type EtcdConfig struct {
	// Endpoints are the URLs of etcd's members, scheme, host and port of each:
	// sorted, none twice, joined by spaces. All have one scheme.
	Endpoints string
	// Prefix begins all keys of the table. It begins and ends with a slash.
	Prefix string
	// Cert, Key and CA are absolute paths, or empty: the certificate and the key
	// that etcd is shown, and the authorities that its own may be from.
	Cert, Key, CA string
	// Username and PasswordFile, an absolute path, are what the server logs in
	// with; empty where it does not.
	Username, PasswordFile string
	// Timeout is of one request.
	Timeout time.Duration
	// Lease is how long a leader stays one without a word to etcd: whole seconds.
	Lease time.Duration
}

// EndpointList returns the endpoints one by one.
func (e EtcdConfig) EndpointList() []string { return strings.Fields(e.Endpoints) }

// PlaintextCredentials reports whether the password goes over the network as it
// is: in plain http, to another host than this one.
func (e EtcdConfig) PlaintextCredentials() bool {
	if e.Username == "" {
		return false
	}
	for _, endpoint := range e.EndpointList() {
		u, err := url.Parse(endpoint)
		if err == nil && u.Scheme == "http" && !isLoopback(u.Hostname()) {
			return true
		}
	}
	return false
}

// isLoopback reports whether a host is this one.
func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// identity names the table, whatever else is said of the way to it.
func (e EtcdConfig) identity() string { return "etcd " + e.Endpoints + " " + e.Prefix }

// String returns the endpoints, and what the block states that is no default.
func (e EtcdConfig) String() string {
	var said []string
	if e.Prefix != defaultEtcdPrefix {
		said = append(said, "prefix "+e.Prefix)
	}
	switch {
	case e.Cert != "":
		said = append(said, strings.TrimSpace("tls "+e.Cert+" "+e.Key+" "+e.CA))
	case e.CA != "":
		said = append(said, "tls "+e.CA)
	}
	if e.Username != "" {
		said = append(said, "credentials "+e.Username+" "+e.PasswordFile)
	}
	if e.Timeout != defaultEtcdTimeout {
		said = append(said, "timeout "+e.Timeout.String())
	}
	if e.Lease != defaultEtcdLease {
		said = append(said, "lease "+e.Lease.String())
	}
	if len(said) == 0 {
		return e.Endpoints
	}
	return e.Endpoints + " (" + strings.Join(said, ", ") + ")"
}
