package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/meshvip/coredns-meshvip/watcher"
	"github.com/meshvip/coredns-meshvip/watcher/file"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
)

// firstRead is a feed that keeps what a source reads first, and ends it.
type firstRead struct {
	places map[string][]watcher.Resource
	stop   func()
}

func (f *firstRead) Place(place string) []watcher.Resource     { return f.places[place] }
func (f *firstRead) Put(place string, rs []watcher.Resource)   { f.places[place] = rs }
func (f *firstRead) Commit(watcher.State)                      { f.stop() }
func (f *firstRead) resources() (ids []string, where []string) { return resourceNames(f.places) }

// resourceNames returns the identities and the places of resources, sorted.
func resourceNames(places map[string][]watcher.Resource) (ids, where []string) {
	for _, rs := range places {
		for _, r := range rs {
			ids = append(ids, r.String())
			where = append(where, r.Where)
		}
	}
	slices.Sort(ids)
	slices.Sort(where)
	return ids, where
}

// oddFiles is a directory with what people, editors and accidents leave in one.
func oddFiles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	const dataplane = "type: Dataplane\nmesh: default\nname: NAME\nnetworking:\n  inbound:\n  - port: 80\n    tags: {kuma.io/service: NAME}\n"
	named := func(name string) string { return strings.ReplaceAll(dataplane, "NAME", name) }
	for path, text := range map[string]string{
		"web.yaml":               named("web"),
		"api.yml":                "# comment\n---\n" + named("api") + "---\ntype: Dataplane\nmesh: default\n---\n" + named("api-2"),
		"one.json":               `{"type":"Mesh","name":"shop"}`,
		"deep/er/far.yaml":       named("far"),
		"twice.yaml":             named("web"),
		"empty.yaml":             "",
		"blank.yaml":             " \n\n",
		"comment.yaml":           "# nothing\n",
		"broken.yaml":            "type: Mesh\nname: [",
		"unknown.yaml":           "type: TrafficRoute\nname: x\nmesh: default\n",
		"prose.yaml":             "hello: world\n",
		"fault.yaml":             strings.Replace(named("fault"), "NAME", "x", 1) + "    tags2: 1\n",
		"tag.yaml":               strings.Replace(named("tag"), "{", "{meshvip.io/vip: nowhere, ", 1),
		"ingress.yaml":           "type: ZoneIngress\nname: i\navailableServices:\n- mesh: default\n  tags: {kuma.io/service: far-away}\n",
		".hidden.yaml":           named("hidden"),
		"#web.yaml#":             named("autosave"),
		"~web.yaml":              named("tilde"),
		"web.yaml~":              named("backup"),
		"web.yaml.swp":           named("swap"),
		".git/in.yaml":           named("git"),
		"README.md":              "read me",
		"..data/kubernetes.yaml": named("kubernetes"),
	} {
		at := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"link.yaml": "deep/er/far.yaml", "lost.yaml": "nowhere.yaml", "deep/loop": "..", "mounted.yaml": "..data/kubernetes.yaml",
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	return dir
}

func TestFilesAreCheckedAsAServerReadsThem(t *testing.T) {
	t.Parallel()
	dir := oddFiles(t)
	ctx, stop := context.WithCancel(t.Context())
	feed := &firstRead{places: make(map[string][]watcher.Resource), stop: stop}
	source := file.New(dir, file.Options{})
	if err := source.Run(ctx, feed); err != nil {
		t.Fatal(err)
	}
	r := newReading(kuma.Home{Zone: "default", Domain: "mesh"}, nil)
	if err := r.read(dir, nil); err != nil {
		t.Fatal(err)
	}
	got := make(map[string][]watcher.Resource)
	for _, path := range r.paths {
		got[path] = r.desired.Place(path)
	}
	ids, where := resourceNames(got)
	wantIDs, wantWhere := feed.resources()
	if !slices.Equal(ids, wantIDs) || !slices.Equal(where, wantWhere) {
		t.Errorf("read %q at %q\nwant %q at %q", ids, where, wantIDs, wantWhere)
	}
	if len(ids) < 8 {
		t.Errorf("only %d resources were read", len(ids))
	}
	var wrong, wantWrong []string
	for _, f := range r.findings {
		wrong = append(wrong, f.Place)
	}
	for _, p := range source.Status().Problems {
		wantWrong = append(wantWrong, p.Place)
	}
	slices.Sort(wrong)
	slices.Sort(wantWrong)
	if !slices.Equal(wrong, wantWrong) || len(wrong) < 6 {
		t.Errorf("wrong are\n%q, want\n%q", wrong, wantWrong)
	}
}
