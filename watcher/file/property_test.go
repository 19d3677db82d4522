package file

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/watcher"
	"pgregory.net/rapid"
)

// disk is the slow and obvious oracle: it keeps every file's last good text,
// and works the table out from all of them.
type disk struct {
	present  map[string]bool
	lastGood map[string]string
}

// reread returns the table of the files that want says to count.
func (d disk) reread(t *rapid.T, want func(path string) bool) table {
	desired := watcher.NewDesired()
	for path, text := range d.lastGood {
		if !want(path) {
			continue
		}
		c, err := interpret(path, []byte(text), nil, home)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		desired.Put(path, c.resources)
	}
	got := table{}
	got.apply(desired.All())
	return got
}

// lacks returns the entries of want that got lacks.
func lacks(got, want table) []string {
	var names []string
	for name := range want {
		if _, ok := got[name]; !ok {
			names = append(names, name)
		}
	}
	return names
}

func TestAnyHistoryEndsInWhatAFreshReadingGives(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d, u := newState()
		now := time.Unix(1e9, 0)
		got := table{}
		disk := disk{map[string]bool{}, map[string]string{}}
		paths := []string{"/d/a.yaml", "/d/b.yaml", "/d/c.yaml", "/d/s/d.yaml"}
		step := func() {
			for {
				b, ok := next(d, u, now)
				if !ok {
					return
				}
				var err error
				if rapid.IntRange(0, 9).Draw(t, "luck") == 0 {
					err = errDisk
				} else {
					got.apply(b)
				}
				u.Applied(now, b, err)
				if err != nil {
					now = u.Wake()
				}
			}
		}
		list := func() {
			var there []string
			for _, path := range paths {
				if disk.present[path] {
					there = append(there, path)
				}
			}
			d.list(now, there, nil)
		}
		write := func(path, text string) {
			disk.present[path] = true
			if _, err := interpret(path, []byte(text), nil, home); err == nil {
				disk.lastGood[path] = text
			}
			d.content(now, path, []byte(text))
		}
		list()
		for range rapid.IntRange(1, 40).Draw(t, "operations") {
			path := rapid.SampledFrom(paths).Draw(t, "path")
			switch rapid.IntRange(0, 7).Draw(t, "operation") {
			case 0, 1, 2:
				var docs []string
				for range rapid.IntRange(1, 3).Draw(t, "documents") {
					mesh := rapid.SampledFrom([]string{"default", "m", "n"}).Draw(t, "mesh")
					if rapid.IntRange(0, 3).Draw(t, "type") == 0 {
						docs = append(docs, "type: Mesh\nname: '"+mesh+"'\n")
						continue
					}
					name := rapid.SampledFrom([]string{"p", "q", "r"}).Draw(t, "name")
					if rapid.IntRange(0, 3).Draw(t, "newer") == 0 {
						vips := rapid.SampledFrom([]string{"", "{ip: 241.0.0.1}", "{ip: 241.0.0.2}, {ip: x}"}).Draw(t, "vips")
						docs = append(docs, "mesh: '"+mesh+"'\n"+told(name, vips))
						continue
					}
					services := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "B", "b", "c"}), 1, 2).Draw(t, "services")
					doc := dp(name, services...)
					if addr := rapid.SampledFrom([]string{"", "240.0.0.9", "240.0.0.10", "fd00::9", "web"}).Draw(t, "address"); addr != "" {
						doc = pinned(name, services[0], addr)
					}
					docs = append(docs, "mesh: '"+mesh+"'\n"+doc)
				}
				write(path, strings.Join(docs, "---\n"))
			case 3:
				write(path, rapid.SampledFrom([]string{"", " ", "typ", "{", "a: [", "\x00", "a: 1\na: 2"}).Draw(t, "broken"))
			case 4:
				if disk.present[path] {
					d.unreadable(now, path, errors.New("permission denied"))
				}
			case 5:
				disk.present[path] = false
				d.absent(now, path)
			case 6:
				d.fail(errors.New("the directory does not exist"))
			case 7:
				now = now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond)
			}
			if rapid.Bool().Draw(t, "poll") {
				list()
			}
			step()
			// What was good and is there, or has only just gone, has its VIPs
			// at every moment.
			if l := lacks(got, disk.reread(t, func(path string) bool { return d.files[path] != nil })); len(l) > 0 {
				t.Fatalf("%v lost: %v", l, got)
			}
			for path := range disk.lastGood {
				if d.files[path] == nil && !disk.present[path] {
					delete(disk.lastGood, path) // let go, so it starts anew
				}
			}
		}
		// All is quiet now, the directory readable and not empty.
		write("/d/b.yaml", dp("last", "last"))
		list()
		for _, path := range paths {
			if text, good := disk.lastGood[path]; good && disk.present[path] {
				write(path, text)
			} else if disk.present[path] {
				write(path, "# good at last")
			}
		}
		for range 4 {
			now = now.Add(MaxGrace)
			step()
		}
		want := disk.reread(t, func(path string) bool { return disk.present[path] })
		if got.String() != want.String() {
			t.Fatalf("got %q, want %q", got, want)
		}
		s := status(d, u)
		if !s.Synced || d.missing() != "" || len(d.gone) > 0 || len(d.files) == 0 {
			t.Fatalf("at rest: %+v, missing %q, gone %v", s, d.missing(), d.gone)
		}
	})
}

func BenchmarkOneFileChangesAmongMany(b *testing.B) {
	for _, files := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("files=%d", files), func(b *testing.B) {
			const entries = 100
			text := func(file, version int) []byte {
				services := make([]string, entries)
				for i := range services {
					services[i] = fmt.Sprintf("service-%d_ns-%d_svc_80", i, file)
				}
				services[0] = fmt.Sprintf("changed-%d_ns-%d_svc_80", version, file)
				return []byte(dp(fmt.Sprintf("proxy-%d", file), services...))
			}
			path := func(file int) string { return fmt.Sprintf("/d/%05d.yaml", file) }
			d, u := newState()
			now := time.Unix(1e9, 0)
			paths := make([]string, files)
			for i := range paths {
				paths[i] = path(i)
			}
			d.list(now, paths, nil)
			for i := range files {
				d.content(now, path(i), text(i, 0))
			}
			first, _ := next(d, u, now)
			u.Applied(now, first, nil)
			if first.Changes() != files*entries {
				b.Fatalf("%d entries, want %d", first.Changes(), files*entries)
			}
			versions := [][]byte{text(files/2, 1), text(files/2, 2)}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				d.content(now, path(files/2), versions[n%2])
				batch, ok := next(d, u, now)
				if !ok || batch.Changes() != 2 && n > 0 {
					b.Fatalf("batch %+v", batch)
				}
				u.Applied(now, batch, nil)
				status(d, u)
				n++
			}
		})
	}
}
