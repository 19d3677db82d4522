package file

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
)

var home = kuma.Home{Zone: "default", Domain: "mesh"}

// dp is a Dataplane of the default mesh with these services. All is quoted: y
// and n are truth values in YAML.
func dp(name string, services ...string) string {
	s := "type: Dataplane\nname: \"" + name + "\"\nnetworking:\n  inbound:\n"
	for _, svc := range services {
		s += "  - {port: 80, tags: {kuma.io/service: \"" + svc + "\"}}\n"
	}
	return s
}

// pinned is such a Dataplane with one service and what its VIP tag says.
func pinned(name, service, addr string) string {
	return dp(name) + "  - {port: 80, tags: {kuma.io/service: \"" + service + "\", meshvip.io/vip: \"" + addr + "\"}}\n"
}

// told is a MeshService of the default mesh with one hostname and these
// elements of status.vips.
func told(name, vips string) string {
	return "type: MeshService\nname: \"" + name + "\"\nspec: {}\nstatus: {addresses: [{hostname: " + name + ".local}], vips: [" + vips + "]}\n"
}

// table is what a receiver of batches has, for the default mesh: names with
// their kind and what they ask for, and the other meshes by name.
type table map[string]string

func (t table) String() string {
	names := make([]string, 0, len(t))
	for name, terms := range t {
		names = append(names, name+terms)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// terms tells what a request asks for beside its name.
func terms(r vip.Request) string {
	s := ""
	if r.Terms != nil {
		for _, a := range r.Terms.Static {
			s += fmt.Sprintf("=%v", a)
		}
		for _, a := range r.Terms.Given {
			s += fmt.Sprintf("<%v", a)
		}
		for _, h := range r.Terms.Hostnames {
			s += "~" + h
		}
	}
	return s
}

// apply applies b as the allocator does: an incomplete batch releases nothing.
func (t table) apply(b vip.Batch) {
	if b.Full && b.Incomplete == "" {
		clear(t)
	}
	for _, u := range b.Meshes {
		prefix := ""
		if u.Mesh != vip.DefaultMesh {
			prefix = u.Mesh + "/"
			t[prefix] = ""
		}
		for _, r := range u.Set {
			t[prefix+r.Entry.Key().String()] = terms(r)
		}
		if b.Incomplete != "" {
			continue
		}
		for _, k := range u.Drop {
			delete(t, prefix+k.String())
		}
		if u.Gone {
			for name := range t {
				if strings.HasPrefix(name, prefix) {
					delete(t, name)
				}
			}
		}
	}
}

// rig drives a directory by hand, on its own clock.
type rig struct {
	*testing.T
	d     *directory
	u     *watcher.Union
	now   time.Time
	table table
	err   error // what the next batches are answered with
}

// newState is the directory /d alone.
func newState() (*directory, *watcher.Union) {
	u := watcher.NewUnion("/d")
	return newDirectory("/d", home, 2*time.Second, u.Feed(0)), u
}

// next commits what the directory has seen, and returns what is due.
func next(d *directory, u *watcher.Union, now time.Time) (vip.Batch, bool) {
	d.commit(now)
	return u.Next(now)
}

// status is what is wrong with the directory, and with what it declares.
func status(d *directory, u *watcher.Union) watcher.Status {
	s, _, _ := d.status()
	u.Assess()
	both := u.Status()
	s.Problems = slices.Concat(s.Problems, both.Problems)
	s.Errors += both.Errors
	slices.SortFunc(s.Problems, watcher.Problem.Compare)
	return s
}

func newRig(t *testing.T) *rig {
	d, u := newState()
	return &rig{T: t, d: d, u: u, now: time.Unix(1e9, 0), table: table{}}
}

// started is a rig whose directory held these files from the start.
func started(t *testing.T, files map[string]string) *rig {
	r := newRig(t)
	r.scan(files)
	if got := r.step(); !strings.HasPrefix(got, "full") {
		t.Fatalf("the first batch is %q", got)
	}
	return r
}

func (r *rig) after(d time.Duration) *rig { r.now = r.now.Add(d); return r }

func (r *rig) write(path, text string) *rig {
	r.d.content(r.now, path, []byte(text))
	return r
}

func (r *rig) scan(files map[string]string) *rig {
	var paths []string
	for path := range files {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	r.d.list(r.now, paths, nil)
	for _, path := range paths {
		r.write(path, files[path])
	}
	return r
}

func (r *rig) remove(paths ...string) *rig {
	for _, path := range paths {
		r.d.absent(r.now, path)
	}
	return r
}

// step takes the batch that is due, applies it, and tells what kind it was.
func (r *rig) step() string {
	b, ok := next(r.d, r.u, r.now)
	if !ok {
		return ""
	}
	r.u.Applied(r.now, b, r.err)
	kind := "delta"
	if b.Full {
		kind = "full"
	}
	if b.Incomplete != "" {
		kind += " incomplete"
	}
	if r.err != nil {
		return kind + " refused"
	}
	r.table.apply(b)
	return kind
}

// want steps and checks which kind of batch came and what the table has then.
func (r *rig) want(kind, table string) {
	r.Helper()
	if got := r.step(); got != kind {
		r.Errorf("batch %q, want %q", got, kind)
	}
	if got := r.table.String(); got != table {
		r.Errorf("table %q, want %q", got, table)
	}
	if got := r.step(); got != "" && r.err == nil {
		r.Errorf("one more batch: %q", got)
	}
}

// problems checks what is wrong now, each by a part of its text, in order.
func (r *rig) problems(want ...string) {
	r.Helper()
	s := r.status()
	if len(s.Problems) != len(want) {
		r.Errorf("problems %q, want %d", s.Problems, len(want))
		return
	}
	for i, p := range s.Problems {
		if text := fmt.Sprintf("%s: %s", p.Place, p.What); !strings.Contains(text, want[i]) {
			r.Errorf("problem %q, want one with %q", text, want[i])
		}
	}
}

func (r *rig) status() watcher.Status { return status(r.d, r.u) }

var errDisk = errors.New("disk full")
