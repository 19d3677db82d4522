package kumaapi

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher"
	"github.com/meshvip/coredns-meshvip/watcher/kumaapi/fakekuma"
)

// batch is what a union of one source hands over after two passes.
func batch(t *testing.T, k *fakekuma.Server, opts Options) vip.Batch {
	t.Helper()
	opts.transport = k.Transport()
	s, err := New(base, opts)
	if err != nil {
		t.Fatal(err)
	}
	u := watcher.NewUnion("kuma")
	f := newFollower(s, u.Feed(0))
	for range 2 {
		if !f.pass(t.Context()) {
			t.Fatal("the pass was given up")
		}
		f.tell()
	}
	for _, p := range s.Status().Problems {
		if !strings.Contains(p.What, "two give addresses") {
			t.Errorf("problem %v", p)
		}
	}
	b, ok := u.Next(time.Now())
	if !ok || b.Incomplete != "" {
		t.Fatalf("no whole batch: %+v", b)
	}
	return b
}

// show prints the entries of a batch.
func show(b vip.Batch) string {
	var all []string
	for _, m := range b.Meshes {
		for _, r := range m.Set {
			e := m.Mesh + "/" + r.Entry.String()
			if r.Terms != nil {
				e += fmt.Sprint(r.Terms.Hostnames)
			}
			all = append(all, e)
		}
	}
	return strings.Join(all, " ")
}

func TestPoliciesThatTheAPIListsCount(t *testing.T) {
	t.Parallel()
	k := fakekuma.New()
	k.Put("meshes", `{"type":"Mesh","name":"m"}`)
	k.Put("dataplanes", dp("m", "a", "web"))
	k.Put("virtual-outbounds", `{"type":"VirtualOutbound","mesh":"m","name":"vo","selectors":[{"match":{"kuma.io/service":"*"}}],`+
		`"conf":{"host":"{{.service}}.virtual","port":"80","parameters":[{"name":"service","tagKey":"kuma.io/service"}]}}`)
	k.Put("meshgateways", `{"type":"MeshGateway","mesh":"m","name":"gw","selectors":[{"match":{"kuma.io/service":"edge"}}],`+
		`"conf":{"listeners":[{"port":80,"protocol":"HTTP","crossMesh":true}]}}`)
	k.Put("meshmultizoneservices", `{"type":"MeshMultiZoneService","mesh":"m","name":"s","spec":{}}`)
	k.Put("hostnamegenerators", `{"type":"HostnameGenerator","name":"hg","spec":{"selector":{"meshMultiZoneService":{"matchLabels":{"kuma.io/mesh":"m"}}},"template":"{{ .Name }}.{{ .Zone }}.mzsvc"}}`)
	k.Set(func(s *fakekuma.Settings) { s.Zone = "east" })
	want := "default/2:internal.gw.m.corp m/0:web m/2:internal.gw.m.corp m/2:web.virtual m/5:m/s[s.east.mzsvc]"
	if got := show(batch(t, k, Options{Zone: "east", Domain: "corp."})); got != want {
		t.Errorf("entries %s, want %s", got, want)
	}
}

func TestTheIngressOfOurOwnZoneGivesNothing(t *testing.T) {
	t.Parallel()
	k := twoMeshes()
	k.Set(func(s *fakekuma.Settings) { s.Zone = "east" })
	newRig(t, k, Options{Zone: "east"}).pass().want(without("m/0:far")).problems()
}
