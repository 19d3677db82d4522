package kumaapi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher"
)

// few is how many places a message names.
const few = 3

// report is what was last said of the state.
type report struct {
	lastSync time.Time
	synced   bool // all of it was known once
	problems watcher.Problems
}

// state says what is known of the control plane.
func (m *mirror) state() watcher.State {
	// What answers only to kinds that not every version has, by not knowing them, is
	// perhaps no control plane.
	s := watcher.State{Read: true, Incomplete: m.incomplete()}
	for _, l := range m.kinds {
		s.Read = s.Read && (l.known || !l.always)
	}
	m.synced = m.synced || s.Read && s.Incomplete == ""
	return s
}

// incomplete says what was never read well, "" where nothing is. It names the
// first few.
func (m *mirror) incomplete() string {
	var urls []string
	for _, l := range m.kinds {
		switch {
		case !l.known:
			urls = append(urls, m.url(l))
			continue
		case len(l.lost) > 0:
			urls = append(urls, fmt.Sprintf("%d without a name in %s", len(l.lost), m.url(l)))
		}
		var places []string
		for place, e := range l.troubled {
			if e.good == nil {
				places = append(places, place)
			}
		}
		slices.Sort(places)
		urls = append(urls, places...)
	}
	if len(urls) == 0 {
		return ""
	}
	more := ""
	if n := len(urls) - few; n > 0 {
		urls, more = urls[:few], fmt.Sprintf(" and %d more", n)
	}
	return "never read well: " + strings.Join(urls, ", ") + more
}

func (m *mirror) url(l *listed) string { return m.base + "/" + l.paths[0] }

// refused reports whether nothing of this control plane is listed.
func (m *mirror) refused() bool { return m.plane.mode == global }

// status brings the report up to date. It also returns which problems came up
// and which went away.
func (m *mirror) status() (s watcher.Status, came, went []watcher.Problem) {
	came, went = m.problems.Set(m.collect())
	return watcher.Status{Synced: m.synced, LastSync: m.lastSync, Errors: m.problems.Count, Problems: m.problems.Now}, came, went
}

// collect returns all that is wrong.
func (m *mirror) collect() []watcher.Problem {
	var ps []watcher.Problem
	if m.refused() {
		ps = append(ps, watcher.Problem{Place: m.base, What: "it is a Global control plane, which gives no addresses: each zone does so for itself. Give the URL of the control plane of our zone; what was listed before stays until then"})
	} else {
		ps = append(ps, m.failures()...)
		ps = append(ps, m.doubts()...)
	}
	for _, l := range m.kinds {
		ps = append(ps, m.kindProblems(l)...)
		for place, e := range l.troubled {
			ps = append(ps, entryProblems(place, e, m.follow)...)
		}
	}
	return append(ps, m.unaddressed()...)
}

// failures tells which kinds could not be listed: once for all that have the
// same reason.
func (m *mirror) failures() []watcher.Problem {
	var ps []watcher.Problem
	told := make(map[string][]*listed)
	for _, l := range m.kinds {
		if l.failure != nil {
			told[l.failure.what] = append(told[l.failure.what], l)
		}
	}
	for what, ls := range told {
		known := true
		for _, l := range ls {
			known = known && l.known
		}
		state := "what was listed before stays"
		if !known {
			state = "nothing is released anywhere until it is read"
		}
		p := watcher.Problem{Place: m.url(ls[0]), What: fmt.Sprintf("%s (%s)", what, state)}
		if len(ls) > 1 {
			p = watcher.Problem{Place: m.base, What: fmt.Sprintf("%s: %s (%s)", named(ls), what, state)}
		}
		if len(ls) == len(m.kinds) {
			p.What = fmt.Sprintf("%s (%s)", what, state)
		}
		ps = append(ps, p)
	}
	return ps
}

// named names the first few kinds.
func named(ls []*listed) string {
	var paths []string
	for _, l := range ls[:min(few, len(ls))] {
		paths = append(paths, "/"+l.paths[0])
	}
	if more := len(ls) - few; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(paths, ", "), more)
	}
	return strings.Join(paths, ", ")
}

// doubts tells what may be wrong with the control plane as a whole.
func (m *mirror) doubts() []watcher.Problem {
	var ps []watcher.Problem
	whole := func(format string, args ...any) {
		ps = append(ps, watcher.Problem{Place: m.base, What: fmt.Sprintf(format, args...)})
	}
	if m.unknown != "" && slices.ContainsFunc(m.kinds, func(l *listed) bool { return l.failure == nil }) {
		whole("it is not known what control plane this is: %s. Meanwhile it is taken for that of our zone", m.unknown)
	}
	if m.clear {
		whole("the token goes there in clear, where anybody on the way can read it: write https://, with the port that has TLS (5682)")
	}
	if m.plane.zone != "" && m.plane.zone != m.zone {
		whole("it is the control plane of zone %q, but our own zone is said to be %q: make the two the same, or the ingress of one of them is taken for the wrong zone's", m.plane.zone, m.zone)
	}
	if m.follow {
		return ps
	}
	if m.plane.allocates {
		whole("two give addresses: this control plane gives its own (dnsServer.CIDR %s), and proxies with transparent proxying listen on those. Follow it, or turn its addresses off (property follow of the source, or KUMA_DNS_SERVER_SERVICE_VIP_ENABLED=false)", m.plane.cidr)
	} else if m.given > 0 {
		whole("two give addresses: %d of its MeshServices and the like have theirs from Kuma, and one that has none yet gets one of ours until it does. Follow it (property follow of the source), so that only Kuma gives them", m.given)
	}
	return ps
}

// kindProblems tells what is wrong with a listing that was read.
func (m *mirror) kindProblems(l *listed) []watcher.Problem {
	var ps []watcher.Problem
	whole := func(format string, args ...any) {
		ps = append(ps, watcher.Problem{Place: m.url(l), What: fmt.Sprintf(format, args...)})
	}
	if l.absent && len(l.entries) > 0 {
		whole("the control plane does not know this kind any more, as after an upgrade; the %d that were listed before stay: let others take their place, then start anew without them", len(l.entries))
	}
	if l.unsteady {
		whole("the list changed each time while it was read; what is new counts, and nothing is released: if that stays so, ask less often")
	}
	if l.bare {
		whole("no Dataplane has a %s tag any more, although some had: newer versions of Kuma have none. The services of those that are still there stay: let MeshServices take their place, then start anew without them", vip.ServiceTag)
	}
	for n, it := range l.lost {
		if n == few {
			whole("and %d more items that are set aside", len(l.lost)-few)
			break
		}
		whole("%s: %v (it is set aside)", it.id, it.err)
	}
	for _, it := range l.kept[:min(few, len(l.kept))] {
		whole("%s: %v (what it may have been before stays)", it.id, it.err)
	}
	return ps
}

// entryProblems tells what is wrong with one resource.
func entryProblems(place string, e *entry, follow bool) []watcher.Problem {
	switch {
	case e.now.err != nil && e.good == nil:
		return []watcher.Problem{{Place: place, What: fmt.Sprintf("%s: %v (it is set aside)", e.id, e.now.err)}}
	case e.now.err != nil:
		return []watcher.Problem{{Place: place, What: fmt.Sprintf("%s: %v (its last good version stays)", e.id, e.now.err)}}
	}
	ps := slices.Clone(e.now.problems)
	if e.now.pinned && follow {
		ps = append(ps, watcher.Problem{Place: place, What: fmt.Sprintf("%s: its tag %s does not count, since only Kuma gives addresses: remove the tag, or do not follow Kuma", e.id, vip.StaticTag)})
	}
	return ps
}

// unaddressed tells of the entries that follow Kuma and have no address from it,
// once for each mesh.
func (m *mirror) unaddressed() []watcher.Problem {
	var ps []watcher.Problem
	for mesh, keys := range m.without {
		least := vip.Key{}
		for key := range keys {
			if least.Name == "" || key.Compare(least) < 0 {
				least = key
			}
		}
		more := ""
		if n := len(keys) - 1; n > 0 {
			more = fmt.Sprintf(", and %d more,", n)
		}
		remedy := "wait until Kuma has given it one"
		if !least.Kind.OfMesh() {
			remedy = cmp.Or(m.tablesRemedy(), remedy)
		}
		ps = append(ps, watcher.Problem{Place: m.base, What: fmt.Sprintf(
			"in mesh %q, %s%s has no address from Kuma, and gets none from a pool: %s", mesh, least, more, remedy)})
	}
	return ps
}

// tablesRemedy says what to do where the addresses of the older model are not
// known.
func (m *mirror) tablesRemedy() string {
	if m.tables == nil {
		return "Kuma keeps the addresses of services, hosts and fqdns in its tables, which its API does not serve: write where they are (follow TABLES)"
	}
	return "Kuma's table of the mesh does not have it: give a newer one, or check that Kuma gives addresses (dnsServer.serviceVipEnabled)"
}
