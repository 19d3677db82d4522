package kumaapi

import (
	"fmt"
	"testing"

	"github.com/meshvip/coredns-meshvip/watcher"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
	"github.com/meshvip/coredns-meshvip/watcher/kumaapi/fakekuma"
	"pgregory.net/rapid"
)

// history is a control plane that changes, and what has to be true of it: the slow
// and obvious oracle.
type history struct {
	t *rapid.T
	k *fakekuma.Server
	// held is what it holds, by place.
	held map[string]string
	// steady are the places that the source has put and that were there ever
	// since.
	steady map[string]bool
}

var (
	someKinds = []string{"dataplanes", "external-services", "meshservices", "meshes"}
	someNames = []string{"a", "b", "c", "d", "e", "f"}
)

// place returns where a resource is.
func place(path, mesh, name string) string {
	for _, k := range kinds {
		if k.paths[0] == path {
			return k.place(base, kuma.ID{Mesh: mesh, Name: name})
		}
	}
	panic(path)
}

// change lets somebody put or remove a resource.
func (h *history) change() {
	path := rapid.SampledFrom(someKinds).Draw(h.t, "kind")
	mesh := rapid.SampledFrom([]string{"default", "m"}).Draw(h.t, "mesh")
	name := rapid.SampledFrom(someNames).Draw(h.t, "name")
	if path == "meshes" {
		mesh = ""
	}
	at := place(path, mesh, name)
	if rapid.IntRange(0, 2).Draw(h.t, "removed") == 0 {
		h.k.Remove(path, mesh, name)
		delete(h.held, at)
		delete(h.steady, at)
		return
	}
	service := rapid.SampledFrom([]string{"x", "y", "z"}).Draw(h.t, "service")
	var text string
	switch path {
	case "dataplanes":
		text = dp(mesh, name, service)
		if rapid.IntRange(0, 4).Draw(h.t, "bare") == 0 {
			text = fmt.Sprintf(`{"type":"Dataplane","mesh":%q,"name":%q,"networking":{"inbound":[{"port":80}]}}`, mesh, name)
		}
	case "external-services":
		text = external(mesh, name, service, "192.0.2.1:80")
	case "meshservices":
		text = fmt.Sprintf(`{"type":"MeshService","mesh":%q,"name":%q,"spec":{"ports":[{"port":%d}]}}`, mesh, name, 80+len(service))
	case "meshes":
		text = fmt.Sprintf(`{"type":"Mesh","name":%q}`, name)
	}
	h.held[at] = text
	if rapid.IntRange(0, 5).Draw(h.t, "bad") == 0 {
		text = fmt.Sprintf(`{"type":"Bad","mesh":%q,"name":%q}`, mesh, name)
	}
	h.k.Put(path, text)
}

// fault is something that goes wrong now and then.
func (h *history) fault() *fakekuma.Fault {
	f := &fakekuma.Fault{
		Path: rapid.SampledFrom(append([]string{"*", "/", "/config"}, someKinds...)).Draw(h.t, "at"),
		Page: rapid.IntRange(0, 3).Draw(h.t, "page"), Times: rapid.IntRange(0, 2).Draw(h.t, "times"),
	}
	switch rapid.IntRange(0, 9).Draw(h.t, "fault") {
	case 0:
		f.Status = rapid.SampledFrom([]int{401, 403, 404, 418, 429, 500, 503}).Draw(h.t, "status")
	case 1:
		f.HTML = true
	case 2:
		f.Cut = true
	case 3:
		f.Body = rapid.SampledFrom([]string{"{", `{"total":0}`, `{"total":0,"items":[7],"next":null}`, `{"total":9,"items":[],"next":null}`, `null`}).Draw(h.t, "body")
	case 4:
		f.Total = rapid.IntRange(-2, 2).Draw(h.t, "total")
	case 5:
		f.Next = rapid.SampledFrom([]string{"http://elsewhere/?offset=%d", "?offset=1", "?offset=9", "none"}).Draw(h.t, "next")
	case 6:
		f.Redirect = "http://elsewhere/"
	default:
		f.Before = h.change
	}
	return f
}

func TestAnyHistoryEndsInWhatTheControlPlaneHolds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		h := &history{t: rt, k: fakekuma.New(), held: map[string]string{base + "/meshes/default": `{"type":"Mesh","name":"default"}`}, steady: make(map[string]bool)}
		r := newRig(t, h.k, Options{})
		for range rapid.IntRange(1, 15).Draw(rt, "passes") {
			for range rapid.IntRange(0, 6).Draw(rt, "changes") {
				h.change()
			}
			r.set(func(s *fakekuma.Settings) {
				s.PageSize = rapid.IntRange(1, 5).Draw(rt, "page size")
				s.ETags = rapid.Bool().Draw(rt, "etags")
				s.Spelling = rapid.SampledFrom([]string{"", "dashes", "plain"}).Draw(rt, "spelling")
				s.Absent, s.Faults = nil, nil
				if rapid.IntRange(0, 4).Draw(rt, "upgraded") == 0 {
					s.Absent = []string{rapid.SampledFrom(someKinds).Draw(rt, "absent")}
				}
			})
			for range rapid.IntRange(0, 2).Draw(rt, "faults") {
				f := h.fault()
				r.set(func(s *fakekuma.Settings) { s.Faults = append(s.Faults, f) })
			}
			r.pass()
			for at := range h.steady {
				if _, ok := r.feed.places[at]; !ok {
					rt.Fatalf("%s was put away, although it was there throughout", at)
				}
			}
			for at := range h.held {
				if _, ok := r.feed.places[at]; ok {
					h.steady[at] = true
				}
			}
		}
		// All is quiet now, and good.
		h.held[place("dataplanes", "m", "g")] = dp("m", "g", "x")
		h.k.Put("dataplanes", dp("m", "g", "x"))
		for at, text := range h.held {
			for _, k := range kinds {
				var id struct{ Type, Mesh, Name string }
				if fields(text, &id); id.Type == k.typ && k.place(base, kuma.ID{Mesh: id.Mesh, Name: id.Name}) == at {
					h.k.Put(k.paths[0], text)
				}
			}
		}
		r.set(func(s *fakekuma.Settings) { s.Absent, s.Faults = nil, nil })
		r.pass().pass()
		r.problems().incomplete("")
		want := make(map[string]*watcher.Resource)
		for at, text := range h.held {
			rs, invalid, err := kuma.Decode([]byte(text))
			if err != nil || len(invalid) > 0 {
				rt.Fatal(text, invalid, err)
			}
			read, _, err := watcher.Read(rs[0], at, r.f.home())
			if err != nil {
				rt.Fatal(err)
			}
			want[at] = &read
		}
		for at := range r.feed.places {
			if want[at] == nil {
				rt.Errorf("%s is not there any more", at)
			}
		}
		for at, w := range want {
			if got := r.feed.places[at]; len(got) != 1 || !got[0].Equal(w) || got[0].Where != at {
				rt.Errorf("%s is %+v, want %+v", at, got, w)
			}
		}
		if !r.feed.state.Read || !r.f.Status().Synced {
			rt.Errorf("at rest: %+v, %+v", r.feed.state, r.f.Status())
		}
	})
}
