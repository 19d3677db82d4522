package meshvip

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	storeEtcd = "etcd"

	etcdPort    = "2379"
	etcdExample = "store etcd http://127.0.0.1:" + etcdPort

	// minLease leaves room for a renewal that comes late, and maxLease bounds how
	// long nobody allocates after a leader has died.
	minLease = 2 * time.Second
	maxLease = time.Hour
)

// etcdProperties are what the block of a store in etcd may state, in the order in
// which they are documented.
var etcdProperties = []string{"prefix", "tls", "credentials", "timeout", "lease"}

// etcdStore reads the endpoints of a store in etcd, and its block.
func (p *parser) etcdStore(args []string) error {
	place := p.place()
	if len(args) == 0 {
		return p.c.Errf("store etcd needs the addresses of etcd's members: write for example \"%s\"", etcdExample)
	}
	endpoints := make([]endpoint, len(args))
	for i, a := range args {
		e, wrong := parseEndpoint(a)
		if wrong != "" {
			return p.c.Errf("store etcd '%s' %s: write the address of a member of etcd, for example \"%s\"",
				e.shown, wrong, etcdExample)
		}
		endpoints[i] = e
	}
	cfg := EtcdConfig{Prefix: defaultEtcdPrefix, Timeout: defaultEtcdTimeout, Lease: defaultEtcdLease}
	seen := make(map[string]string) // where each property of the block is stated
	if err := p.block("store", func() error { return p.etcdProperty(&cfg, seen) }); err != nil {
		return err
	}
	joined, err := joinEndpoints(endpoints, place, seen["tls"])
	if err != nil {
		return err
	}
	cfg.Endpoints = joined
	p.cfg.Runtime.Store = Stated[StoreConfig]{StoreConfig{Kind: storeEtcd, Etcd: cfg}, place}
	return nil
}

// etcdProperty reads one line of the block of a store in etcd.
func (p *parser) etcdProperty(cfg *EtcdConfig, seen map[string]string) error {
	name := p.c.Val()
	if !slices.Contains(etcdProperties, name) {
		return p.unknown(name, " in the block of store", etcdProperties)
	}
	if first, twice := seen[name]; twice {
		return p.c.Errf("property '%s' is stated twice, first at %s: keep one of the lines", name, first)
	}
	seen[name] = p.place()
	args, err := p.args("store", name)
	if err != nil {
		return err
	}
	if p.blockFollows() {
		return p.noBlock(name)
	}
	switch name {
	case "prefix":
		cfg.Prefix, err = p.etcdPrefix(args)
	case "tls":
		err = p.etcdTLS(args, cfg)
	case "credentials":
		if len(args) != 2 || slices.Contains(args, "") {
			return p.c.Errf("credentials needs a user and the file of the password: " +
				"write for example \"credentials meshvip /etc/meshvip/etcd-password\"")
		}
		cfg.Username, cfg.PasswordFile = args[0], p.path(args[1])
	case "timeout":
		cfg.Timeout, err = p.etcdTimeout(args)
	case "lease":
		cfg.Lease, err = p.etcdLease(args)
	}
	return err
}

// etcdPrefix returns the prefix with its final slash.
func (p *parser) etcdPrefix(args []string) (string, error) {
	arg, err := p.one("prefix", args, "what the table's keys begin with", defaultEtcdPrefix)
	if err != nil {
		return "", err
	}
	name := strings.TrimRight(arg, "/")
	switch {
	case !strings.HasPrefix(arg, "/"):
		return "", p.c.Errf("prefix '%s' does not begin with a slash: write \"prefix /%s/\"", arg, name)
	case name == "":
		return "", p.c.Errf("prefix '%s' is all of etcd: write for example \"prefix %s\"", arg, defaultEtcdPrefix)
	}
	return name + "/", nil
}

// etcdTLS reads the files of TLS, in the order of CoreDNS's own plugin etcd.
func (p *parser) etcdTLS(args []string, cfg *EtcdConfig) error {
	if len(args) == 0 || len(args) > 3 || slices.Contains(args, "") {
		return p.c.Errf("tls needs one to three files: write \"tls CA\" for the authorities of etcd's certificate, \"tls CERT KEY\" " +
			"for a certificate of this server, or \"tls CERT KEY CA\"; " +
			"where the system's authorities do and etcd asks for no certificate, leave the line out and write https in the endpoints")
	}
	files := make([]string, len(args))
	for i, a := range args {
		files[i] = p.path(a)
	}
	if len(files) > 1 {
		cfg.Cert, cfg.Key = files[0], files[1]
		files = files[2:]
	}
	if len(files) > 0 {
		cfg.CA = files[0]
	}
	return nil
}

func (p *parser) etcdTimeout(args []string) (time.Duration, error) {
	arg, err := p.one("timeout", args, "a duration", defaultEtcdTimeout.String())
	if err != nil {
		return 0, err
	}
	d, err := time.ParseDuration(arg)
	if err != nil || d <= 0 {
		return 0, p.c.Errf("timeout '%s' is not a positive duration with its unit: write for example \"timeout %v\"", arg, defaultEtcdTimeout)
	}
	return d, nil
}

func (p *parser) etcdLease(args []string) (time.Duration, error) {
	arg, err := p.one("lease", args, "a duration", defaultEtcdLease.String())
	if err != nil {
		return 0, err
	}
	d, err := time.ParseDuration(arg)
	if err != nil || d < minLease || d > maxLease || d%time.Second != 0 {
		return 0, p.c.Errf("lease '%s' is not a duration of whole seconds from %v to %v: write for example \"lease %v\"",
			arg, minLease, maxLease, defaultEtcdLease)
	}
	return d, nil
}

// endpoint is the address of a member of etcd.
type endpoint struct {
	scheme string // http or https; empty where it is not stated
	host   string // with the port
	shown  string // as the Corefile has it, without a password
}

// hostName is the form of the host names that endpoints may have.
var hostName = regexp.MustCompile(`^[a-z0-9_]([a-z0-9._-]{0,251}[a-z0-9_.])?$`)

// parseEndpoint reads an address, and returns what is wrong with it.
func parseEndpoint(s string) (e endpoint, wrong string) {
	e.shown = s
	stated := strings.Contains(s, "://")
	if !stated {
		s = "http://" + s
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return e, "is not a URL or HOST:PORT"
	case u.User != nil:
		e.shown = u.Redacted()
		return e, "has a user or a password, which logs would show; they belong into the line \"credentials USER FILE\" of its block"
	case u.Scheme != "http" && u.Scheme != "https":
		return e, "is neither http nor https"
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return e, "has more than a host and a port; what keys begin with is the line \"prefix " + defaultEtcdPrefix + "\" of its block"
	}
	host, port := strings.ToLower(u.Hostname()), u.Port()
	if addr, err := netip.ParseAddr(host); err == nil && addr.Zone() == "" {
		host = addr.String()
	} else if !hostName.MatchString(host) {
		return e, "has no host that is an IP address or a name"
	}
	if port == "" {
		port = etcdPort
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return e, "has no port from 1 to 65535"
	}
	e.host = net.JoinHostPort(host, strconv.FormatUint(n, 10))
	if stated {
		e.scheme = u.Scheme
	}
	return e, ""
}

// joinEndpoints returns the endpoints of a store as EtcdConfig has them. tls is
// where the line tls is stated; empty where it is not.
func joinEndpoints(endpoints []endpoint, place, tls string) (string, error) {
	scheme := "http"
	if tls != "" {
		scheme = "https"
	}
	var all []string
	for i := range endpoints {
		e := &endpoints[i]
		if e.scheme == "" {
			e.scheme = scheme
		}
		switch {
		case tls != "" && e.scheme == "http":
			return "", fmt.Errorf("%s: tls is stated, and store etcd '%s' (%s) is plain http: "+
				"write https there, or remove the line tls", tls, e.shown, place)
		case e.scheme != endpoints[0].scheme:
			return "", fmt.Errorf("%s: store etcd has '%s' in %s and '%s' in %s: all members are talked to in one way; write it in all of them",
				place, endpoints[0].shown, endpoints[0].scheme, e.shown, e.scheme)
		}
		all = append(all, e.scheme+"://"+e.host)
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), " "), nil
}
