package meshvip

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meshvip/coredns-meshvip/admin"
	"github.com/meshvip/coredns-meshvip/test/etcdtest"
	"github.com/miekg/dns"
)

// operator is a client of the admin interface at an address.
func operator(t *testing.T, address string) *admin.Client {
	t.Helper()
	c, err := admin.Dial(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// asked is what explain says of q, once the interface is there.
func (s *site) asked(c *admin.Client, q string) (e admin.Explanation) {
	s.t.Helper()
	s.wait("the admin interface to explain "+q, func() bool {
		var err error
		e, err = c.Explain(context.Background(), q)
		return err == nil && len(e.Entries) > 0
	})
	return e
}

func TestTheAdminInterfaceStandsBesideTheStoreAndOutlivesReloads(t *testing.T) {
	s := newSite(t)
	s.services("a.yaml", "default", "a")
	s.start(with("pool 240.0.0.0/24\nadmin", ""))
	s.resolves("a.mesh.")
	socket := filepath.Join(s.dir, "meshvip.db.sock")
	c := operator(t, "unix:"+socket)
	e := s.asked(c, "a.mesh")
	if len(e.Entries[0].Resources) != 1 || !strings.HasSuffix(e.Entries[0].Resources[0].Place, "a.yaml:4") {
		t.Errorf("the resources of a are %+v", e.Entries[0].Resources)
	}
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v", info, err)
	}

	// A reload that fails changes nothing, one that goes well neither, and one
	// with another zone shows that.
	if err := s.reload(with("pool 240.0.0.0/24\nadmin", taken(t))); err == nil {
		t.Fatal("the reload went well")
	}
	s.asked(c, "a.mesh")
	s.mustReload(strings.Replace(with("pool 240.0.0.0/24\nadmin", ""), "mesh.:PORT", "mesh.:PORT other.:PORT", 1))
	s.asked(c, "a.other")
	sources, err := c.Sources(context.Background())
	if err != nil || len(sources.Sources) != 1 || !sources.Sources[0].Synced || sources.Sources[0].Name != "file "+filepath.Join(s.dir, "src") {
		t.Errorf("sources %+v, %v", sources, err)
	}
	// Elsewhere, and nowhere.
	s.mustReload(with("pool 240.0.0.0/24\nadmin unix:DIR/other.sock", ""))
	other := operator(t, "unix:"+filepath.Join(s.dir, "other.sock"))
	s.asked(other, "a.mesh")
	s.wait("the old socket to go", func() bool { _, err := os.Stat(socket); return os.IsNotExist(err) })
	s.mustReload(with("pool 240.0.0.0/24", ""))
	s.wait("the interface to go", func() bool { _, err := other.Status(context.Background()); return err != nil })
	if got := s.ask("a.mesh.", dns.TypeA); got != "240.0.0.1" {
		t.Errorf("a is %s", got)
	}
}

func TestAnAdminAddressThatIsTakenDoesNotStopDNS(t *testing.T) {
	s := newSite(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	logged := logs(t)
	s.services("a.yaml", "default", "a")
	s.start(with("pool 240.0.0.0/24\nadmin "+l.Addr().String(), ""))
	s.resolves("a.mesh.")
	s.wait("a message", func() bool { return strings.Contains(logged.String(), "there is no admin interface") })
	// It is there when the address is free, at the latest with the next reload.
	l.Close()
	s.mustReload(with("pool 240.0.0.0/24\nttl 5\nadmin "+l.Addr().String(), ""))
	s.asked(operator(t, l.Addr().String()), "a.mesh")
}

func TestAnOperatorConfirmsMovesAndFollowsThem(t *testing.T) {
	s := newSite(t)
	s.services("a.yaml", "default", "a")
	s.start(with("pool 240.0.0.0/24\nadmin", ""))
	s.resolves("a.mesh.")
	c := operator(t, "unix:"+filepath.Join(s.dir, "meshvip.db.sock"))
	s.asked(c, "a.mesh")
	s.mustReload(with("pool 240.1.0.0/24\nadmin", ""))
	var plan admin.Moves
	s.wait("a plan", func() bool {
		var err error
		plan, err = c.Moves(context.Background())
		return err == nil && len(plan.Moves) == 1
	})
	if _, err := c.ConfirmMoves(context.Background(), "7-abcdef"); err == nil {
		t.Error("another plan was carried out")
	}
	if _, err := c.ConfirmMoves(context.Background(), plan.Plan); err != nil {
		t.Error(err)
	}
	s.becomes("a.mesh.", dns.TypeA, "240.1.0.1")
	changes, err := c.Changes(context.Background(), "", 100)
	if err != nil || !changes.Complete {
		t.Errorf("changes %+v, %v", changes, err)
	}
	v, err := c.Verify(context.Background())
	if err != nil || !v.OK {
		t.Errorf("verified %+v, %v", v, err)
	}
}

func TestAnOperatorIsToldWhichReplicaAllocates(t *testing.T) {
	etcd := etcdtest.Start(t, etcdtest.WithUnsafeNoFsync())
	if _, err := etcd.Client(t).Put(context.Background(), "/meshvip/leader/elected/0", "elsewhere:1"); err != nil {
		t.Fatal(err)
	}
	s := newSite(t)
	s.services("a.yaml", "default", "a")
	s.start(strings.Replace(with("pool 240.0.0.0/24\nadmin unix:DIR/admin.sock", ""),
		"store bolt DIR/meshvip.db", "store etcd "+etcd.Endpoint(), 1))
	c := operator(t, "unix:"+filepath.Join(s.dir, "admin.sock"))
	var status admin.Status
	is := func(role, leader string) {
		t.Helper()
		s.wait(role+" "+leader, func() bool {
			var err error
			status, err = c.Status(context.Background())
			return err == nil && status.Role == role && status.Leader == leader && status.LagRevisions != nil && status.ContactAgeSeconds != nil
		})
	}
	is(admin.Follower, "elsewhere:1")
	if list, err := c.Sources(context.Background()); err != nil || len(list.Sources) != 0 {
		t.Errorf("the sources of a follower are %+v, %v", list, err)
	}
	if _, err := c.ConfirmMoves(context.Background(), "0-abcdef"); err == nil || !strings.Contains(err.Error(), "elsewhere:1") {
		t.Errorf("a follower says %v", err)
	}
	if _, err := etcd.Client(t).Delete(context.Background(), "/meshvip/leader/elected/0"); err != nil {
		t.Fatal(err)
	}
	is(admin.Leads, replicaName())
	s.asked(c, "a.mesh")
	if list, err := c.Sources(context.Background()); err != nil || len(list.Sources) != 1 {
		t.Errorf("the sources of the leader are %+v, %v", list, err)
	}
}
