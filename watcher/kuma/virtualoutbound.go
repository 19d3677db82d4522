package kuma

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/meshvip/coredns-meshvip/vip"
)

// OriginVirtualOutbound stands before the name of the VirtualOutbound that gave
// an outbound, in Kuma's words.
const OriginVirtualOutbound = "virtual-outbound:"

// maxParameters bounds how many values go into a template.
const maxParameters = 64

// VirtualOutbound is a policy that gives full names, each with a port, to the
// services of its mesh that it selects. It is immutable.
type VirtualOutbound struct {
	Selectors  []Selector // one has to match
	Parameters []Parameter
	host, port *pattern
	// Created is when the policy was made, the zero time where that is not
	// known, as in Kuma: it counts as the oldest.
	Created time.Time
}

// Parameter is a value that a template may use: that of a tag.
type Parameter struct{ Name, TagKey string }

// virtualOutbound reads a VirtualOutbound.
func virtualOutbound(o object, meta metadata) (Spec, error) {
	v := &VirtualOutbound{Created: meta.created()}
	var err error
	if v.Selectors, err = selectors(o); err != nil {
		return nil, err
	}
	conf, ok, err := o.object("conf")
	if err == nil && !ok {
		err = fmt.Errorf("%sconf is missing: the document was cut short", o.path)
	}
	if err != nil {
		return nil, err
	}
	if v.Parameters, err = parameters(conf); err != nil {
		return nil, err
	}
	if v.host, err = conf.pattern("host", false); err != nil {
		return nil, err
	}
	if v.port, err = conf.pattern("port", false); err != nil {
		return nil, err
	}
	return v, nil
}

// parameters reads the parameters of conf.
func parameters(conf object) ([]Parameter, error) {
	list, err := conf.objects("parameters")
	if err != nil {
		return nil, err
	}
	if len(list) > maxParameters {
		return nil, fmt.Errorf("%sparameters has %d elements: write %d at most", conf.path, len(list), maxParameters)
	}
	ps := make([]Parameter, len(list))
	service := false
	for i, item := range list {
		name, err := item.text("name")
		if err != nil {
			return nil, err
		}
		if !isParameter(name) {
			return nil, fmt.Errorf("%sname: %.60q is no name of a parameter: write letters and digits", item.path, name)
		}
		key, err := item.text("tagKey")
		if err != nil {
			return nil, err
		}
		if key == "" {
			key = name
		}
		ps[i] = Parameter{name, key}
		service = service || key == vip.ServiceTag
	}
	if !service {
		return nil, fmt.Errorf("%sparameters has none of the tag %s, which every service has: add {name: service, tagKey: %s}", conf.path, vip.ServiceTag, vip.ServiceTag)
	}
	return ps, nil
}

func isParameter(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		default:
			return false
		}
	}
	return s != ""
}

// pattern reads the template at key. labelled says that it may call label.
func (o object) pattern(key string, labelled bool) (*pattern, error) {
	text, err := o.text(key)
	if err != nil {
		return nil, err
	}
	p, err := newPattern(text, labelled)
	if err != nil {
		return nil, fmt.Errorf("%s%s: %w", o.path, key, err)
	}
	return p, nil
}

// Same implements [Part].
func (v *VirtualOutbound) Same(p Part) bool {
	o, ok := p.(*VirtualOutbound)
	return ok && v.Equal(o)
}

// Equal reports whether v and o say the same.
func (v *VirtualOutbound) Equal(o *VirtualOutbound) bool {
	return v.Created.Equal(o.Created) && v.host.Equal(o.host) && v.port.Equal(o.port) &&
		slices.Equal(v.Parameters, o.Parameters) &&
		slices.EqualFunc(v.Selectors, o.Selectors, func(a, b Selector) bool { return slices.Equal(a, b) })
}

// Match returns how narrowly v selects a service with these tags, which are
// sorted by key, and whether it does.
func (v *VirtualOutbound) Match(tags []vip.Tag) (Rank, bool) {
	var best Rank
	matches := false
	for _, s := range v.Selectors {
		if r, ok := s.match(tags); ok && (!matches || r.Compare(best) > 0) {
			best, matches = r, true
		}
	}
	return best, matches
}

// Services returns the services that v may select, and whether it may select
// any others too.
func (v *VirtualOutbound) Services() (names []string, others bool) {
	for _, s := range v.Selectors {
		if name, ok := tagOf(s, vip.ServiceTag); ok && name != anyValue {
			names = append(names, name)
		} else {
			others = true
		}
	}
	slices.Sort(names)
	return slices.Compact(names), others
}

// Uses returns those of tags, which are sorted by key, that v has a parameter
// for. What v makes of a service depends on nothing else, and Kuma selects the
// service by them.
func (v *VirtualOutbound) Uses(tags []vip.Tag) []vip.Tag {
	used := make([]vip.Tag, 0, len(v.Parameters))
	for _, t := range tags {
		if slices.ContainsFunc(v.Parameters, func(p Parameter) bool { return p.TagKey == t.Key }) {
			used = append(used, t)
		}
	}
	return used
}

// Outbound returns the name and the outbound that v, whose own name is name,
// gives a service of which [VirtualOutbound.Uses] has returned used.
func (v *VirtualOutbound) Outbound(name string, used []vip.Tag) (host string, out vip.Outbound, err error) {
	values := make(map[string]string, len(v.Parameters))
	for _, p := range v.Parameters {
		value, ok := tagOf(used, p.TagKey)
		if len(value) > maxRendered {
			return "", out, fmt.Errorf("its tag %.60q is longer than %d bytes", p.TagKey, maxRendered)
		}
		if ok {
			values[p.Name] = value
		}
	}
	text, err := v.host.render(values, nil)
	if err == nil {
		host, err = dnsName(text)
	}
	if err != nil {
		return "", out, fmt.Errorf("conf.host: %w", err)
	}
	port, err := v.port.render(values, nil)
	if err != nil {
		return "", out, fmt.Errorf("conf.port: %w", err)
	}
	n, err := strconv.ParseInt(port, 10, 64)
	if err != nil || n < 1 || n > 65535 {
		return "", out, fmt.Errorf("conf.port: %.60q is no port: %w", port, errPort)
	}
	return host, vip.Outbound{Port: uint16(n), Tags: used, Origin: OriginVirtualOutbound + name}, nil
}

var errPort = errors.New("it has to be a number from 1 to 65535")
