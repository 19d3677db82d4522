package watcher_test

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
	"pgregory.net/rapid"
)

// receiver is a union and the table of who takes its batches.
type receiver struct {
	*testing.T
	u    *watcher.Union
	now  time.Time
	list map[string]bool // "mesh entry"
}

func receive(t *testing.T, sources ...string) *receiver {
	return &receiver{T: t, u: watcher.NewUnion(sources...), now: time.Unix(1e9, 0), list: map[string]bool{}}
}

// take applies b as the allocator does: an incomplete batch releases nothing.
func take(list map[string]bool, b vip.Batch) {
	if b.Full && b.Incomplete == "" {
		clear(list)
	}
	for _, m := range b.Meshes {
		for _, r := range m.Set {
			list[m.Mesh+" "+r.Entry.Key().String()] = true
		}
		if b.Incomplete != "" {
			continue
		}
		for _, k := range m.Drop {
			delete(list, m.Mesh+" "+k.String())
		}
		if m.Gone {
			maps.DeleteFunc(list, func(e string, _ bool) bool { return strings.HasPrefix(e, m.Mesh+" ") })
		}
	}
}

// take applies b, whatever it says.
func (t table) take(b vip.Batch) {
	for _, u := range b.Meshes {
		if t[u.Mesh] == nil || b.Full {
			t[u.Mesh] = make(map[vip.Key]vip.Request)
		}
		for _, r := range u.Set {
			t[u.Mesh][r.Entry.Key()] = r
		}
		for _, k := range u.Drop {
			delete(t[u.Mesh], k)
		}
		if u.Gone {
			delete(t, u.Mesh)
		}
	}
}

var known = watcher.State{Read: true}

// want takes what is due, and checks what the table has then.
func (r *receiver) want(entries ...string) {
	r.Helper()
	for {
		b, ok := r.u.Next(r.now)
		if !ok {
			break
		}
		take(r.list, b)
		r.u.Applied(r.now, b, nil)
	}
	if got := slices.Sorted(maps.Keys(r.list)); !slices.Equal(got, entries) {
		r.Errorf("the table has %q, want %q", got, entries)
	}
}

func TestAnEntryGoesWhenNoSourceListsItAnyMore(t *testing.T) {
	t.Parallel()
	r := receive(t, "file /d", "kuma http://cp")
	files, api := r.u.Feed(0), r.u.Feed(1)
	files.Put("/d/a", []watcher.Resource{proxy("default", "p", "both", "files")})
	files.Commit(known)
	r.want() // the other has not tried yet
	api.Put("http://cp/p", []watcher.Resource{proxy("default", "p", "both", "api")})
	api.Commit(known)
	r.want("default 0:api", "default 0:both", "default 0:files")
	files.Put("/d/a", nil)
	files.Commit(known)
	r.want("default 0:api", "default 0:both")
	api.Put("http://cp/p", []watcher.Resource{proxy("default", "p", "api")})
	api.Commit(known)
	r.want("default 0:api")
}

func TestASourceThatWasNeverReadReleasesNothing(t *testing.T) {
	t.Parallel()
	r := receive(t, "file /d", "kuma http://cp")
	r.list["default 0:old"] = true // of an earlier run
	files, api := r.u.Feed(0), r.u.Feed(1)
	files.Put("/d/a", []watcher.Resource{proxy("default", "p", "a", "b")})
	files.Commit(known)
	api.Commit(watcher.State{})
	r.want("default 0:a", "default 0:b", "default 0:old")
	files.Put("/d/a", []watcher.Resource{proxy("default", "p", "a")})
	files.Commit(known)
	r.want("default 0:a", "default 0:b", "default 0:old")
	if r.u.Assess(); r.u.Status().Synced {
		t.Error("synced, although one source was never read")
	}
	api.Put("http://cp/p", []watcher.Resource{proxy("default", "q", "b")})
	api.Commit(known)
	r.want("default 0:a", "default 0:b")
	if r.u.Assess(); !r.u.Status().Synced {
		t.Error("not synced, although all sources were read")
	}
}

func TestWhatIsKnownOfAHalfReadSourceCountsAndDeniesNothing(t *testing.T) {
	t.Parallel()
	u := watcher.NewUnion("kuma http://cp")
	now := time.Unix(1e9, 0)
	u.Feed(0).Put("http://cp/e", []watcher.Resource{proxy("default", "p", "a")})
	u.Feed(0).Commit(watcher.State{Incomplete: "dataplanes"})
	b, ok := u.Next(now)
	if !ok || !b.Full || !b.Unread || b.Incomplete == "" || len(b.Meshes) != 1 {
		t.Fatalf("batch %+v, %v", b, ok)
	}
	u.Applied(now, b, nil)
	// It is read now, and has nothing more: that is told.
	u.Feed(0).Commit(watcher.State{Read: true, Incomplete: "one resource"})
	if b, ok = u.Next(now); !ok || !b.Full || b.Unread || b.Incomplete == "" {
		t.Fatalf("batch %+v, %v", b, ok)
	}
	u.Applied(now, b, nil)
	if b, ok = u.Next(now); ok {
		t.Fatalf("one more batch: %+v", b)
	}
}

func TestOneSourceDoesNotHoldUpTheFirstBatchForLong(t *testing.T) {
	t.Parallel()
	r := receive(t, "file /d", "kuma http://cp")
	r.u.Feed(0).Put("/d/a", []watcher.Resource{proxy("default", "p", "a")})
	r.u.Feed(0).Commit(known)
	r.want()
	r.now = r.u.Wake()
	r.want("default 0:a")
}

func TestAMeshAndAPolicyOfOneSourceCountForTheResourcesOfAnother(t *testing.T) {
	t.Parallel()
	const naming = "type: VirtualOutbound\nmesh: m\nname: vo\nselectors: [{match: {kuma.io/service: '*'}}]\n" +
		"conf: {host: '{{.service}}.all.mesh', port: '80', parameters: [{name: service, tagKey: kuma.io/service}]}\n"
	r := receive(t, "kuma http://cp", "file /d")
	api, files := r.u.Feed(0), r.u.Feed(1)
	api.Put("http://cp/m", []watcher.Resource{meshNamed("m"), parsed(naming)})
	api.Commit(known)
	files.Put("/d/a", []watcher.Resource{parsed("type: Dataplane\nmesh: m\nname: p\nnetworking: {inbound: [{port: 80, tags: {kuma.io/service: a}}]}\n")})
	files.Commit(known)
	r.want("m 0:a", "m 2:a.all.mesh")
	if got := fmt.Sprint(r.u.Claimants(vip.Key{Kind: vip.FQDN, Name: "a.all.mesh"})); !strings.Contains(got, `VirtualOutbound "vo" of mesh "m"`) {
		t.Errorf("claimants %s", got)
	}
	if got := r.u.Claimants(vip.Key{Name: "a"}); len(got) != 1 || got[0].Type != kuma.TypeDataplane || got[0].Mesh != "m" || got[0].Place != "p.yaml:1" {
		t.Errorf("claimants %+v", got)
	}
	// Both sources have them now, and say the same.
	files.Put("/d/b", []watcher.Resource{meshNamed("m"), parsed(naming)})
	files.Commit(known)
	api.Put("http://cp/m", nil)
	api.Commit(known)
	r.want("m 0:a", "m 2:a.all.mesh")
	if r.u.Assess(); len(r.u.Status().Problems) > 0 {
		t.Errorf("problems %v", r.u.Status().Problems)
	}
}

func TestAnyHistoryOfSourcesEndsInWhatTheyListTogether(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3).Draw(t, "sources")
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprintf("source %d", i)
		}
		u := watcher.NewUnion(names...)
		now := time.Unix(1e9, 0)
		list := map[string]bool{}
		places := make([]map[string][]watcher.Resource, n) // as they were committed
		pending := make([]map[string][]watcher.Resource, n)
		states := make([]watcher.State, n)
		for i := range n {
			places[i], pending[i] = map[string][]watcher.Resource{}, map[string][]watcher.Resource{}
		}
		commit := func(i int, s watcher.State) {
			u.Feed(i).Commit(s)
			states[i] = s
			maps.Copy(places[i], pending[i])
			clear(pending[i])
		}
		wanted := func() map[string]bool {
			all := map[string][]watcher.Resource{}
			for i := range n {
				for place, rs := range places[i] {
					for _, r := range rs {
						if r.Type != kuma.TypeMesh {
							r.Source = i
						}
						all[place] = append(all[place], r)
					}
				}
			}
			entries := map[string]bool{}
			for mesh, m := range expected(all) {
				for key := range m {
					entries[mesh+" "+key.String()] = true
				}
			}
			return entries
		}
		step := func() {
			for {
				b, ok := u.Next(now)
				if !ok {
					break
				}
				before := maps.Clone(list)
				if rapid.IntRange(0, 9).Draw(t, "luck") == 0 {
					u.Applied(now, b, errors.New("disk full"))
					now = u.Wake()
					continue
				}
				take(list, b)
				u.Applied(now, b, nil)
				for e := range before {
					for i, s := range states {
						if !list[e] && (!s.Read || s.Incomplete != "") {
							t.Fatalf("%s is released while source %d is in state %+v", e, i, s)
						}
					}
				}
				for e := range wanted() {
					if !list[e] {
						t.Fatalf("%s is listed by a source, and not in the table", e)
					}
				}
			}
		}
		for range rapid.IntRange(1, 40).Draw(t, "operations") {
			i := rapid.IntRange(0, n-1).Draw(t, "source")
			switch rapid.IntRange(0, 3).Draw(t, "operation") {
			case 0, 1:
				place := fmt.Sprintf("%d/%d", i, rapid.IntRange(0, 2).Draw(t, "place"))
				var rs []watcher.Resource
				for range rapid.IntRange(0, 3).Draw(t, "resources") {
					mesh := rapid.SampledFrom([]string{"default", "m"}).Draw(t, "mesh")
					switch rapid.IntRange(0, 3).Draw(t, "type") {
					case 0:
						rs = append(rs, meshNamed(mesh))
					case 1:
						rs = append(rs, external(mesh, rapid.SampledFrom([]string{"e", "f"}).Draw(t, "name"), "x", "h.example", 80))
					default:
						name := rapid.SampledFrom([]string{"p", "q"}).Draw(t, "name")
						rs = append(rs, proxy(mesh, name, rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "service")))
					}
				}
				u.Feed(i).Put(place, rs)
				pending[i][place] = rs
			case 2:
				commit(i, watcher.State{
					Read:       states[i].Read || rapid.Bool().Draw(t, "read"),
					Incomplete: rapid.SampledFrom([]string{"", "", "a file"}).Draw(t, "incomplete"),
				})
			case 3:
				now = now.Add(time.Duration(rapid.IntRange(0, 12).Draw(t, "seconds")) * time.Second)
			}
			step()
		}
		for i := range n {
			commit(i, known)
		}
		step()
		if diff := cmp.Diff(wanted(), list); diff != "" {
			t.Fatalf("the table at the end (-want +got):\n%s", diff)
		}
	})
}

func TestWhereKumaIsFollowedPoliciesHaveItsAddressesToo(t *testing.T) {
	t.Parallel()
	const policies = "type: VirtualOutbound\nname: vo\nselectors: [{match: {kuma.io/service: '*'}}]\n" +
		"conf: {host: '{{.service}}.all.mesh', port: '80', parameters: [{name: service, tagKey: kuma.io/service}]}\n"
	const gateway = "type: MeshGateway\nname: gw\nselectors: [{match: {kuma.io/service: gw}}]\nconf: {listeners: [{crossMesh: true, port: 81, hostname: gw.mesh}]}\n"
	u := watcher.NewUnion("file /d")
	u.Feed(0).Put("/d/a", []watcher.Resource{
		parsed("type: Dataplane\nname: p\nnetworking: {inbound: [{port: 80, tags: {kuma.io/service: a}}]}\n"), parsed(policies), parsed(gateway), meshNamed("m"),
	})
	u.Feed(0).Commit(known)
	got := table{}
	take := func() string {
		var all []string
		if b, ok := u.Next(time.Unix(1e9, 0)); ok {
			got.take(b)
			u.Applied(time.Unix(1e9, 0), b, nil)
		}
		for mesh, m := range got {
			for key, r := range m {
				if key.Kind == vip.FQDN {
					s := mesh + " " + key.Name
					if r.Terms != nil {
						s += fmt.Sprint(" ", r.Terms.Follow, r.Terms.Given)
					}
					all = append(all, s)
				}
			}
		}
		slices.Sort(all)
		return strings.Join(all, ", ")
	}
	want := func(want string) {
		t.Helper()
		if got := take(); got != want {
			t.Errorf("the policies give %q, want %q", got, want)
		}
	}
	want("default a.all.mesh, default gw.mesh, m gw.mesh")
	u.Follow(func(string, vip.Key) []netip.Addr { return nil })
	want("default a.all.mesh true [], default gw.mesh true [], m gw.mesh true []")
	u.Follow(func(mesh string, key vip.Key) []netip.Addr {
		if mesh == "default" {
			return []netip.Addr{netip.MustParseAddr("240.0.0." + fmt.Sprint(len(key.Name)))}
		}
		return nil
	})
	want("default a.all.mesh true [240.0.0.10], default gw.mesh true [240.0.0.7], m gw.mesh true []")
	u.Follow(nil)
	want("default a.all.mesh, default gw.mesh, m gw.mesh")
	u.Feed(0).Put("/d/a", nil)
	u.Feed(0).Commit(known)
	want("")
}
