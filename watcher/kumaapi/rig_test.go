package kumaapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/meshvip/coredns-meshvip/watcher"
	"github.com/meshvip/coredns-meshvip/watcher/kumaapi/fakekuma"
)

// base is the URL of the control plane of a rig.
const base = "http://kuma:5681"

// dp is a Dataplane with these services.
func dp(mesh, name string, services ...string) string {
	var in []string
	for _, s := range services {
		in = append(in, fmt.Sprintf(`{"port":80,"tags":{"kuma.io/service":%q}}`, s))
	}
	return fmt.Sprintf(`{"type":"Dataplane","mesh":%q,"name":%q,"networking":{"inbound":[%s]}}`, mesh, name, strings.Join(in, ","))
}

// ms is a MeshService of the default mesh with these addresses from Kuma.
func ms(name string, vips ...string) string {
	var all []string
	for _, ip := range vips {
		all = append(all, fmt.Sprintf(`{"ip":%q}`, ip))
	}
	return fmt.Sprintf(`{"type":"MeshService","mesh":"default","name":%q,"spec":{},"status":{"addresses":[{"hostname":"%s.local"}],"vips":[%s]}}`,
		name, name, strings.Join(all, ","))
}

func external(mesh, name, service, address string) string {
	return fmt.Sprintf(`{"type":"ExternalService","mesh":%q,"name":%q,"networking":{"address":%q},"tags":{"kuma.io/service":%q}}`,
		mesh, name, address, service)
}

// heard is a feed that remembers what it was told.
type heard struct {
	places  map[string][]watcher.Resource
	puts    []string // since the last look
	commits int
	state   watcher.State
	pending bool
}

func (h *heard) Place(place string) []watcher.Resource { return h.places[place] }

func (h *heard) Put(place string, resources []watcher.Resource) {
	h.puts, h.pending = append(h.puts, place), true
	if len(resources) == 0 {
		delete(h.places, place)
	} else {
		h.places[place] = resources
	}
}

func (h *heard) Commit(s watcher.State) { h.commits, h.state, h.pending = h.commits+1, s, false }

// rig drives a source by hand, pass by pass.
type rig struct {
	*testing.T
	kuma *fakekuma.Server
	feed *heard
	f    *follower
}

func newRig(t *testing.T, kuma *fakekuma.Server, opts Options) *rig {
	t.Helper()
	opts.transport = kuma.Transport()
	s, err := New(base, opts)
	if err != nil {
		t.Fatal(err)
	}
	return rigOf(t, kuma, s)
}

func rigOf(t *testing.T, kuma *fakekuma.Server, s *Source) *rig {
	t.Cleanup(s.client.close)
	feed := &heard{places: make(map[string][]watcher.Resource)}
	return &rig{t, kuma, feed, newFollower(s, feed)}
}

// started is a rig that has read kuma once.
func started(t *testing.T, kuma *fakekuma.Server, opts Options) *rig {
	t.Helper()
	r := newRig(t, kuma, opts)
	r.pass()
	if !r.feed.state.Read || r.feed.state.Incomplete != "" {
		t.Fatalf("after the first pass: %+v, %q", r.feed.state, r.f.Status().Problems)
	}
	return r
}

// pass lets the source read everything once.
func (r *rig) pass() *rig {
	r.Helper()
	if !r.f.pass(r.Context()) {
		r.Fatal("the pass was given up")
	}
	r.feed.puts = nil
	r.f.tell()
	if r.feed.pending {
		r.Error("something was put and not committed")
	}
	return r
}

// set changes the settings of the control plane.
func (r *rig) set(change func(*fakekuma.Settings)) *rig { r.kuma.Set(change); return r }

// faults lets these, and no others, befall the control plane from now on.
func (r *rig) faults(faults ...*fakekuma.Fault) *rig {
	return r.set(func(s *fakekuma.Settings) { s.Faults = faults })
}

// entries are what all places ask for, as MESH/KEY, sorted; terms follow.
func (r *rig) entries() string {
	var all []string
	for _, rs := range r.feed.places {
		for _, c := range rs[0].Claims {
			e := strings.TrimPrefix(c.Mesh+"/", "default/") + c.Entry.String()
			if c.Terms != nil {
				for _, a := range c.Terms.Static {
					e += fmt.Sprintf("=%v", a)
				}
				for _, a := range c.Terms.Given {
					e += fmt.Sprintf("<%v", a)
				}
				if c.Terms.Follow {
					e += "!"
				}
			}
			all = append(all, e)
		}
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), " ")
}

// want checks what all places ask for.
func (r *rig) want(entries string) *rig {
	r.Helper()
	if got := r.entries(); got != entries {
		r.Errorf("entries %q, want %q", got, entries)
	}
	return r
}

// wantPuts checks which places the last pass put, without the URL.
func (r *rig) wantPuts(places ...string) *rig {
	r.Helper()
	var got []string
	for _, p := range r.feed.puts {
		got = append(got, strings.TrimPrefix(p, base))
	}
	if !slices.Equal(got, places) {
		r.Errorf("put %q, want %q", got, places)
	}
	return r
}

// problems checks what is wrong now, each by parts of its text, in order.
func (r *rig) problems(want ...string) *rig {
	r.Helper()
	ps := r.f.Status().Problems
	if len(ps) != len(want) {
		r.Errorf("problems %q, want %d", ps, len(want))
		return r
	}
	for i, p := range ps {
		text := p.Place + ": " + p.What
		for part := range strings.SplitSeq(want[i], "...") {
			if !strings.Contains(text, part) {
				r.Errorf("problem %q, want one with %q", text, part)
			}
		}
	}
	return r
}

// incomplete checks that the feed was told that something was never read.
func (r *rig) incomplete(part string) *rig {
	r.Helper()
	if got := r.feed.state.Incomplete; (part == "") != (got == "") || !strings.Contains(got, part) {
		r.Errorf("incomplete %q, want one with %q", got, part)
	}
	return r
}

// twoMeshes is a control plane with something of most kinds.
func twoMeshes() *fakekuma.Server {
	k := fakekuma.New()
	k.Put("meshes", `{"type":"Mesh","name":"m"}`)
	k.Put("dataplanes", dp("default", "a", "web"), dp("default", "b", "web", "api"), dp("m", "a", "web"), dp("m", "c", "db"))
	k.Put("external-services", external("default", "x", "bin", "httpbin.org:80"))
	k.Put("zone-ingresses", `{"type":"ZoneIngress","name":"east","zone":"east","availableServices":[{"mesh":"m","tags":{"kuma.io/service":"far"}}]}`)
	return k
}

// all is what twoMeshes asks for.
const all = "0:api 0:bin 0:web 1:httpbin.org m/0:db m/0:far m/0:web"

// without returns all but these.
func without(entries ...string) string {
	var left []string
	for e := range strings.FieldsSeq(all) {
		if !slices.Contains(entries, e) {
			left = append(left, e)
		}
	}
	return strings.Join(left, " ")
}
