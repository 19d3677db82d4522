package kumatable

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
)

// below4 is what is written below one service: what leads to it with the same
// tags beside, and what is below those.
type below4 struct {
	tags map[string]string
	aps  []addressPort4
}

// Encode4 returns mesh's part of the table in format 4, a JSON object with one
// service a line, which ends in a newline. It has of the rows what [Encode3]
// has, sorted by service, then tags, then as the rows are.
//
// The format tells an entry's type by the origins of its outbounds, and knows no
// entry without an outbound. A service that has none is written with the one of
// its service tag. Other entries whose outbounds do not say their type are left
// out, and so is a service whose outbounds lead to another service, and what
// JSON cannot carry: an error of type [SetAside] tells them, beside which the
// text stands. There is no other error.
//
// [Decode] reads it as it was, but for an empty service tag, which comes back as
// none, and what [Encode3] says.
func Encode4(mesh string, rows []*vip.Row) ([]byte, error) {
	services := make(map[string]map[string]*below4)
	aside := listed(mesh, rows, func(r *vip.Row, l vip.Listing) error {
		e := spelled(r, l)
		outbounds := l.Outbounds
		if len(outbounds) == 0 && e.Kind == vip.Service {
			outbounds = []vip.Outbound{serviceOutbound(e.Name)}
		}
		if err := carriable4(e, outbounds); err != nil {
			return fmt.Errorf("entry %.80q: %w", e, err)
		}
		for _, o := range outbounds {
			ap := addressPort4{Port: o.Port, Origin: minify(o.Origin)}
			if addrs := r.Addrs(); len(addrs) > 0 {
				ap.Address = addrs[0].String()
			}
			if e.Kind != vip.Service {
				ap.Domain = &e.Name
			}
			put4(services, o, ap)
		}
		return nil
	})
	return write4(services), aside.asError()
}

// carriable4 returns an error if format 4 would give e back as another entry, or
// not at all.
func carriable4(e vip.Entry, outbounds []vip.Outbound) error {
	if len(outbounds) == 0 {
		return errors.New("it has no outbound, and format 4 has entries by their outbounds alone")
	}
	for _, o := range outbounds {
		switch origin := minify(o.Origin); {
		case kindOf4(origin) != e.Kind || unminify(origin) != o.Origin || o.Origin == originKubernetes:
			return fmt.Errorf("format 4 tells types by origins, and the origin %.80q is not that of a %v", o.Origin, e.Kind)
		case e.Kind == vip.Service && o.TagMap()[vip.ServiceTag] != e.Name:
			return fmt.Errorf("format 4 has services by their tag, and it has an outbound with another one, %.80q", o.TagMap()[vip.ServiceTag])
		}
	}
	return nil
}

// put4 puts an address and port where o leads.
func put4(services map[string]map[string]*below4, o vip.Outbound, ap addressPort4) {
	tags := o.TagMap()
	service := tags[vip.ServiceTag]
	delete(tags, vip.ServiceTag)
	if services[service] == nil {
		services[service] = make(map[string]*below4)
	}
	var name strings.Builder // tells sets of tags from another
	for _, t := range o.Tags {
		if t.Key != vip.ServiceTag {
			fmt.Fprintf(&name, "%q=%q,", t.Key, t.Value)
		}
	}
	below := services[service][name.String()]
	if below == nil {
		below = &below4{tags: tags}
		services[service][name.String()] = below
	}
	below.aps = append(below.aps, ap)
}

// write4 writes the services in order. A table without any is "{}": Kuma reads
// one with an empty "v" as format 3, and "v" is no entry.
func write4(services map[string]map[string]*below4) []byte {
	if len(services) == 0 {
		return []byte("{}\n")
	}
	var b bytes.Buffer
	sep := "{\"v\":{\n  "
	for _, service := range slices.Sorted(maps.Keys(services)) {
		b.WriteString(sep)
		sep = ",\n  "
		writeJSON(&b, service)
		b.WriteString(`:{"oe":[`)
		for i, name := range slices.Sorted(maps.Keys(services[service])) {
			below := services[service][name]
			if i > 0 {
				b.WriteByte(',')
			}
			writeJSON(&b, struct {
				Tags         map[string]string `json:"t,omitempty"`
				AddressPorts []addressPort4    `json:"ap"`
			}{below.tags, below.aps})
		}
		b.WriteString("]}")
	}
	b.WriteString("\n}}\n")
	return b.Bytes()
}
