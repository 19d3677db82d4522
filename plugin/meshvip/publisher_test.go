package meshvip

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/miekg/dns"
)

// publishing returns good, published to dir.
func publishing(dir string) string {
	return with("pool 240.0.0.0/24\n max_release 100%\n publish DIR/"+dir, "")
}

// publishes waits until a mesh's table in dir has text, and its outbounds too.
func (s *site) publishes(dir, mesh, text string) {
	s.t.Helper()
	for _, suffix := range []string{".json", ".outbounds.yaml"} {
		path := filepath.Join(s.dir, dir, mesh+suffix)
		s.wait(text+" in "+path, func() bool {
			b, _ := os.ReadFile(path)
			return strings.Contains(string(b), text)
		})
	}
}

// files returns the names in dir, none if it is not there.
func (s *site) files(dir string) []string {
	s.t.Helper()
	entries, err := os.ReadDir(filepath.Join(s.dir, dir))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestTablesArePublishedMeshByMesh(t *testing.T) {
	s := newSite(t)
	s.services("e.yaml", "east", "a")
	s.services("w.yaml", "west", "b")
	s.start(publishing("pub"))
	s.publishes("pub", "east", s.resolves("a.mesh."))
	s.publishes("pub", "west", s.resolves("b.mesh."))
	west, err := os.Stat(filepath.Join(s.dir, "pub", "west.json"))
	if err != nil {
		t.Fatal(err)
	}
	s.services("e.yaml", "east", "a", "c")
	s.publishes("pub", "east", s.resolves("c.mesh."))
	if now, err := os.Stat(filepath.Join(s.dir, "pub", "west.json")); err != nil || !os.SameFile(west, now) {
		t.Errorf("the table of a mesh that did not change was written: %v", err)
	}
	// With the mesh, its files go.
	if err := os.Remove(filepath.Join(s.dir, "src", "e.yaml")); err != nil {
		t.Fatal(err)
	}
	s.wait("the files of east to go", func() bool {
		return !slices.ContainsFunc(s.files("pub"), func(f string) bool { return strings.HasPrefix(f, "east.") })
	})
	s.publishes("pub", "west", "b")
}

func TestNothingIsPublishedThatIsNotAskedFor(t *testing.T) {
	s := newSite(t)
	s.services("a.yaml", "default", "a")
	s.start(good)
	s.resolves("a.mesh.")
	s.stop()
	if got, want := s.files("."), []string{"meshvip.db", "src"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestAReloadMovesWhatIsPublished(t *testing.T) {
	s := newSite(t)
	s.services("a.yaml", "default", "a")
	s.start(publishing("pub"))
	s.publishes("pub", "default", s.resolves("a.mesh."))
	s.mustReload(publishing("other"))
	s.publishes("other", "default", "240.0.0.1")
	s.mustReload(with("pool 240.0.0.0/24", ""))
	s.services("b.yaml", "default", "b")
	s.resolves("b.mesh.")
	s.settled()
	s.stop()
	for _, dir := range []string{"pub", "other"} {
		b, err := os.ReadFile(filepath.Join(s.dir, dir, "default.json"))
		if err != nil || strings.Contains(string(b), "240.0.0.2") {
			t.Errorf("%s was written after it was left: %v", dir, err)
		}
	}
}

func TestADirectoryThatCannotBeWrittenIsTriedAgain(t *testing.T) {
	s := newSite(t)
	out := logs(t)
	// Root may write anywhere, but not below a file.
	pub := filepath.Join(s.dir, "pub")
	if err := os.WriteFile(pub, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s.services("a.yaml", "default", "a")
	s.start(publishing("pub"))
	a := s.resolves("a.mesh.")
	s.wait("the error", func() bool { return out.has("[ERROR]", "not published", pub) })
	if err := os.Remove(pub); err != nil {
		t.Fatal(err)
	}
	s.publishes("pub", "default", a)
	// And the directory may go while it is in use.
	if err := os.RemoveAll(pub); err != nil {
		t.Fatal(err)
	}
	s.services("b.yaml", "default", "b")
	s.publishes("pub", "default", s.resolves("b.mesh."))
}

// What the last moments before the end brought is on disk after it.
func TestTheLastChangesArePublishedAtTheEnd(t *testing.T) {
	s := newSite(t)
	s.services("a.yaml", "default", "a")
	s.start(publishing("pub"))
	s.resolves("a.mesh.")
	for n := range 5 {
		name := fmt.Sprintf("late%d", n)
		s.services(name+".yaml", "default", name)
		addr := s.resolves(name + ".mesh.")
		s.stop()
		b, err := os.ReadFile(filepath.Join(s.dir, "pub", "default.json"))
		if err != nil || !strings.Contains(string(b), addr) {
			t.Errorf("%s is not published: %v", name, err)
		}
		s.start(publishing("pub"))
	}
}

func TestThePublisherWritesWhatIsLeftBeforeItEnds(t *testing.T) {
	t.Parallel()
	r := on(t, memstore.New(), "240.0.0.0/8")
	defer r.close()
	if err := r.apply(t.Context(), batch(1)); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p := newPublisher(PublishConfig{Dir: dir}, r.alloc, r.log)
	p.note([]string{"default"})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	p.run(ended)
	if b, err := os.ReadFile(filepath.Join(dir, "default.json")); err != nil || !strings.Contains(string(b), "240.0.0.1") {
		t.Errorf("%s, %v", b, err)
	}
}

// The batch that is on its way to the store when the end comes is published.
func TestACommitAtTheEndIsPublished(t *testing.T) {
	s := newSite(t)
	s.services("a.yaml", "default", "a")
	cfg, err := parseIn(s.dir, "meshvip mesh {\n pool 240.0.0.0/24\n source file "+s.dir+"/src\n publish "+s.dir+"/pub\n}")
	if err != nil {
		t.Fatal(err)
	}
	store := newSlowStore()
	r := on(t, store, "240.0.0.0/24")
	r.publish = newPublisher(PublishConfig{Dir: filepath.Join(s.dir, "pub")}, r.alloc, r.log)
	r.use(settings{cfg: cfg.Runtime})
	<-store.begun
	var closing sync.WaitGroup
	closing.Go(r.close)
	<-r.ctx.Done()
	close(store.let)
	closing.Wait()
	if b, err := os.ReadFile(filepath.Join(s.dir, "pub", "default.json")); err != nil || !strings.Contains(string(b), "240.0.0.1") {
		t.Errorf("%s, %v", b, err)
	}
}

func TestALostStoreDoesNotRenumberWhatIsPublished(t *testing.T) {
	s := newSite(t)
	s.services("a.yaml", "default", "b", "c")
	s.start(publishing("pub"))
	b := s.resolves("b.mesh.")
	s.services("a.yaml", "default", "a", "b", "c")
	a := s.resolves("a.mesh.")
	s.publishes("pub", "default", a)
	s.stop()
	if err := os.Remove(filepath.Join(s.dir, "meshvip.db")); err != nil {
		t.Fatal(err)
	}
	// A reload that fails makes the store, and must not spoil it.
	s.start("example.:PORT {\n whoami\n}")
	if err := s.reload(publishing("pub") + "example.:PORT {\n badstart\n}"); err == nil {
		t.Fatal("badstart went well")
	}
	s.mustReload(publishing("pub"))
	if gotA, gotB := s.resolves("a.mesh."), s.resolves("b.mesh."); gotA != a || gotB != b {
		t.Errorf("a moved from %s to %s, b from %s to %s", a, gotA, b, gotB)
	}
}

// A server that is killed between a commit and the removal of files leaves
// them.
func TestFilesOfAMeshThatWentUnseenAreSwept(t *testing.T) {
	s := newSite(t)
	s.services("a.yaml", "default", "a")
	s.start(publishing("pub"))
	s.publishes("pub", "default", s.resolves("a.mesh."))
	s.stop()
	for _, name := range []string{"gone.json", "gone.outbounds.yaml", "package.json", "notes.txt"} {
		if err := os.WriteFile(filepath.Join(s.dir, "pub", name), []byte("{}\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s.start(publishing("pub"))
	s.becomes("no.mesh.", dns.TypeA, "NXDOMAIN")
	want := []string{"default.json", "default.outbounds.yaml", "notes.txt", "package.json"}
	s.wait("the files of the mesh to go, and no others", func() bool { return slices.Equal(s.files("pub"), want) })
}

// One mesh that can have no files holds up no other, and is told of once.
func TestAMeshThatCannotBePublishedHoldsUpNoOther(t *testing.T) {
	out := logs(t)
	r := on(t, memstore.New(), "240.0.0.0/24")
	defer r.close()
	dir := t.TempDir()
	p := newPublisher(PublishConfig{Dir: dir}, r.alloc, r.log)
	r.publish = p
	long := strings.Repeat("a", 300)
	var b vip.Batch
	for _, mesh := range []string{long, "zz"} {
		b.Meshes = append(b.Meshes, vip.MeshUpdate{Mesh: mesh, Set: batch(1).Meshes[0].Set})
	}
	if err := r.apply(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if p.write(t.Context()) {
			t.Error("all could be written")
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "zz.json")); err != nil {
		t.Error(err)
	}
	if n := strings.Count(out.String(), "not published"); n != 1 {
		t.Errorf("told %d times:\n%s", n, out)
	}
}

// However many commits there are while one write goes on, one more follows.
func TestChangesAreCoalesced(t *testing.T) {
	t.Parallel()
	r := on(t, memstore.New(), "240.0.0.0/8")
	defer r.close()
	p := newPublisher(PublishConfig{Dir: t.TempDir()}, r.alloc, r.log)
	for range 1000 {
		p.changed([]string{"b", "a"}, []string{"c"})
	}
	if len(p.wake) != 1 {
		t.Errorf("%d writes wait", len(p.wake))
	}
	if _, meshes := p.take(); !slices.Equal(meshes, []string{"a", "b", "c"}) {
		t.Errorf("%v", meshes)
	}
	if _, meshes := p.take(); len(meshes) > 0 {
		t.Errorf("%v are written twice", meshes)
	}
}

// What does not fit into the time at the end stays noted, and is whole.
func TestTheEndDoesNotWaitForAllToBePublished(t *testing.T) {
	t.Parallel()
	r := on(t, memstore.New(), "240.0.0.0/8")
	defer r.close()
	dir := t.TempDir()
	p := newPublisher(PublishConfig{Dir: dir}, r.alloc, r.log)
	p.changed([]string{"a", "b"})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	var wg sync.WaitGroup
	wg.Go(func() {
		if p.write(ended) {
			t.Error("all was written")
		}
	})
	wg.Wait()
	if _, meshes := p.take(); len(meshes) != 2 {
		t.Errorf("%v are noted", meshes)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v %v", entries, err)
	}
}
