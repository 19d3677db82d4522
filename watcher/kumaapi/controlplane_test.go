package kumaapi

import (
	"strings"
	"testing"

	"github.com/meshvip/coredns-meshvip/watcher/kumaapi/fakekuma"
)

func TestAGlobalControlPlaneIsRefused(t *testing.T) {
	t.Parallel()
	k := twoMeshes()
	k.Set(func(s *fakekuma.Settings) { s.Mode = "Global" })
	r := newRig(t, k, Options{}).pass().want("").problems(base + ": it is a Global control plane...of our zone")
	if r.feed.state.Read || r.feed.commits != 1 || !r.f.last.refused {
		t.Errorf("state %+v, %d commits, %+v", r.feed.state, r.feed.commits, r.f.last)
	}
	if asked := strings.Join(k.Requests(), " "); asked != "/ /config" {
		t.Errorf("asked %s", asked)
	}
	// It is remembered, also where it does not say so any more.
	r.faults(&fakekuma.Fault{Path: "/config", Status: 500}).set(func(s *fakekuma.Settings) { s.Version = "2.15.0" })
	r.pass().want("").problems("it is a Global control plane")
	r.faults().set(func(s *fakekuma.Settings) { s.Mode = "zone" })
	r.pass().want(all).problems()
}

func TestAControlPlaneThatTurnsGlobalReleasesNothing(t *testing.T) {
	t.Parallel()
	r := started(t, twoMeshes(), Options{}).set(func(s *fakekuma.Settings) { s.Mode, s.Version = "global", "2.15.0" })
	r.kuma.Clear("dataplanes")
	r.pass().pass().pass().want(all).problems("it is a Global control plane").incomplete("")
}

func TestTheConfigurationIsReadAgainOnlyForAnotherVersion(t *testing.T) {
	t.Parallel()
	r := started(t, twoMeshes(), Options{})
	r.kuma.Requests()
	count := func() int { return strings.Count(strings.Join(r.kuma.Requests(), " "), "/config") }
	if r.pass(); count() != 0 {
		t.Error("it was read again")
	}
	r.set(func(s *fakekuma.Settings) { s.Version = "2.15.0" })
	if r.pass(); count() != 1 || r.f.mirror.plane.version != "2.15.0" {
		t.Error("it was not read again")
	}
}

func TestAControlPlaneThatHidesItsModeIsDoubtedAndFollowed(t *testing.T) {
	t.Parallel()
	for path, what := range map[string]string{"/": "403 Forbidden", "/config": "/config: 403 Forbidden"} {
		r := newRig(t, twoMeshes(), Options{}).faults(&fakekuma.Fault{Path: path, Status: 403})
		r.pass().want(all).incomplete("").problems(base + ": it is not known what control plane this is: " + what)
		r.faults().pass().problems()
	}
}

func TestAnotherZoneThanOursIsTold(t *testing.T) {
	t.Parallel()
	k := twoMeshes()
	k.Set(func(s *fakekuma.Settings) { s.Zone = "west" })
	newRig(t, k, Options{}).pass().want(all).problems(`it is the control plane of zone "west", but our own zone is said to be "default"`)
	newRig(t, k, Options{Zone: "west"}).pass().want(all).problems()
}

func TestTwoThatGiveAddressesAreTold(t *testing.T) {
	t.Parallel()
	k := twoMeshes()
	k.Put("meshservices", ms("s"))
	r := newRig(t, k, Options{}).pass().problems()
	k.Put("meshservices", ms("s", "241.0.0.1"))
	r.pass().problems(base + ": two give addresses: 1 of its MeshServices")
	k.Put("meshservices", ms("s"))
	r.pass().problems()
	r.set(func(s *fakekuma.Settings) { s.CIDR, s.Version = "240.0.0.0/4", "2.14.1" })
	r.pass().problems(base + ": two give addresses: this control plane gives its own (dnsServer.CIDR 240.0.0.0/4)...KUMA_DNS_SERVER_SERVICE_VIP_ENABLED=false")
}

func TestWhatOlderControlPlanesSayOfThemselvesIsRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		config string
		want   controlPlane
	}{
		{`{"mode":"zone","multizone":{"zone":{"name":"east"}},"dnsServer":{"CIDR":"240.0.0.0/4","serviceVipEnabled":true}}`, controlPlane{mode: "zone", zone: "east", allocates: true, cidr: "240.0.0.0/4"}},
		{`{"mode":"zone","dnsServer":{"CIDR":"240.0.0.0/4","serviceVipEnabled":false}}`, controlPlane{mode: "zone", cidr: "240.0.0.0/4"}},
		{`{"mode":"standalone","dnsServer":{"CIDR":"240.0.0.0/4","domain":"mesh","port":5653}}`, controlPlane{mode: "standalone", allocates: true, cidr: "240.0.0.0/4"}},
		{`{"mode":"remote","multizone":{"remote":{"zone":"east"}}}`, controlPlane{mode: "remote", zone: "east"}},
		{`{"mode":{"mode":"global","global":{"zones":[]}}}`, controlPlane{mode: "global"}},
		{`{"mode":{"mode":"remote","remote":{"zone":"east"}}}`, controlPlane{mode: "remote", zone: "east"}},
		{`{"mode":"zone","dnsServer":"none","multizone":7}`, controlPlane{mode: "zone"}},
	} {
		var got controlPlane
		if err := got.config([]byte(c.config)); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v", c.config, got, err)
		}
	}
	for _, bad := range []string{``, `{`, `[]`, `{}`, `{"mode":""}`, `{"mode":7}`, `{"mode":{}}`} {
		if err := new(controlPlane).config([]byte(bad)); err == nil {
			t.Errorf("%s is read as a configuration", bad)
		}
	}
	for _, bad := range []string{``, `{`, `[]`, `{}`, `{"version":7}`} {
		if err := new(controlPlane).index([]byte(bad)); err == nil {
			t.Errorf("%s is read as an index", bad)
		}
	}
}
