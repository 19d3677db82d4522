package test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// Many entries in many meshes, of which one file changes.
func TestOneChangeAmongManyIsOneSmallTransaction(t *testing.T) {
	t.Parallel()
	const meshes, each = 200, 100
	p := newSite(t)
	service := func(mesh, i int) string { return fmt.Sprintf("s-%03d_m-%03d_svc_80", i, mesh) }
	name := func(mesh, i int) string { return dotted(service(mesh, i)) + ".mesh" }
	file := func(mesh, n int) string {
		var docs strings.Builder
		fmt.Fprintf(&docs, "type: Mesh\nname: m-%03d\n", mesh)
		for i := range n {
			docs.WriteString("---\n" + dataplane(fmt.Sprintf("m-%03d", mesh), service(mesh, i), service(mesh, i)))
		}
		return docs.String()
	}
	for m := range meshes {
		write(t, p.resources, fmt.Sprintf("m-%03d.yaml", m), file(m, each))
	}
	s := p.start()
	s.measured("entries", meshes*each)
	before := make(answers)
	for range 300 {
		n := name(rand.IntN(meshes), rand.IntN(each))
		before[n] = s.resolves(n)
	}
	serial, commits := s.metric("serial"), s.metric("commit_duration_seconds_count")
	changes := strings.Count(s.log.String(), "table changed")

	const changed = 123
	write(t, p.resources, fmt.Sprintf("m-%03d.yaml", changed), file(changed, each+1))
	added := s.resolves(name(changed, each))
	s.logLine("table changed", "allocated=1 returned=0 released=0 transactions=1 rows=1 meshes=1 ")
	s.measured("entries", meshes*each+1)
	if n := s.metric("commit_duration_seconds_count") - commits; n != 1 {
		t.Errorf("%v transactions for one new entry", n)
	}
	if n := strings.Count(s.log.String(), "table changed") - changes; n != 1 {
		t.Errorf("the log tells of %d changes", n)
	}
	if now := s.metric("serial"); now <= serial {
		t.Errorf("the serial is %v, and was %v", now, serial)
	}
	s.unmoved(before)
	before[name(changed, each)] = added
	s.kill()
	s = p.start()
	s.unmoved(before)
	s.named(before)
}
