package names

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvip/coredns-meshvip/vip"
)

// lines returns events as the log has them.
func lines(events []Event) []string {
	var l []string
	for _, ev := range events {
		l = append(l, ev.String())
	}
	return l
}

func wantLines(t *testing.T, events []Event, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, lines(events)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestADisputeIsReportedWhenItBeginsMovesAndEnds(t *testing.T) {
	t.Parallel()
	x := NewIndex()
	x.SetZones([]string{"mesh."})
	dotted, literal := row(t, "0:a_b", "240.0.0.1"), row(t, "0:a.b", "240.0.0.2")
	wantLines(t, x.Apply(adds(dotted)))
	wantLines(t, x.Apply(adds(literal)),
		"name a.b changes hands: from 0:a_b to 0:a.b: a literal name comes before a dotted spelling")
	wantLines(t, x.Apply(adds(row(t, "0:c", "240.0.0.3"))))
	again := row(t, "0:a.b", "240.0.0.4", "m1", "m2")
	wantLines(t, x.Apply([]Change{{literal, again}}))
	wantLines(t, x.Apply([]Change{{Old: dotted}}), "name a.b is no longer disputed: 0:a.b has it")
	wantLines(t, x.Apply(adds(dotted)),
		"name a.b of 0:a_b is answered for 0:a.b: a literal name comes before a dotted spelling")
	wantLines(t, x.Apply([]Change{{Old: again}}),
		"name a.b changes hands: from 0:a.b to 0:a_b: 0:a.b claims it no longer")
}

func TestAbsoluteAgainstRelativeIsReportedPerZone(t *testing.T) {
	t.Parallel()
	x := NewIndex()
	x.SetZones([]string{"mesh."})
	v := x.View(nil)
	defer v.Close()
	service, fqdn := row(t, "0:a", "240.0.0.1"), row(t, "2:a.mesh", "240.0.0.2")
	wantLines(t, x.Apply(adds(service)))
	wantLines(t, x.Apply(adds(fqdn)),
		"name a.mesh. changes hands: from 0:a to 2:a.mesh: a host or an fqdn comes before a service")
	wantForward(t, v, "a.mesh.", "mesh.", "2:a.mesh")
	wantLines(t, x.SetZones([]string{"mesh.", "other."}))
	wantForward(t, v, "a.other.", "other.", "0:a")
	if got := v.PTR(service.V4, []string{"other.", "mesh."}); got != "a.other." {
		t.Errorf("PTR is %q", got)
	}
	if got := v.PTR(service.V4, []string{"mesh.", "other."}); got != "" {
		t.Errorf("PTR is %q, and that name is another's", got)
	}
	wantLines(t, x.SetZones([]string{"other."}))
	wantLines(t, x.SetZones([]string{"mesh."}),
		"name a.mesh. of 0:a is answered for 2:a.mesh: a host or an fqdn comes before a service")
	wantLines(t, x.Apply([]Change{{Old: fqdn}}),
		"name a.mesh. changes hands: from 2:a.mesh to 0:a: nothing comes before the service any more")
	x.Apply(adds(fqdn))
	wantLines(t, x.Apply([]Change{{Old: service}}), "name a.mesh. is no longer disputed: 2:a.mesh has it")
}

func TestANameIsFreeOnlyWhenNobodyElseClaimsIt(t *testing.T) {
	t.Parallel()
	x := NewIndex()
	x.SetZones([]string{"mesh."})
	service, host, fqdn := row(t, "0:a", "240.0.0.1"), row(t, "1:a.mesh", "240.0.0.2"), row(t, "2:a.mesh", "240.0.0.3")
	const free = "name a.mesh. is no longer disputed: 2:a.mesh has it"
	for _, goes := range [][2]*vip.Row{{service, host}, {host, service}} {
		x.Apply(adds(service, host, fqdn))
		want := []Conflict{{Name: "a.mesh.", Winner: fqdn.Entry, Losers: []vip.Entry{host.Entry, service.Entry}}}
		if diff := cmp.Diff(want, x.Conflicts()); diff != "" {
			t.Errorf("conflicts (-want +got):\n%s", diff)
		}
		wantLines(t, x.Apply([]Change{{Old: goes[0]}}))
		wantLines(t, x.Apply([]Change{{Old: goes[1]}}), free)
		wantLines(t, x.Apply([]Change{{Old: fqdn}}))
	}
}

func TestTheNameServersNameIsNoEntrys(t *testing.T) {
	t.Parallel()
	x := NewIndex()
	x.SetZones([]string{"mesh."})
	v := x.View(nil)
	defer v.Close()
	wantLines(t, x.Apply(adds(row(t, "0:ns_dns", "240.0.0.1"), row(t, "2:ns.dns.mesh", "240.0.0.2"))),
		"name ns.dns of 0:ns_dns is answered for the zone's name server: the name is reserved for the zone's name server",
		"name ns.dns.mesh. of 2:ns.dns.mesh is answered for the zone's name server: the name is reserved for the zone's name server")
	wantForward(t, v, "ns.dns.mesh.", "mesh.", "none")
	wantForward(t, v, "ns_dns.mesh.", "mesh.", "0:ns_dns")
	if got := v.PTR(netip.MustParseAddr("240.0.0.1"), []string{"mesh."}); got != "ns_dns.mesh." {
		t.Errorf("PTR is %q, want the literal spelling", got)
	}
	wantLines(t, x.SetZones([]string{"other."}),
		"name ns.dns.mesh. changes hands: from the zone's name server to 2:ns.dns.mesh: the name is no longer reserved for a zone's name server")
	want := []Conflict{{Name: "ns.dns", Losers: []vip.Entry{{Name: "ns_dns"}}}}
	if diff := cmp.Diff(want, x.Conflicts()); diff != "" {
		t.Errorf("conflicts (-want +got):\n%s", diff)
	}
}

func TestAnUnservableSpellingIsReportedOnceAndTheOtherServed(t *testing.T) {
	t.Parallel()
	x := NewIndex()
	x.SetZones([]string{"mesh."})
	v := x.View(nil)
	defer v.Close()
	name := strings.Repeat("x", 40) + "_" + strings.Repeat("y", 40)
	old := row(t, "0:"+name, "240.0.0.1")
	ev := x.Apply(adds(old))
	if len(ev) != 1 || ev[0].Kind != Unservable || ev[0].Name != name || !strings.Contains(ev[0].Reason, "81 octets") {
		t.Fatalf("events %v", ev)
	}
	wantForward(t, v, strings.ReplaceAll(name, "_", ".")+".mesh.", "mesh.", "0:"+name)
	wantForward(t, v, name+".mesh.", "mesh.", "none")
	wantLines(t, x.Apply([]Change{{old, row(t, "0:"+name, "240.0.0.2")}}))
}

func TestALongZoneMakesNamesTooLongAndAShortOneGivesThemBack(t *testing.T) {
	t.Parallel()
	x := NewIndex()
	x.SetZones([]string{"mesh."})
	v := x.View(nil)
	defer v.Close()
	name := strings.ReplaceAll(octetsOf(248), "_", ".")
	short := row(t, "0:a", "240.0.0.2")
	wantLines(t, x.Apply(adds(row(t, "0:"+name, "240.0.0.1"), short)))
	wantForward(t, v, name+".mesh.", "mesh.", "0:"+name)
	ev := x.SetZones([]string{"mesh.", "meshes."})
	if len(ev) != 1 || ev[0].Kind != Unservable || !strings.Contains(ev[0].Reason, "255 octets") {
		t.Fatalf("events %v", ev)
	}
	wantForward(t, v, name+".mesh.", "mesh.", "none")
	wantForward(t, v, "a.mesh.", "mesh.", "0:a")
	addr := netip.MustParseAddr("240.0.0.1")
	if v.Reverse(addr) == nil || v.PTR(addr, []string{"mesh."}) != "" {
		t.Errorf("record %v", v.Reverse(addr))
	}
	wantLines(t, x.SetZones([]string{"mesh."}))
	wantForward(t, v, name+".mesh.", "mesh.", "0:"+name)
}

func TestEventsAndConflictsAreLinesWhateverTheNames(t *testing.T) {
	t.Parallel()
	odd := vip.Entry{Name: "a\nb\x00" + strings.Repeat("é", 500)}
	for _, k := range []EventKind{NameLost, NameMoved, NameFree, Unservable} {
		s := Event{Kind: k, Name: canonical(odd.Name), Entry: odd, Other: odd, Reason: "x"}.String()
		if strings.ContainsAny(s, "\n\x00") || len(s) > 2500 {
			t.Errorf("%v: %d octets: %q", k, len(s), s)
		}
	}
	s := Conflict{Name: canonical(odd.Name), Winner: odd, Losers: []vip.Entry{odd, {}}}.String()
	if strings.ContainsAny(s, "\n\x00") || !strings.Contains(s, ", the zone's name server") {
		t.Errorf("conflict: %q", s)
	}
	kinds := []string{NameLost.String(), NameMoved.String(), NameFree.String(), Unservable.String()}
	if !slices.Equal(kinds, []string{"lost", "moved", "free", "unservable"}) {
		t.Errorf("kinds %v", kinds)
	}
}
