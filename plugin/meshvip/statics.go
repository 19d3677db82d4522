package meshvip

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
)

// StaticConfig is an entry with an address of the operator's choice.
type StaticConfig struct {
	Key   vip.Key
	Addr  netip.Addr
	Place string
}

// String returns the arguments of the property static.
func (s StaticConfig) String() string { return s.Key.String() + " " + s.Addr.String() }

// compare orders statics by entry, then by address, IPv4 before IPv6.
func (s StaticConfig) compare(o StaticConfig) int {
	return cmp.Or(s.Key.Compare(o.Key), s.Addr.Compare(o.Addr))
}

// static reads one entry with its address.
func (p *parser) static(args []string) error {
	if len(args) != 2 {
		return p.c.Errf("static needs an entry and its address: write for example \"static backend 240.0.0.10\"")
	}
	key, err := parseKey(args[0])
	if err != nil {
		return p.c.Errf("static %v", err)
	}
	s := StaticConfig{Key: key, Addr: parseAddr(args[1]), Place: p.place()}
	if !s.Addr.IsValid() {
		return p.c.Errf("static '%s' is not the address of an entry: write one IPv4 or IPv6 address, "+
			"for example \"static %s 240.0.0.10\"", args[1], args[0])
	}
	for _, o := range p.cfg.Runtime.Statics {
		switch {
		case o.compare(s) == 0:
			return p.c.Errf("static %v is stated twice, first at %s: keep one of the lines", s, o.Place)
		case o.Addr == s.Addr:
			return p.c.Errf("static %v: %s gives this address to %v: an address belongs to one entry; "+
				"remove one of the lines, or choose another address", s, o.Place, o.Key)
		case o.Key == s.Key && o.Addr.BitLen() == s.Addr.BitLen():
			return p.c.Errf("static %v: %s gives the entry %v: an entry has one address of each family; "+
				"remove one of the lines", s, o.Place, o.Addr)
		}
	}
	p.cfg.Runtime.Statics = append(p.cfg.Runtime.Statics, s)
	return nil
}

// parseKey reads an entry as the Corefile writes it: the name of a service, or
// TYPE:NAME.
func parseKey(s string) (vip.Key, error) {
	if s != "" && !strings.Contains(s, ":") {
		s = vip.Entry{Kind: vip.Service, Name: s}.String()
	}
	entry, err := vip.ParseEntry(s)
	if err != nil || entry.Kind.OfMesh() {
		return vip.Key{}, fmt.Errorf("'%.80s' is not an entry that can have an address of your choice: "+
			"write the name of a service, \"backend\", or type and name, \"0:backend\" (service), \"1:httpbin.org\" (host), "+
			"\"2:api.payments.mesh\" (full name)", s)
	}
	return entry.Key(), nil
}

// checkStatics returns an error that names the line of the first static of r
// that its pools cannot give, and what to change.
func checkStatics(r RuntimeConfig) error {
	layout := r.layout()
	for _, s := range r.Statics {
		if err := layout.CheckStatic(s.Addr); err != nil {
			return fmt.Errorf("%s: static %v: %w", s.Place, s, err)
		}
	}
	return nil
}

// mergeStatics returns the statics that both lists state, or those of the one
// that states any.
func mergeStatics(a, b []StaticConfig) ([]StaticConfig, error) {
	switch {
	case len(b) == 0:
		return a, nil
	case len(a) == 0:
		return b, nil
	}
	if err := lacks(a, b); err != nil {
		return nil, err
	}
	return a, lacks(b, a)
}

// lacks returns an error that names the first static of b that a has not.
func lacks(a, b []StaticConfig) error {
	for _, s := range b {
		if slices.ContainsFunc(a, func(o StaticConfig) bool { return o.compare(s) == 0 }) {
			continue
		}
		place, has := a[0].Place, "none such"
		for _, o := range a {
			if o.Addr == s.Addr || o.Key == s.Key && o.Addr.BitLen() == s.Addr.BitLen() {
				place, has = o.Place, o.String()
			}
		}
		return conflict("static", place, has, s.Place, s.String())
	}
	return nil
}
