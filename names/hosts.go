package names

import (
	"slices"

	"github.com/meshvip/coredns-meshvip/vip"
)

// listsHosts reports whether the hostnames that the record's entry claims are
// held one by one: they are several, or another has the only one. Literal is the
// first that it has then.
func (r *Record) listsHosts() bool { return r.more != nil && r.more.hosts != nil }

// expect makes room for the hostnames that are claimed, in a record that is not
// published yet.
func (r *Record) expect(claims []named) {
	hosts := make([]host, len(claims))
	for i, n := range claims {
		hosts[i].name = n.name
	}
	more := several{hosts: hosts}
	if r.more != nil {
		more.v4, more.v6 = r.more.v4, r.more.v6
	}
	r.more = &more
}

func (r *Record) hostAt(name string) int {
	return slices.IndexFunc(r.more.hosts, func(h host) bool { return h.name == name })
}

func (r *Record) hasHost(name string) bool {
	i := r.hostAt(name)
	return i >= 0 && r.more.hosts[i].has
}

// setHost gives a hostname to a record that is not published yet, or takes it
// away. One that the entry claims no longer it has not.
func (r *Record) setHost(name string, has bool) {
	if i := r.hostAt(name); i >= 0 {
		r.more.hosts[i].has = has
	}
}

// ownHosts appends the hostnames that the record has.
func (r *Record) ownHosts(dst []string) []string {
	for _, h := range r.more.hosts {
		if h.has {
			dst = append(dst, h.name)
		}
	}
	return dst
}

// claimed appends the hostnames that the record's entry claims.
func (r *Record) claimed(dst []string) []string {
	switch {
	case r == nil || !r.Row.Entry.Kind.OfMesh():
	case r.listsHosts():
		for _, h := range r.more.hosts {
			dst = append(dst, h.name)
		}
	case r.Literal != "":
		dst = append(dst, r.Literal)
	}
	return dst
}

// settleHosts makes Literal the first hostname that the record has, and lists
// them where that does not say all.
func (r *Record) settleHosts() {
	if !r.listsHosts() {
		if r.Literal != "" {
			return
		}
		var buf [2]named
		if all, _ := claims(r.Row, 0, buf[:0]); len(all) > 0 {
			r.expect(all)
		}
		return
	}
	r.Literal = ""
	for _, h := range r.more.hosts {
		if h.has {
			r.Literal = h.name
			break
		}
	}
	if len(r.more.hosts) == 1 && r.Literal != "" {
		if r.more.hosts = nil; r.more.v4 == nil && r.more.v6 == nil {
			r.more = nil
		}
	}
}

// clone returns a copy of r that shares nothing that may be written to.
func (r *Record) clone() *Record {
	c := *r
	if r.listsHosts() {
		more := *r.more
		more.hosts = slices.Clone(more.hosts)
		c.more = &more
	}
	return &c
}

// retold reports whether two rows of an entry are told different hostnames. All
// other claims follow from the key alone, once there is an address.
func retold(old, row *vip.Row) bool {
	return row.Entry.Kind.OfMesh() && !slices.Equal(old.Hostnames(), row.Hostnames())
}

// only returns what row claims and other, another row of its entry, does not.
func (d *draft) only(row, other *vip.Row) []named {
	all, _ := claims(row, d.zones.longest, nil)
	theirs, _ := claims(other, d.zones.longest, nil)
	return slices.DeleteFunc(all, func(n named) bool { return slices.Contains(theirs, n) })
}
