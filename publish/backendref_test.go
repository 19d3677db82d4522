package publish

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/meshvip/coredns-meshvip/vip"
	"sigs.k8s.io/yaml"
)

// destination returns a row of Kuma's newer model in mesh "default".
func destination(kind vip.Kind, name, v4, v6 string, given []string, ports ...uint16) *vip.Row {
	var outbounds []vip.Outbound
	for _, p := range ports {
		outbounds = append(outbounds, vip.Outbound{Port: p, Origin: "mesh-service:" + name})
	}
	r := row(kind, "default", name, v4, v6, outbounds...)
	r.Entry.Mesh = "default"
	if len(given) > 0 {
		terms := &vip.Terms{}
		for _, g := range given {
			terms.Given = append(terms.Given, netip.MustParseAddr(g))
		}
		r.Listings[0].Terms = terms
	}
	return r
}

// modern is a table of both of Kuma's models, sorted by key.
func modern() []*vip.Row {
	return append(small(),
		destination(vip.MeshService, "Orders", "240.0.0.20", "fd00::20", nil, 80, 8080),
		destination(vip.MeshService, "stock", "", "", []string{"10.0.0.9", "241.0.0.1", "fd00:241::1"}, 443),
		destination(vip.MeshService, "waits", "", "", nil, 80),
		destination(vip.MeshExternalService, "true", "", "", []string{"242.0.0.1"}, 0, 9000),
		destination(vip.MeshMultiZoneService, "orders", "", "", []string{"243.0.0.1"}, 80),
	)
}

const modernOutbounds = `- address: 240.0.0.20
  port: 80
  backendRef:
    kind: MeshService
    name: Orders
    port: 80
- address: 240.0.0.20
  port: 8080
  backendRef:
    kind: MeshService
    name: Orders
    port: 8080
- address: "fd00::20"
  port: 80
  backendRef:
    kind: MeshService
    name: Orders
    port: 80
- address: "fd00::20"
  port: 8080
  backendRef:
    kind: MeshService
    name: Orders
    port: 8080
- address: 10.0.0.9
  port: 443
  backendRef:
    kind: MeshService
    name: stock
    port: 443
- address: 241.0.0.1
  port: 443
  backendRef:
    kind: MeshService
    name: stock
    port: 443
- address: "fd00:241::1"
  port: 443
  backendRef:
    kind: MeshService
    name: stock
    port: 443
- address: 242.0.0.1
  port: 9000
  backendRef:
    kind: MeshExternalService
    name: "true"
    port: 9000
- address: 243.0.0.1
  port: 80
  backendRef:
    kind: MeshMultiZoneService
    name: orders
    port: 80
`

func TestOptionsSayWhichOutboundsAreWritten(t *testing.T) {
	t.Parallel()
	head, _, _ := strings.Cut(smallOutbounds, "- address")
	for name, tc := range map[string]struct {
		options []Options
		want    string
	}{
		"none":       {nil, smallOutbounds},
		"zero":       {[]Options{{}}, smallOutbounds},
		"tags":       {[]Options{{Tags: true}}, smallOutbounds},
		"backendRef": {[]Options{{BackendRefs: true}}, head + modernOutbounds},
		"both":       {[]Options{{Tags: true, BackendRefs: true}}, smallOutbounds + modernOutbounds},
	} {
		got, err := EncodeOutbounds("default", modern(), tc.options...)
		if diff := cmp.Diff(tc.want, string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", name, err, diff)
		}
		path := t.TempDir()
		d, err := Open(path, tc.options...)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Write("default", modern()); err != nil {
			t.Fatal(err)
		}
		if got := files(t, path); got["default.outbounds.yaml"] != tc.want || got["default.json"] != smallTable {
			t.Errorf("%s: files %q", name, got)
		}
	}
}

func TestNoBackendRefsAreAnEmptyList(t *testing.T) {
	t.Parallel()
	waits := destination(vip.MeshService, "waits", "", "", nil, 80)
	portless := destination(vip.MeshExternalService, "portless", "240.0.0.1", "", nil, 0)
	got, err := EncodeOutbounds("default", append(small(), waits, portless), Options{BackendRefs: true})
	if err != nil || !strings.HasSuffix(string(got), "is lost.\n[]\n") {
		t.Errorf("%v, in\n%s", err, got)
	}
}

func TestBackendRefsComeBackFromYAML(t *testing.T) {
	t.Parallel()
	type element struct {
		Address    string            `json:"address"`
		Port       uint16            `json:"port"`
		Tags       map[string]string `json:"tags"`
		BackendRef *struct {
			Kind string `json:"kind"`
			Name string `json:"name"`
			Port uint16 `json:"port"`
		} `json:"backendRef"`
	}
	for _, name := range []string{"orders", "true", "1e3", "a: b", "x\n- y", "\u2028", `"`, strings.Repeat("a", 1000)} {
		data, err := EncodeOutbounds("default", []*vip.Row{destination(vip.MeshService, name, "240.0.0.1", "", nil, 81)}, Options{BackendRefs: true})
		if err != nil {
			t.Fatal(err)
		}
		var got []element
		if err := yaml.UnmarshalStrict(data, &got); err != nil || len(got) != 1 || got[0].Tags != nil || got[0].BackendRef == nil {
			t.Fatalf("%q: %v, %v, from\n%s", name, got, err, data)
		}
		if ref := *got[0].BackendRef; got[0].Address != "240.0.0.1" || got[0].Port != 81 || ref.Kind != "MeshService" || ref.Name != name || ref.Port != 81 {
			t.Errorf("%q came back as %+v", name, ref)
		}
	}
}

func TestAPortIsListenedOnOnce(t *testing.T) {
	t.Parallel()
	rows := []*vip.Row{
		row(vip.Service, "default", "api", "241.0.0.1", "", serviceOutbound("api", 0)),
		destination(vip.MeshService, "a", "", "", []string{"241.0.0.1"}, 80, 81, 82),
		destination(vip.MeshService, "b", "", "", []string{"241.0.0.1", "241.0.0.2"}, 80, 81),
		destination(vip.MeshService, "c\xff", "", "", []string{"241.0.0.3"}, 80),
	}
	path := t.TempDir()
	d, err := Open(path, Options{Tags: true, BackendRefs: true})
	if err != nil {
		t.Fatal(err)
	}
	err = d.Write("default", rows)
	var aside SetAside
	if !errors.As(err, &aside) || len(aside) != 3 {
		t.Fatalf("error %v", err)
	}
	for i, want := range []string{
		`entry "3:default/a": a proxy cannot listen twice on 241.0.0.1:80 (that of "0:api"); give`,
		`entry "3:default/b": a proxy cannot listen twice on 241.0.0.1:80 (that of "0:api"), 241.0.0.1:81 (that of "3:default/a"); give`,
		`entry "3:default/c\xff": its name is not UTF-8`,
	} {
		if !strings.HasPrefix(aside[i].Error(), want) {
			t.Errorf("error %v, want %s", aside[i], want)
		}
	}
	text := files(t, path)["default.outbounds.yaml"]
	for at, want := range map[string]int{"241.0.0.1\n  port: 80\n": 1, "241.0.0.1\n  port: 81\n": 1, "241.0.0.1\n  port: 82\n": 1, "241.0.0.2\n  port: 8": 2} {
		if got := strings.Count(text, at); got != want {
			t.Errorf("%q stands %d times, want %d, in\n%s", at, got, want, text)
		}
	}
}

func TestWhatBothFilesLackIsToldOnce(t *testing.T) {
	t.Parallel()
	bad := row(vip.Service, "default", "\xff", "240.0.0.2", "", serviceOutbound("x", 0))
	for name, options := range map[string]Options{"tags": {Tags: true}, "backendRef": {BackendRefs: true}, "both": {Tags: true, BackendRefs: true}} {
		d, err := Open(t.TempDir(), options)
		if err != nil {
			t.Fatal(err)
		}
		var aside SetAside
		if err := d.Write("default", []*vip.Row{bad}); !errors.As(err, &aside) || len(aside) != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
