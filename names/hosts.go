package names

import (
	"slices"

	"github.com/meshvip/coredns-meshvip/vip"
)

// hasSeveralHosts reports whether the record's entry claims several hostnames.
// They are held one by one then, and Literal is the first that it has.
func (r *Record) hasSeveralHosts() bool { return r.more != nil && r.more.hosts != nil }

// expect makes room for the hostnames that are claimed, where they are several.
func (r *Record) expect(claims []named) {
	if len(claims) < 2 {
		return
	}
	hosts := make([]host, len(claims))
	for i, n := range claims {
		hosts[i].name = n.name
	}
	r.severals().hosts = hosts
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

// settleHosts makes Literal the first of several hostnames that the record
// has.
func (r *Record) settleHosts() {
	r.Literal = ""
	for _, h := range r.more.hosts {
		if h.has {
			r.Literal = h.name
			return
		}
	}
}

// clone returns a copy of r that shares nothing that may be written to.
func (r *Record) clone() *Record {
	c := *r
	if r.hasSeveralHosts() {
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
