package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// The first reading of many services takes hundreds of transactions. The leader is
// killed amid them, and another goes on where it was.
func TestALargeFirstSyncSurvivesTheLeader(t *testing.T) {
	t.Parallel()
	const size = 20_000
	h := newHistory(time.Hour, time.Second, nil)
	c := newCluster(t, h, 3, 1, "pool 240.0.0.0/12")
	names := services("svc", size)
	for i, part := range slices.Collect(slices.Chunk(names, 100)) {
		content := dataplane("default", fmt.Sprintf("part-%d", i), part...)
		if err := os.WriteFile(filepath.Join(c.resources, fmt.Sprintf("part-%d.yaml", i)), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range c.replicas {
		r.start()
	}
	eventually(t, "a third of the services to be written", func() bool { return c.given() > size/3 })
	leader := c.leader()
	leader.kill()
	at := c.given()
	if at > size*9/10 {
		t.Errorf("%d of %d services were written when the leader was killed: this has tested little", at, size)
	}
	eventually(t, "all services to be written", func() bool { return c.given() >= size })
	leader.start()
	has := c.quiet(names)
	state := c.holds(has)
	if len(state.Rows) != size {
		t.Errorf("%d entries, want %d", len(state.Rows), size)
	}
	var questions []string
	for _, name := range names {
		questions = append(questions, name+".mesh.")
	}
	for _, r := range c.replicas {
		owners := make(map[string]string, size)
		got, err := r.many(questions, dns.TypeA)
		if err != nil {
			t.Error(err)
		}
		for name, addr := range got {
			if other, twice := owners[addr]; twice || addr == "" || addr != has[strings.TrimSuffix(name, ".mesh.")].String() {
				t.Errorf("replica %d: %q is the address of %s, and of %q", r.n, addr, name, other)
			}
			owners[addr] = name
		}
		if len(owners) != size {
			t.Errorf("replica %d answers %d names, want %d", r.n, len(owners), size)
		}
	}
	c.w.rest()
	if err := h.judge(0, time.Minute); err != nil {
		t.Error(err)
	}
	t.Logf("the leader was killed at %d of %d services; %d transactions, %d terms", at, size, len(h.txns), len(c.w.leaders))
}

// given is how many addresses the witness has seen given.
func (c *cluster) given() int {
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	n := 0
	for _, t := range c.h.txns {
		n += len(t.changes)
	}
	return n
}

// What a change in one mesh writes follows the change, however many meshes there are.
func TestWhatAChangeWritesDoesNotGrowWithMeshes(t *testing.T) {
	t.Parallel()
	var wrote [][]int
	for _, meshes := range []int{10, 10_000} {
		h := newHistory(time.Hour, time.Second, nil)
		c := newCluster(t, h, 1, 1, "pool 240.0.0.0/12")
		names := c.meshes(meshes)
		c.replicas[0].start()
		c.quiet(names)
		c.w.caughtUp()
		var keys []int
		for _, services := range [][]string{
			{"own-1", "new"},               // one that nobody else has
			{"own-1", "new", "own-2"},      // one that another mesh has, too
			{"new", "own-2"},               // one less
			{"new", "own-2", "n-1", "n-2"}, // two at once
		} {
			keys = append(keys, c.change("mesh-1", services))
		}
		t.Logf("%d meshes: %d transactions for the first, then changes of %v keys", meshes, len(h.txns)-4, keys)
		wrote = append(wrote, keys)
	}
	if !slices.Equal(wrote[0], wrote[1]) {
		t.Errorf("with few and with many meshes the same changes write %v keys", wrote)
	}
}

// meshes writes so many meshes with a service each, and returns the services.
func (c *cluster) meshes(n int) (names []string) {
	c.t.Helper()
	for i := range n {
		names = append(names, fmt.Sprintf("own-%d", i))
	}
	for at := 0; at < n; at += 100 {
		var b strings.Builder
		for i := at; i < min(at+100, n); i++ {
			fmt.Fprintf(&b, "type: Mesh\nname: mesh-%d\n---\n", i)
			if i != 1 { // a file of its own
				b.WriteString(dataplane(fmt.Sprintf("mesh-%d", i), "own", names[i]) + "---\n")
			}
		}
		if err := os.WriteFile(filepath.Join(c.resources, fmt.Sprintf("meshes-%d.yaml", at)), []byte(b.String()), 0o644); err != nil {
			c.t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(c.resources, "mesh-1.yaml"), []byte(dataplane("mesh-1", "own", names[1])), 0o644); err != nil {
		c.t.Fatal(err)
	}
	return names
}

// change lists other services in a mesh, and returns how many keys that has written.
func (c *cluster) change(mesh string, services []string) (keys int) {
	c.t.Helper()
	count := func() (n, keys int) {
		c.h.mu.Lock()
		defer c.h.mu.Unlock()
		for _, t := range c.h.txns {
			keys += t.keys
		}
		return len(c.h.txns), keys
	}
	txns, before := count()
	path := filepath.Join(c.resources, mesh+".yaml")
	if err := os.WriteFile(path+".tmp", []byte(dataplane(mesh, "own", services...)), 0o644); err != nil {
		c.t.Fatal(err)
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		c.t.Fatal(err)
	}
	eventually(c.t, "the change to be written", func() bool { n, _ := count(); return n > txns })
	_, after := count()
	return after - before
}
