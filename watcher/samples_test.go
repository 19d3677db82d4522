package watcher_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/meshvip/coredns-meshvip/watcher"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
)

// samplesVar names the environment variable with a folder of real Kuma files.
const samplesVar = "MESHVIP_KUMA_SAMPLES"

// live returns what a running control plane listed, each listing with some of its
// text replaced.
func live(t *testing.T, replace ...string) map[string][]watcher.Resource {
	t.Helper()
	dir := os.Getenv(samplesVar)
	if dir == "" {
		t.Skipf("%s is not set: it names a folder with api/live/*.json from a control plane of Kuma", samplesVar)
	}
	listings := map[string][]watcher.Resource{}
	for _, name := range []string{
		"meshes", "dataplanes", "external-services", "zone-ingresses", "virtual-outbounds",
		"meshservices", "meshexternalservices", "meshmultizoneservices", "hostnamegenerators",
	} {
		data, err := os.ReadFile(filepath.Join(dir, "api", "live", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		rs, invalid, err := kuma.Decode([]byte(strings.NewReplacer(replace...).Replace(string(data))))
		if err != nil || len(invalid) > 0 {
			t.Fatalf("%s: %v, %v", name, invalid, err)
		}
		for _, r := range rs {
			read, problems, err := watcher.Read(r, name, home)
			if err != nil || len(problems) > 0 {
				t.Errorf("%s: %v, %v", name, problems, err)
			}
			listings[name] = append(listings[name], read)
		}
	}
	return listings
}

func TestARunningKumasResourcesGiveWhatItGave(t *testing.T) {
	t.Parallel()
	want := `default: +0:backend +0:catalog +0:demo-admin_kuma-demo_svc_5001 +0:demo-app_kuma-demo_svc_5000 +0:httpbin/80>httpbin +0:httpbin-tls/443>httpbin-tls ` +
		`+1:httpbin.example.org/80>httpbin/443>httpbin-tls ` +
		`+3:default/backend/8080><241.0.0.1~backend.svc.mesh.local +3:default/web/80><241.0.0.0~web.svc.mesh.local +4:default/mes/443><242.0.0.0~mes.extsvc.mesh.local; ` +
		`orders: +0:orders +0:shipping +3:orders/orders/7000><241.0.0.3~orders.svc.mesh.local +3:orders/orders-admin/7001><241.0.0.2~orders-admin.svc.mesh.local; ` +
		`payments: +0:backend +0:bank/9443>bank +0:pay-api +0:quiet/80>quiet +3:payments/backend/8080><241.0.0.4~backend.svc.mesh.local +3:payments/pay-api/9000><241.0.0.5~pay-api.svc.mesh.local`

	t.Run("as it listed them", func(t *testing.T) {
		t.Parallel()
		d := watcher.NewDesired()
		for place, rs := range live(t) {
			d.Put(place, rs)
		}
		wantChanges(t, d, want)
		// None of its Dataplanes has a tag port, which its policy uses.
		wantProblems(t, d, `virtual-outbounds VirtualOutbound "vo-1" of mesh "default" gives no name to the service "backend" (version=v1), and to 6 more: conf.port: "<no value>" is no port`)
	})
	t.Run("as files, without what it decided", func(t *testing.T) {
		t.Parallel()
		d := watcher.NewDesired()
		for place, rs := range live(t, `"status": {`, `"was": {`) {
			d.Put(place, rs)
		}
		wantChanges(t, d, regexp.MustCompile(`<[0-9.]+~`).ReplaceAllString(want, "~"))
		wantProblems(t, d, "vo-1")
	})
	t.Run("with a policy that its Dataplanes have the tags for", func(t *testing.T) {
		t.Parallel()
		d := watcher.NewDesired()
		for place, rs := range live(t, "{{.port}}", "80", "{{.version}}", "{{with .version}}{{.}}{{else}}all{{end}}") {
			d.Put(place, rs)
		}
		wantChanges(t, d, strings.Replace(want, "+3:default/backend", "+2:backend.v1.mesh/80>backend +2:backend.v2.mesh/80>backend +2:catalog.all.mesh/80>catalog "+
			"+2:demo-admin_kuma-demo_svc_5001.all.mesh/80>demo-admin_kuma-demo_svc_5001 +2:demo-app_kuma-demo_svc_5000.all.mesh/80>demo-app_kuma-demo_svc_5000 "+
			"+2:httpbin-tls.all.mesh/80>httpbin-tls +2:httpbin.all.mesh/80>httpbin +3:default/backend", 1))
		wantProblems(t, d)
	})
}
