package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/boltstore"
	"github.com/meshvip/coredns-meshvip/vip"
)

// site is the same table in the form of each server, as files in dir: a store, a
// hosts file, two zone files; and the questions.
type site struct {
	dir string
	n   int // services
}

// manyQuestions is how many questions dnsperf goes through before it starts again.
const manyQuestions = 200_000

// newSite writes the files of a site.
func newSite(dir string, n int) (site, error) {
	s := site{dir, n}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return s, err
	}
	return s, errors.Join(
		boltstore.Create(s.path("meshvip.db"), state(n), boltstore.Options{NoSync: true}),
		s.text("hosts", s.hosts),
		s.text("mesh.zone", s.forward),
		s.text("reverse.zone", s.reverse),
		s.text("questions", s.questions),
	)
}

func (s site) path(name string) string { return filepath.Join(s.dir, name) }

// write writes a file by way of f.
func (s site) write(name string, f func(io.Writer) error) error {
	file, err := os.Create(s.path(name))
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(file, 1<<20)
	return errors.Join(f(w), w.Flush(), file.Close())
}

// text writes a file that f prints: what fails is told when it is flushed.
func (s site) text(name string, f func(io.Writer)) error {
	return s.write(name, func(w io.Writer) error {
		f(w)
		return nil
	})
}

// perMesh is how many services a mesh has.
const perMesh = 100

// state is the table of n services.
func state(n int) allocator.State {
	s := allocator.State{Rows: make([]*vip.Row, n), Addrs: make([]allocator.Held, n)}
	for i := range n {
		name, addr := service(i)
		mesh := fmt.Sprintf("mesh-%05d", i/perMesh)
		if i%perMesh == 0 {
			s.Meshes = append(s.Meshes, mesh)
		}
		row := &vip.Row{Entry: vip.Entry{Name: name}, V4: addr, Listings: []vip.Listing{{
			Mesh: mesh, Name: name,
			Outbounds: []vip.Outbound{{Tags: []vip.Tag{{Key: vip.ServiceTag, Value: name}}, Origin: vip.OriginService}},
		}}}
		s.Rows[i] = row
		s.Addrs[i] = allocator.Held{Addr: addr, Holding: allocator.Holding{Owner: row.Key()}}
	}
	_, next := service(n)
	s.Meta = allocator.Meta{
		Serial: 1, Revision: 1, Synced: true,
		Pools: []allocator.Pool{{Prefix: netip.MustParsePrefix(pool), Next: next}},
	}
	return s
}

func (s site) hosts(w io.Writer) {
	for i := range s.n {
		name, addr := service(i)
		fmt.Fprintf(w, "%v %s.%s %s.%s\n", addr, dotted(name), zone, name, zone)
	}
}

// apex is the first lines of a zone.
func apex(w io.Writer, zone string) {
	fmt.Fprintf(w, "$TTL 60\n%[1]s SOA ns.dns.mesh. hostmaster.mesh. 1 60 30 86340 5\n%[1]s NS ns.dns.mesh.\n", zone)
}

func (s site) forward(w io.Writer) {
	apex(w, zone)
	fmt.Fprintf(w, "ns.dns.mesh. A 127.0.0.1\n")
	for i := range s.n {
		name, addr := service(i)
		fmt.Fprintf(w, "%s.%s A %v\n%s.%s A %v\n", dotted(name), zone, addr, name, zone, addr)
	}
}

func (s site) reverse(w io.Writer) {
	apex(w, reverseZone)
	for i := range s.n {
		name, addr := service(i)
		fmt.Fprintf(w, "%s PTR %s.%s\n", reversed(addr), dotted(name), zone)
	}
}

func (s site) questions(w io.Writer) {
	r := rand.New(rand.NewPCG(1, uint64(s.n)))
	for range manyQuestions {
		fmt.Fprintln(w, question(r, s.n))
	}
}
