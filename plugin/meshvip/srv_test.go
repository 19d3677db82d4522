package meshvip

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/miekg/dns"
)

// offering returns a copy of r in which mesh lists the entry on these ports,
// with one outbound for each; what mesh asks for beside stays.
func offering(r *vip.Row, mesh string, ports ...uint16) *vip.Row {
	l, _ := r.Listing(mesh)
	l.Mesh, l.Name, l.Outbounds = mesh, r.Entry.Name, nil
	for i, p := range ports {
		l.Outbounds = append(l.Outbounds, vip.Outbound{Port: p, Origin: fmt.Sprint("test:", i)})
	}
	return r.WithListing(l)
}

// srv is the answer that gives name these ports, and addresses with their types.
func srv(name string, weight int, ports []uint16, addrs ...string) answer {
	a := answer{Rcode: "NOERROR"}
	for _, p := range ports {
		a.Answer = append(a.Answer, fmt.Sprintf("%s 60 IN SRV 0 %d %d %s", name, weight, p, name))
	}
	for _, addr := range addrs {
		rrtype := "A"
		if strings.Contains(addr, ":") {
			rrtype = "AAAA"
		}
		a.Extra = append(a.Extra, fmt.Sprintf("%s 60 IN %s %s", name, rrtype, addr))
	}
	return a
}

func TestAServiceIsFoundOnThePortsOfItsOutbounds(t *testing.T) {
	t.Parallel()
	many := make([]uint16, 0, 150)
	for p := range uint16(150) {
		many = append(many, 1000+p)
	}
	rows := []*vip.Row{
		row("0:bare", "240.0.0.1 fd00:6d76::1", "east"),
		offering(row("0:unnamed", "240.0.0.2"), "east", 0),
		offering(row("0:several", "240.0.0.3"), "east", 8080, 0, 443),
		offering(row("0:eighty", "240.0.0.4"), "east", 0, 80),
		offering(row("0:again", "240.0.0.5"), "east", 9000, 9000, 9000),
		offering(offering(row("0:shared_ns_svc_1", "240.0.0.6 fd00:6d76::6"), "east", 1, 3), "west", 2, 3),
		offering(row("0:six", "fd00:6d76::7"), "east", 7),
		offering(row("0:crowd", "240.0.0.8"), "east", many...),
		offering(row("1:tiles.example", "240.0.0.9"), "east", 443),
		row("1:bare.example", "240.0.0.10", "east"),
		offering(row("2:api.payments.mesh", "240.0.0.11"), "east", 6379),
		row("2:portless.mesh", "240.0.0.12", "east"),
		offering(told("3:east/orders", "orders.svc.mesh orders.east.mesh", "10.1.0.1 10.1.0.2 2001:db8::7 2001:db8::8"), "east", 8443, 8080),
		offering(told("3:west/orders", "orders.svc.mesh orders.west.mesh", "10.2.0.1"), "west", 99),
		told("5:east/idle", "idle.mesh", "10.1.0.9"),
		offering(offering(row("2:half.mesh", "240.0.0.13"), "east"), "west", 5),
	}
	for _, block := range []struct {
		what string
		fixture
		cases cases
	}{
		{"all meshes", fixture{zones: "mesh example", lines: "ns 192.0.2.53"}, cases{
			{"bare.mesh.", dns.TypeSRV, srv("bare.mesh.", 100, []uint16{80}, "240.0.0.1", "fd00:6d76::1")},
			{"BARE.Mesh.", dns.TypeSRV, srv("BARE.Mesh.", 100, []uint16{80}, "240.0.0.1", "fd00:6d76::1")},
			{"unnamed.mesh.", dns.TypeSRV, srv("unnamed.mesh.", 100, []uint16{80}, "240.0.0.2")},
			{"several.mesh.", dns.TypeSRV, srv("several.mesh.", 33, []uint16{80, 443, 8080}, "240.0.0.3")},
			{"eighty.mesh.", dns.TypeSRV, srv("eighty.mesh.", 100, []uint16{80}, "240.0.0.4")},
			{"again.mesh.", dns.TypeSRV, srv("again.mesh.", 100, []uint16{9000}, "240.0.0.5")},
			{"shared_ns_svc_1.mesh.", dns.TypeSRV, srv("shared_ns_svc_1.mesh.", 33, []uint16{1, 2, 3}, "240.0.0.6", "fd00:6d76::6")},
			{"shared.ns.svc.1.example.", dns.TypeSRV, srv("shared.ns.svc.1.example.", 33, []uint16{1, 2, 3}, "240.0.0.6", "fd00:6d76::6")},
			{"six.mesh.", dns.TypeSRV, srv("six.mesh.", 100, []uint16{7}, "fd00:6d76::7")},
			{"crowd.mesh.", dns.TypeSRV, srv("crowd.mesh.", 1, many, "240.0.0.8")},
			{"tiles.example.", dns.TypeSRV, srv("tiles.example.", 100, []uint16{443}, "240.0.0.9")},
			{"bare.example.", dns.TypeSRV, srv("bare.example.", 100, []uint16{80}, "240.0.0.10")},
			{"api.payments.mesh.", dns.TypeSRV, srv("api.payments.mesh.", 100, []uint16{6379}, "240.0.0.11")},
			{"portless.mesh.", dns.TypeSRV, noData("mesh. " + soaMesh)},
			{"orders.svc.mesh.", dns.TypeSRV, srv("orders.svc.mesh.", 50, []uint16{8080, 8443}, "10.1.0.1", "10.1.0.2", "2001:db8::7", "2001:db8::8")},
			{"orders.west.mesh.", dns.TypeSRV, srv("orders.west.mesh.", 100, []uint16{99}, "10.2.0.1")},
			{"idle.mesh.", dns.TypeSRV, noData("mesh. " + soaMesh)},
			{"half.mesh.", dns.TypeSRV, srv("half.mesh.", 100, []uint16{5}, "240.0.0.13")},

			{"mesh.", dns.TypeSRV, noData("mesh. " + soaMesh)},
			{"payments.mesh.", dns.TypeSRV, noData("mesh. " + soaMesh)},
			{"ns.dns.mesh.", dns.TypeSRV, noData("mesh. " + soaMesh)},
			{"1.0.0.240.in-addr.arpa.", dns.TypeSRV, noData("240.in-addr.arpa. " + soa240)},
			{"nope.mesh.", dns.TypeSRV, noName("mesh. " + soaMesh)},
			{"_http._tcp.bare.mesh.", dns.TypeSRV, noName("mesh. " + soaMesh)},
		}},
		{"one mesh", fixture{lines: "meshes east"}, cases{
			{"shared.ns.svc.1.mesh.", dns.TypeSRV, srv("shared.ns.svc.1.mesh.", 50, []uint16{1, 3}, "240.0.0.6", "fd00:6d76::6")},
			{"half.mesh.", dns.TypeSRV, noData("mesh. " + soaMesh)},
		}},
		{"the other mesh", fixture{lines: "meshes west"}, cases{
			{"shared.ns.svc.1.mesh.", dns.TypeSRV, srv("shared.ns.svc.1.mesh.", 50, []uint16{2, 3}, "240.0.0.6", "fd00:6d76::6")},
			{"orders.svc.mesh.", dns.TypeSRV, srv("orders.svc.mesh.", 100, []uint16{99}, "10.2.0.1")},
			{"half.mesh.", dns.TypeSRV, srv("half.mesh.", 100, []uint16{5}, "240.0.0.13")},
			{"bare.mesh.", dns.TypeSRV, noName("mesh. " + soaMesh)},
		}},
		{"both, and one that is not there", fixture{lines: "meshes west north east"}, cases{
			{"shared.ns.svc.1.mesh.", dns.TypeSRV, srv("shared.ns.svc.1.mesh.", 33, []uint16{1, 2, 3}, "240.0.0.6", "fd00:6d76::6")},
		}},
	} {
		t.Run(block.what, func(t *testing.T) {
			t.Parallel()
			block.rows = rows
			block.cases.check(t, block.fixture)
		})
	}
}

// Whoever follows a target with the block's own answers gets what the additional
// section has.
func TestTargetsResolveToTheAdditionalSection(t *testing.T) {
	t.Parallel()
	h, _, _ := fixture{zones: "mesh httpbin.org", rows: append(given[:len(given)-1:len(given)-1], world...)}.handler(t)
	for _, name := range []string{
		"backend.mesh.", "v6only.mesh.", "v4only.mesh.", "Kiosk_kuma-demo_svc_5678.mesh.", "kiosk.kuma-demo.svc.5678.mesh.", "httpbin.org.",
	} {
		q := new(dns.Msg).SetQuestion(name, dns.TypeSRV)
		got := exchange(t, h, q)
		if len(got.Answer) != 1 || !strings.HasSuffix(got.Answer[0], " "+name) {
			t.Errorf("%s: %+v", name, got)
			continue
		}
		want := append(ask(t, h, name, dns.TypeA).Answer, ask(t, h, name, dns.TypeAAAA).Answer...)
		if diff := cmp.Diff(want, got.Extra); diff != "" || len(want) == 0 {
			t.Errorf("%s (-asked for +additional):\n%s", name, diff)
		}
	}
}
