package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/meshvip/coredns-meshvip/watcher/kuma"
)

// TestTheFilesAskForTheFleet, mesh by mesh, and an added one for its service.
func TestTheFilesAskForTheFleet(t *testing.T) {
	t.Parallel()
	f := newFleet(small(t, "-entries 130"))
	f.begin(130, 2)
	r := resources{filepath.Join(t.TempDir(), "resources")}
	if err := r.write(f); err != nil {
		t.Fatal(err)
	}
	if err := r.add(7); err != nil {
		t.Fatal(err)
	}
	got := make(map[string]map[string]bool) // services by mesh
	files, err := filepath.Glob(filepath.Join(r.dir, "*"))
	if err != nil || len(files) != 3 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all, invalid, err := kuma.Decode(data)
		if err != nil || len(invalid) > 0 {
			t.Fatalf("%s: %v, %v", file, invalid, err)
		}
		for _, resource := range all {
			claims, err := resource.Claims("")
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range claims {
				if got[c.Mesh] == nil {
					got[c.Mesh] = make(map[string]bool)
				}
				got[c.Mesh][c.Entry.Name] = true
			}
		}
	}
	for _, m := range append(f.meshes, fleetMesh{name: "default"}) {
		want := map[string]bool{}
		for _, id := range m.live {
			want[service(id)] = true
		}
		if m.name == "default" {
			want[r.added(7)] = true
		}
		if len(got[m.name]) != len(want) {
			t.Errorf("mesh %s has %d services, want %d", m.name, len(got[m.name]), len(want))
		}
		for name := range want {
			if !got[m.name][name] {
				t.Errorf("mesh %s lacks %s", m.name, name)
			}
		}
	}
	if err := r.remove(); err != nil {
		t.Fatal(err)
	}
	if files, _ := filepath.Glob(filepath.Join(r.dir, "*")); len(files) != 2 {
		t.Errorf("%d files are left, want those of the fleet", len(files))
	}
}
