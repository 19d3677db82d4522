package watcher

import (
	"slices"

	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
)

// mesh is all that is asked for in one mesh, declared or not.
type mesh struct {
	name     string
	declared bool
	slots    map[vip.Key]*slot
	// claims is how many claims the slots hold, and how many policies name the
	// mesh as theirs.
	claims int
	// dirty are the keys that were touched since the last batch.
	dirty map[vip.Key]struct{}
	// clashing are the keys of which some outbound or static address loses.
	clashing map[vip.Key]struct{}
	// sent says that the last batch left the mesh in the table.
	sent bool
	// since is the place that named the mesh first while it is undeclared.
	since string

	// members are the resources that claim something in the mesh, see
	// [Desired.enlist].
	members  map[*Resource]struct{}
	virtual  *virtual                    // nil where no VirtualOutbound is
	naming   *naming                     // nil where Kuma decided on all names
	gateways map[kuma.ID]*kuma.CrossMesh // those that belong to the mesh
}

func newMesh(name string) *mesh {
	return &mesh{
		name:     name,
		slots:    make(map[vip.Key]*slot),
		dirty:    make(map[vip.Key]struct{}),
		clashing: make(map[vip.Key]struct{}),
	}
}

// exists reports whether what the mesh asks for counts.
func (m *mesh) exists() bool { return m.declared || m.name == vip.DefaultMesh }

// waiting reports whether the mesh has claims that do not count.
func (m *mesh) waiting() bool { return !m.exists() && m.claims > 0 }

// forgettable reports whether nothing at all is known of the mesh.
func (m *mesh) forgettable() bool {
	return !m.exists() && !m.sent && len(m.slots) == 0 && m.claims == 0
}

// hold counts somebody at where who names the mesh.
func (m *mesh) hold(where string) {
	if m.claims++; m.since == "" {
		m.since = where
	}
}

// release undoes hold.
func (m *mesh) release() {
	if m.claims--; m.claims == 0 {
		m.since = ""
	}
}

// add lets the claim of the resource id, which stands at where, count.
func (m *mesh) add(id kuma.ID, where string, c kuma.Claim) {
	m.hold(where)
	key := c.Entry.Key()
	s := m.slots[key]
	if s == nil {
		s = new(slot)
		m.slots[key] = s
	}
	s.add(id, c)
	m.touch(key, s)
}

// sub undoes add.
func (m *mesh) sub(id kuma.ID, c kuma.Claim) {
	m.release()
	key := c.Entry.Key()
	s := m.slots[key]
	s.sub(id, c)
	m.touch(key, s)
}

// replace lets a claim that follows from policies count instead of another, where
// there is one.
func (m *mesh) replace(before kuma.Claim, was bool, after kuma.Claim, is bool) {
	if was && is && before.Equal(after) {
		return
	}
	if is {
		m.add(kuma.ID{}, "", after)
	}
	if was {
		m.sub(kuma.ID{}, before)
	}
}

func (m *mesh) touch(key vip.Key, s *slot) {
	m.dirty[key] = struct{}{}
	if s.clashes(key) {
		m.clashing[key] = struct{}{}
	} else {
		delete(m.clashing, key)
	}
}

// delta returns what changed since the last batch, and whether anything did.
func (m *mesh) delta() (vip.MeshUpdate, bool) {
	switch {
	case !m.exists():
		u := vip.MeshUpdate{Mesh: m.name, Gone: true}
		return u, m.drop()
	case !m.sent:
		return m.all(), true
	}
	u := vip.MeshUpdate{Mesh: m.name}
	for key := range m.dirty {
		s := m.slots[key]
		if s.empty() {
			if s.isSent() {
				u.Drop = append(u.Drop, key)
			}
			delete(m.slots, key)
			continue
		}
		if r := s.request(key); !sameRequest(r, s.sent) {
			s.sent = r
			u.Set = append(u.Set, r)
		}
	}
	clear(m.dirty)
	slices.SortFunc(u.Drop, vip.Key.Compare)
	sortRequests(u.Set)
	return u, len(u.Set)+len(u.Drop) > 0
}

// all returns all that the mesh asks for and takes it as handed over.
func (m *mesh) all() vip.MeshUpdate {
	u := vip.MeshUpdate{Mesh: m.name, Set: make([]vip.Request, 0, len(m.slots))}
	for key, s := range m.slots {
		if s.empty() {
			delete(m.slots, key)
			continue
		}
		if r := s.request(key); !sameRequest(r, s.sent) {
			s.sent = r
		}
		u.Set = append(u.Set, s.sent)
	}
	m.sent = true
	clear(m.dirty)
	sortRequests(u.Set)
	return u
}

// drop takes the mesh as no longer in the table, and reports whether it was.
func (m *mesh) drop() bool {
	was := m.sent
	keys := m.dirty
	if was {
		for key := range m.slots {
			keys[key] = struct{}{}
		}
	}
	for key := range keys {
		if s := m.slots[key]; s.empty() {
			delete(m.slots, key)
		} else {
			s.sent = vip.Request{}
		}
	}
	m.sent = false
	clear(m.dirty)
	return was
}

func sortRequests(rs []vip.Request) {
	type keyed struct {
		key vip.Key
		r   vip.Request
	}
	if len(rs) < 2 {
		return
	}
	sorted := make([]keyed, len(rs))
	for i, r := range rs {
		sorted[i] = keyed{r.Entry.Key(), r}
	}
	slices.SortFunc(sorted, func(a, b keyed) int { return a.key.Compare(b.key) })
	for i := range sorted {
		rs[i] = sorted[i].r
	}
}
