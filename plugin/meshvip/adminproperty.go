package meshvip

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// adminUnix begins the address of an admin interface on a unix socket.
const adminUnix = "unix:"

// adminBeside stands for the socket beside the store, until it is known which
// store that is.
const adminBeside = adminUnix

// admin reads the address of the admin interface.
func (p *parser) admin(args []string) error {
	address := adminBeside
	switch {
	case len(args) > 1:
		return p.c.Errf("admin needs one address at most: write \"admin\" for a socket beside the store, " +
			"or for example \"admin unix:/run/meshvip.sock\" or \"admin 127.0.0.1:9253\"")
	case len(args) == 1:
		var ok bool
		if address, ok = p.adminAddress(args[0]); !ok {
			return p.c.Errf("admin '%s' is not an address: write \"admin\" for a socket beside the store, "+
				"or for example \"admin unix:/run/meshvip.sock\" or \"admin 127.0.0.1:9253\"", args[0])
		}
	}
	p.cfg.Runtime.Admin = Stated[string]{address, p.place()}
	return nil
}

// adminAddress returns an address in its full form, and whether it is one.
func (p *parser) adminAddress(arg string) (string, bool) {
	if path, ok := strings.CutPrefix(arg, adminUnix); ok {
		return adminUnix + p.path(path), path != ""
	}
	host, port, err := net.SplitHostPort(arg)
	if err != nil {
		return "", false
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", false
	}
	// All interfaces only where somebody says so: with an address.
	if addr, err := netip.ParseAddr(host); host != "localhost" && (err != nil || addr.Is4In6()) {
		return "", false
	}
	return arg, true
}

// adminAddress returns where the admin interface of r is: "unix:PATH" or
// "HOST:PORT", empty where there is none.
func (r RuntimeConfig) adminAddress() string {
	switch {
	case r.Admin.Value != adminBeside:
		return r.Admin.Value
	case r.Store.Value.Path != "":
		return adminUnix + r.Store.Value.Path + ".sock"
	}
	return "" // see complete
}
