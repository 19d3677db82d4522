package file

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// naming is a VirtualOutbound of the default mesh for every service.
func naming(host string) string {
	return "type: VirtualOutbound\nname: vo\nselectors: [{match: {kuma.io/service: '*'}}]\nconf: {host: '" + host + "', port: '80', parameters: [{name: service, tagKey: kuma.io/service}]}\n"
}

func TestPoliciesAreFollowedLikeOtherResources(t *testing.T) {
	t.Parallel()
	r := started(t, map[string]string{"/d/a.yaml": dp("a", "x"), "/d/b.yaml": dp("b", "y"), "/d/vo.yaml": naming("{{.service}}.mesh")})
	if got, want := r.table.String(), "0:x 0:y 2:x.mesh 2:y.mesh"; got != want {
		t.Errorf("table %q, want %q", got, want)
	}
	r.write("/d/vo.yaml", naming("{{.service}}.all.mesh")).want("delta", "0:x 0:y 2:x.all.mesh 2:y.all.mesh")
	r.remove("/d/b.yaml").after(2*time.Second).want("delta", "0:x 2:x.all.mesh")

	// A policy that is broken keeps what it gave, and so does its file.
	r.write("/d/vo.yaml", naming("{{.service")).want("", "0:x 2:x.all.mesh")
	r.problems(`/d/vo.yaml:1: VirtualOutbound "vo" of mesh "default": conf.host: template: template:1: unclosed action: correct the template (its last good version stays)`)
	r.write("/d/vo.yaml", "type: VirtualOutbound\nname").want("", "0:x 2:x.all.mesh")
	r.write("/d/vo.yaml", naming("{{.service}}_{{.version}}.mesh")).want("delta", "0:x")
	r.problems(`/d/vo.yaml:1: VirtualOutbound "vo" of mesh "default" gives no name to the service "x": conf.host: "x_<no value>.mesh" is no DNS name`)
	r.remove("/d/vo.yaml").after(2*time.Second).want("", "0:x")
	r.problems()
}

func TestTheOrderOfAFileDoesNotMatter(t *testing.T) {
	t.Parallel()
	docs := []string{
		dp("a", "x"), dp("b", "y"), naming("one.mesh"), strings.Replace(naming("ONE.mesh"), "name: vo", "name: vp", 1),
		"type: ExternalService\nname: e\ntags: {kuma.io/service: e}\nnetworking: {address: 'h:1'}\n",
		"type: ExternalService\nname: f\ntags: {kuma.io/service: f}\nnetworking: {address: 'H:1'}\n",
		"type: MeshGateway\nname: gw\nselectors: [{match: {kuma.io/service: gw}}]\nconf: {listeners: [{crossMesh: true, port: 81, hostname: one.mesh}]}\n",
	}
	const want = "0:e 0:f 0:x 0:y 1:h 2:one.mesh"
	r := started(t, map[string]string{"/d/a.yaml": strings.Join(docs, "---\n")})
	for range 100 {
		docs = rapid.Permutation(docs).Example()
		r.write("/d/a.yaml", strings.Join(docs, "---\n")).want("", want)
	}
}

func TestGatewaysAreNamedBelowTheDomain(t *testing.T) {
	t.Parallel()
	const gateway = "type: MeshGateway\nname: gw\nselectors: [{match: {kuma.io/service: gw}}]\nconf: {listeners: [{crossMesh: true, port: 80}]}\n"
	for domain, want := range map[string]string{"": "internal.gw.default.mesh", "svc.example.org.": "internal.gw.default.svc.example.org"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "gw.yaml"), []byte(gateway), 0o600); err != nil {
			t.Fatal(err)
		}
		opts := byEvents
		opts.Domain = domain
		follow(t, dir, opts, nil).await("2:" + want)
	}
}
