package test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

// soaSerial returns the serial that the zone mesh shows.
func (s *server) soaSerial() uint32 {
	s.t.Helper()
	r := s.ask("mesh", dns.TypeSOA)
	if len(r.Answer) != 1 {
		s.t.Fatalf("SOA of mesh: %v", r)
	}
	return r.Answer[0].(*dns.SOA).Serial
}

// rewrite replaces text in a file of the resources, by way of a rename.
func (p *site) rewrite(name, old, new string) {
	p.t.Helper()
	data, err := os.ReadFile(filepath.Join(p.resources, name))
	if err != nil {
		p.t.Fatal(err)
	}
	if !strings.Contains(string(data), old) {
		p.t.Fatalf("%s does not contain %q", name, old)
	}
	write(p.t, p.resources, name, strings.ReplaceAll(string(data), old, new))
}

func TestAnAddedFileIsAnsweredAndPublished(t *testing.T) {
	t.Parallel()
	p := exampleSite(t)
	s := p.start()
	before := s.resolveAll(exampleNames()...)
	serial := s.soaSerial()
	write(t, p.resources, "shop/gifts.yaml", dataplane("default", "gifts-1", "gift-cards_shop_svc_8090"))
	addr := s.resolves("gift-cards_shop_svc_8090.mesh")
	if dotted := s.addr4("gift-cards.shop.svc.8090.mesh"); dotted != addr {
		t.Errorf("the dotted spelling has %v, want %v", dotted, addr)
	}
	if ptr := s.ptr(addr); ptr != "gift-cards.shop.svc.8090.mesh." {
		t.Errorf("the name of %v is %q", addr, ptr)
	}
	if now := s.soaSerial(); now <= serial {
		t.Errorf("the serial is %d after a change, and was %d", now, serial)
	}
	s.wait("the published table", func() bool {
		return p.table("default")["0:gift-cards_shop_svc_8090"] == addr.String()
	})
	s.wait("the published outbounds", func() bool {
		return strings.Contains(p.outbounds("default"), fmt.Sprintf("- address: %v\n  port: 80\n  tags:\n    kuma.io/service: gift-cards_shop_svc_8090\n", addr))
	})
	if rows := p.table("payments"); rows["0:gift-cards_shop_svc_8090"] != "" {
		t.Error("the service of one mesh is published for another")
	}
	s.unmoved(before)
}

func TestARenamedServiceMovesNoOther(t *testing.T) {
	t.Parallel()
	p := exampleSite(t)
	s := p.start()
	before := s.resolveAll(exampleNames()...)
	p.rewrite("warehouse/floor.yaml", "service: label-printer", "service: tag-printer")
	addr := s.resolves("tag-printer.mesh")
	s.goes("label-printer.mesh")
	if addr == before["label-printer.mesh"] {
		t.Errorf("the new service has the address %v, which the old one gave back just now", addr)
	}
	if ptr := s.ptr(before["label-printer.mesh"]); ptr != "" {
		t.Errorf("the address that was given back still has the name %s", ptr)
	}
	s.unmoved(before.without("label-printer.mesh"))
	s.wait("the published table", func() bool {
		rows := p.table("warehouse")
		_, old := rows["0:label-printer"]
		return rows["0:tag-printer"] == addr.String() && !old
	})
	// An owner that comes back has its address again.
	p.rewrite("warehouse/floor.yaml", "service: tag-printer", "service: label-printer")
	s.goes("tag-printer.mesh")
	s.unmoved(before)
}

func TestARemovedFilesNamesGoAndNoOthers(t *testing.T) {
	t.Parallel()
	p := exampleSite(t)
	s := p.start()
	before := s.resolveAll(exampleNames()...)
	floor, err := os.ReadFile(filepath.Join(p.resources, "warehouse/floor.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	p.remove("warehouse/floor.yaml")
	gone := []string{"picking.mesh", "packing.mesh", "label-printer.mesh", "carrier-rates.mesh"}
	for _, n := range gone {
		s.goes(n)
	}
	s.unmoved(before.without(gone...))
	s.wait("the published table", func() bool { return len(p.table("warehouse")) == len(exampleEntries["warehouse"])-len(gone) })
	if held := s.metric("held_releases"); held != 0 {
		t.Errorf("%v releases are held", held)
	}
	write(t, p.resources, "warehouse/floor-2.yaml", string(floor))
	s.resolves("picking.mesh")
	s.unmoved(before)
}

func TestANameOfTwoMeshesGoesWithTheLast(t *testing.T) {
	t.Parallel()
	p := exampleSite(t)
	s := p.start()
	before := s.resolveAll(exampleNames()...)
	p.rewrite("shop/dataplanes.yaml", "service: backend\n", "service: backend-next\n")
	s.resolves("backend-next.mesh")
	s.unmoved(before) // payments has a backend still
	s.wait("the published tables", func() bool {
		_, shop := p.table("default")["0:backend"]
		return !shop && p.table("payments")["0:backend"] == before["backend.mesh"].String()
	})
	p.rewrite("payments/dataplanes.yaml", "service: backend\n", "service: backend-next\n")
	s.goes("backend.mesh")
	s.unmoved(before.without("backend.mesh"))
}

func TestAMeshThatIsNotDeclaredWaitsAndIsReportedOnce(t *testing.T) {
	t.Parallel()
	p := exampleSite(t)
	s := p.start()
	before := s.resolveAll(exampleNames()...)
	write(t, p.resources, "new/a.yaml", dataplane("returns", "intake-1", "intake"))
	const report = "the mesh is not declared"
	s.logLine(report, "new/a.yaml", "type: Mesh and name: returns")
	write(t, p.resources, "new/b.yaml", dataplane("returns", "refurbish-1", "refurbish")+"---\n"+dataplane("default", "marker-1", "marker"))
	s.resolves("marker.mesh") // so b.yaml has been read
	for _, n := range []string{"intake.mesh", "refurbish.mesh"} {
		if rcode := s.rcode(n); rcode != "NXDOMAIN" {
			t.Errorf("%s of a mesh that is not declared: %s, want NXDOMAIN", n, rcode)
		}
	}
	if n := strings.Count(s.log.String(), report); n != 1 {
		t.Errorf("reported %d times, want once", n)
	}
	if p.table("returns") != nil {
		t.Error("a mesh that is not declared is published")
	}
	write(t, p.resources, "new/mesh.yaml", "type: Mesh\nname: returns\n")
	s.resolveAll("intake.mesh", "refurbish.mesh")
	s.wait("the published table", func() bool { return len(p.table("returns")) == 2 })
	s.unmoved(before)
}

func TestAConfigMapSwapNeverLosesAService(t *testing.T) {
	t.Parallel()
	p := newSite(t)
	// As Kubernetes mounts a ConfigMap: the files are links through ..data,
	// which is a link to a directory and is replaced.
	volume := func(generation int, services ...string) {
		dir := fmt.Sprintf("..generation_%d", generation)
		write(t, p.resources, dir+"/services.yaml", dataplane("default", "all", services...))
		if err := os.Symlink(dir, filepath.Join(p.resources, "..data_tmp")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(p.resources, "..data_tmp"), filepath.Join(p.resources, "..data")); err != nil {
			t.Fatal(err)
		}
		p.remove(fmt.Sprintf("..generation_%d", generation-1))
	}
	volume(1, "fixed", "generation-1")
	if err := os.Symlink("..data/services.yaml", filepath.Join(p.resources, "services.yaml")); err != nil {
		t.Fatal(err)
	}
	s := p.start()
	fixed := s.resolves("fixed.mesh")
	ended := s.watch("fixed.mesh", fixed)
	for generation := 2; generation <= 6; generation++ {
		volume(generation, "fixed", fmt.Sprint("generation-", generation))
		s.resolves(fmt.Sprintf("generation-%d.mesh", generation))
		s.goes(fmt.Sprintf("generation-%d.mesh", generation-1))
	}
	if n := ended(); n == 0 {
		t.Error("nothing was asked meanwhile")
	}
	if held := s.metric("held_releases"); held != 0 {
		t.Errorf("%v releases are held", held)
	}
}
