package kuma_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
)

// decode reads a stream in which everything has to be valid.
func decode(t *testing.T, text string) []kuma.Resource {
	t.Helper()
	rs := decodeFaulty(t, text)
	for _, r := range rs {
		if len(r.Faults) > 0 {
			t.Fatalf("decoding %q: %v", text, r.Faults)
		}
	}
	return rs
}

// decodeFaulty reads a stream of resources that may have faults.
func decodeFaulty(t *testing.T, text string) []kuma.Resource {
	t.Helper()
	rs, invalid := decodeBoth(t, text)
	if len(invalid) > 0 {
		t.Fatalf("decoding %q: %v", text, invalid)
	}
	return rs
}

// decodeBoth reads a stream of which some documents are set aside.
func decodeBoth(t *testing.T, text string) ([]kuma.Resource, []kuma.Invalid) {
	t.Helper()
	rs, invalid, err := kuma.Decode([]byte(text))
	if err != nil {
		t.Fatalf("decoding %q: %v", text, err)
	}
	return rs, invalid
}

// byValue compares addresses, whose fields are private.
var byValue = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

func TestBothFormsGiveTheSameResources(t *testing.T) {
	t.Parallel()
	universal := `type: Mesh
name: payments
---
type: Dataplane
mesh: payments
name: web-1.shop
networking:
  address: 10.0.0.1
  inbound:
  - port: 8080
    tags: {kuma.io/service: web, meshvip.io/vip: 240.0.0.9}
  - port: 8081
    state: Ignored
    tags: {kuma.io/service: old}
---
type: ExternalService
mesh: payments
name: bank
tags: {kuma.io/service: bank, meshvip.io/vip: fd00::9}
networking: {address: "bank.example.org:443", disableHostDNSEntry: true}
---
type: ZoneIngress
name: east
zone: east
availableServices:
- {mesh: payments, tags: {kuma.io/service: ledger}, instances: 2}
`
	kubernetes := `apiVersion: v1
kind: List
metadata: {resourceVersion: ""}
items:
- apiVersion: kuma.io/v1alpha1
  kind: Mesh
  metadata: {name: payments}
- apiVersion: kuma.io/v1alpha1
  kind: Dataplane
  mesh: payments
  metadata: {name: web-1, namespace: shop}
  spec:
    networking:
      address: 10.0.0.1
      inbound:
      - port: 8080
        tags: {kuma.io/service: web, meshvip.io/vip: 240.0.0.9}
      - port: 8081
        state: Ignored
        tags: {kuma.io/service: old}
- apiVersion: kuma.io/v1alpha1
  kind: ExternalService
  metadata: {name: bank, labels: {kuma.io/mesh: payments}}
  spec:
    tags: {kuma.io/service: bank, meshvip.io/vip: fd00::9}
    networking: {address: "bank.example.org:443", disableHostDNSEntry: true}
- apiVersion: kuma.io/v1alpha1
  kind: ZoneIngress
  metadata: {name: east}
  spec:
    zone: east
    availableServices:
    - {mesh: payments, tags: {kuma.io/service: ledger}, instances: 2}
`
	a, b := decode(t, universal), decode(t, kubernetes)
	for i := range a {
		a[i].Line = 0
	}
	for i := range b {
		b[i].Line = 0
	}
	if len(a) != 4 {
		t.Errorf("%d resources, want 4", len(a))
	}
	if d := cmp.Diff(a, b, byValue); d != "" {
		t.Errorf("universal and Kubernetes form differ:\n%s", d)
	}
}

func TestDocumentsAreFoundWithTheirLines(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text string
		want string
	}{
		"comments with dashes": {"# a\n# --- b\n---\nname: a # --- c\n# --- d\ntype: Mesh\n---\n\ntype: Mesh\nname: b\n", "a:4 b:9"},
		"CRLF":                 {"type: Mesh\r\nname: a\r\n---\r\ntype: Mesh\r\nname: b\r\n", "a:1 b:4"},
		"BOM":                  {"\xef\xbb\xbftype: Mesh\nname: a\n", "a:1"},
		"block scalar":         {"type: Mesh\nname: a\nnote: |\n  x\n  ---\n  y\n---\ntype: Mesh\nname: b\n", "a:1 b:8"},
		"content after marker": {"--- {type: Mesh, name: a}\n--- # c\ntype: Mesh\nname: b\n", "a:1 b:3"},
		"end markers":          {"type: Mesh\nname: a\n...\n# c\n...\ntype: Mesh\nname: b\n...\n", "a:1 b:6"},
		"directive":            {"%YAML 1.1\n---\ntype: Mesh\nname: a\n", "a:3"},
		"empty documents":      {"---\n---\n\n--- # x\n---\ntype: Mesh\nname: a\n---\n", "a:6"},
		"comments only":        {"# nothing\n\n# here\n", ""},
		"JSON stream":          {"{\"type\":\"Mesh\",\"name\":\"a\"}\n\n{\"type\": \"Mesh\",\n\"name\":\"b\"}", "a:1 b:3"},
		"JSON escapes":         {`{"type":"Mesh","name":"a","note":"\ud83d\ude00\/"}`, "a:1"},
		"JSON list":            {"[{\"type\":\"Mesh\",\"name\":\"a\"},\n{\"type\":\"Mesh\",\"name\":\"b\"}]", "a:1 b:1"},
		"flow YAML":            {"{type: Mesh, name: a} # c", "a:1"},
		"an API's answer":      {`{"total":1,"items":[{"type":"Mesh","name":"a"}],"next":null}`, "a:1"},
		"unknown types":        {"type: Secret\nname: s\ndata: {a: [1]}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: x}\n---\ntype: Mesh\nname: a\nwhatever: {x: 1}\n", "a:9"},
		"anchors and merges":   {"type: Mesh\nname: a\nx: &x {k: 1, l: 2}\ny: {<<: *x, k: 3}\n", "a:1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, r := range decode(t, tc.text) {
				got = append(got, fmt.Sprintf("%s:%d", r.Name, r.Line))
			}
			if s := strings.Join(got, " "); s != tc.want {
				t.Errorf("got %q, want %q", s, tc.want)
			}
		})
	}
}

// bomb is a document whose aliases stand for 9^levels nodes.
func bomb(levels int) string {
	var b strings.Builder
	b.WriteString("type: Mesh\nname: a\nx0: &x0 [1]\n")
	for i := 1; i <= levels; i++ {
		fmt.Fprintf(&b, "x%d: &x%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*x%d,", i-1), 9), ","))
	}
	return b.String()
}

func TestUnreadableStreamsNameTheLineAndGiveNothing(t *testing.T) {
	t.Parallel()
	good := "type: Mesh\nname: a\n---\n"
	for name, tc := range map[string]struct{ text, want string }{
		"cut in a key":       {good + "type: Dataplane\nmesh: default\nname: x\nnetwor", "line 7"},
		"cut in a mapping":   {good + "type: Dataplane\nname: x\nnetworking: {address: 1", "line "},
		"cut JSON":           {"{\"type\": \"Mesh\",\n\"name\": ", "line "},
		"a word":             {good + "typ", "line 4: not a mapping"},
		"after a flow":       {"{type: Mesh, name: a} b", "line 1"},
		"two braces":         {`{"type": "Mesh", "name": "a"}}`, "line "},
		"two JSON in one":    {"{type: Mesh, name: a}, {type: Mesh, name: b}", "line 1: text after the end"},
		"duplicate key":      {good + "type: Mesh\nname: b\nname: c\n", `line 6 or near it: yaml: unmarshal errors: key "name" already set`},
		"duplicate JSON key": {`{"type":"Mesh","name":"a","name":"b"}`, "already set in map"},
		"NUL":                {"type: Mesh\nname: a\x00\n", "line 2: a NUL byte"},
		"binary":             {"\x7fELF\x02\x01\x01\x00", "NUL byte"},
		"Latin-1":            {"type: Mesh\nname: caf\xe9\n", "line 2: byte 0xe9 is not UTF-8"},
		"UTF-16":             {"\xff\xfet\x00", "line 1"},
		"control character":  {"type: Mesh\nname: \x01\n", "line "},
		"alias bomb":         {bomb(9), "excessive aliasing"},
		"alias in itself":    {"type: Mesh\nname: a\nx: &x [*x]\n", "contains itself"},
		"unknown alias":      {"type: Mesh\nname: *a\n", "unknown anchor"},
		"deep flow":          {"x: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "nested more than"},
		"deep JSON":          {`{"x":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "}", "nested more than"},
		"deeper":             {strings.Repeat("[", 1<<20), "depth"},
		"not a number":       {"type: Mesh\nname: a\nx: .nan\n", "line 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rs, invalid, err := kuma.Decode([]byte(tc.text))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			} else if len(err.Error()) > 500 || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error is long or has many lines: %q", err)
			}
			if len(rs) > 0 || len(invalid) > 0 {
				t.Errorf("got %v and %v beside the error", rs, invalid)
			}
		})
	}
}

func TestInvalidDocumentsAreSetAsideAndNamed(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 1100)
	for name, tc := range map[string]struct {
		doc  string
		id   kuma.ID
		want string
	}{
		"no name":           {"type: Dataplane\nmesh: m\nnetworking: {}", kuma.ID{Type: "Dataplane", Mesh: "m"}, "has no name: add one"},
		"name is a number":  {"type: Dataplane\nname: 1\nnetworking: {}", kuma.ID{Type: "Dataplane", Mesh: "default"}, "name: the number 1 where text is expected: put it in quotes"},
		"name is a bool":    {"type: Mesh\nname: yes", kuma.ID{Type: "Mesh"}, "name: the truth value true"},
		"name is huge":      {"type: Mesh\nname: 99999999999999999999999", kuma.ID{Type: "Mesh"}, "name: the number 1e+23"},
		"name is long":      {"type: Dataplane\nname: " + long, kuma.ID{Type: "Dataplane", Mesh: "default"}, "longer than 512 bytes"},
		"mesh is a number":  {"type: Dataplane\nmesh: 1\nname: x\nnetworking: {}", kuma.ID{Type: "Dataplane", Name: "x"}, "mesh: the number 1"},
		"mesh is a path":    {"type: Dataplane\nmesh: ../x\nname: x\nnetworking: {}", kuma.ID{Type: "Dataplane", Name: "x"}, `"../x" is no mesh name`},
		"mesh is dots":      {"type: Mesh\nname: ..", kuma.ID{Type: "Mesh"}, `".." is no mesh name`},
		"mesh is long":      {"type: Mesh\nname: " + long[:254], kuma.ID{Type: "Mesh"}, "is no mesh name"},
		"type is a list":    {"type: [Mesh]\nname: x", kuma.ID{}, "type: a list where text is expected"},
		"no type":           {"name: x\nmesh: y", kuma.ID{}, "neither a type nor a kind"},
		"no kind":           {"apiVersion: kuma.io/v1alpha1\nmetadata: {name: x}", kuma.ID{}, "no kind"},
		"no apiVersion":     {"kind: Dataplane\nmetadata: {name: x}", kuma.ID{Type: "Dataplane"}, "no apiVersion"},
		"no spec":           {"apiVersion: kuma.io/v1alpha1\nkind: Dataplane\nmetadata: {name: x}", kuma.ID{Type: "Dataplane", Mesh: "default", Name: "x"}, "spec is missing"},
		"no networking":     {"type: Dataplane\nname: x", kuma.ID{Type: "Dataplane", Mesh: "default", Name: "x"}, "networking is missing"},
		"half networking":   {"type: Dataplane\nname: x\nnetworking:", kuma.ID{Type: "Dataplane", Mesh: "default", Name: "x"}, "networking is missing"},
		"inbound mapping":   {"type: Dataplane\nname: x\nnetworking: {inbound: {port: 1}}", kuma.ID{Type: "Dataplane", Mesh: "default", Name: "x"}, "networking.inbound: a mapping where a list"},
		"inbound text":      {"type: Dataplane\nname: x\nnetworking: {inbound: [a]}", kuma.ID{Type: "Dataplane", Mesh: "default", Name: "x"}, `networking.inbound[0]: the text "a" where a mapping`},
		"huge port":         {"type: Dataplane\nname: x\nnetworking: {inbound: [{port: 99999999999999999999}]}", kuma.ID{Type: "Dataplane", Mesh: "default", Name: "x"}, "networking.inbound[0].port: 1e+20 is no port"},
		"tag is a number":   {"type: Dataplane\nname: x\nnetworking: {inbound: [{tags: {kuma.io/service: 1}}]}", kuma.ID{Type: "Dataplane", Mesh: "default", Name: "x"}, "networking.inbound[0].tags.kuma.io/service: the number 1"},
		"ingress item mesh": {"type: ZoneIngress\nname: x\navailableServices: [{mesh: a/b}]", kuma.ID{Type: "ZoneIngress", Name: "x"}, "availableServices[0].mesh"},
		"external no tag":   {"type: ExternalService\nname: x\nnetworking: {address: 'a:1'}", kuma.ID{Type: "ExternalService", Mesh: "default", Name: "x"}, "tags has no kuma.io/service"},
		"external no port":  {"type: ExternalService\nname: x\ntags: {kuma.io/service: s}\nnetworking: {address: a}", kuma.ID{Type: "ExternalService", Mesh: "default", Name: "x"}, "HOST:PORT"},
		"external no host":  {"type: ExternalService\nname: x\ntags: {kuma.io/service: s}\nnetworking: {address: ':1'}", kuma.ID{Type: "ExternalService", Mesh: "default", Name: "x"}, "HOST:PORT"},
		"external port 0":   {"type: ExternalService\nname: x\ntags: {kuma.io/service: s}\nnetworking: {address: 'a:0'}", kuma.ID{Type: "ExternalService", Mesh: "default", Name: "x"}, "from 1 to 65535"},
		"external flag":     {"type: ExternalService\nname: x\ntags: {kuma.io/service: s}\nnetworking: {address: 'a:1', disableHostDNSEntry: 'no'}", kuma.ID{Type: "ExternalService", Mesh: "default", Name: "x"}, "where true or false"},
		"list in a list":    {"[[[[[{type: Mesh, name: x}]]]]]", kuma.ID{}, "lists more than 4 deep"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rs, invalid, err := kuma.Decode([]byte("type: Mesh\nname: before\n---\n" + tc.doc + "\n---\ntype: Mesh\nname: after\n"))
			if err != nil || len(rs) != 2 {
				t.Fatalf("got %v and %v; the siblings have to count", rs, err)
			}
			if len(invalid) != 1 || invalid[0].ID != tc.id || invalid[0].Line != 4 || !strings.Contains(invalid[0].Err.Error(), tc.want) {
				t.Errorf("set aside %+v, want %+v in line 4 with %q", invalid, tc.id, tc.want)
			}
		})
	}
}

// samplesVar names the environment variable with a folder of real Kuma files.
const samplesVar = "MESHVIP_KUMA_SAMPLES"

// liveSamples returns what reads a listing of a running control plane, or skips
// the test where there are none.
func liveSamples(t *testing.T) (read func(file string) string) {
	t.Helper()
	dir := os.Getenv(samplesVar)
	if dir == "" {
		t.Skipf("%s is not set: it names a folder with api/live/*.json from a control plane of Kuma", samplesVar)
	}
	return func(file string) string {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(dir, "api", "live", file))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
}

func TestKumasOwnFilesAreRead(t *testing.T) {
	t.Parallel()
	dir := os.Getenv(samplesVar)
	if dir == "" {
		t.Skipf("%s is not set: it names a folder with resources/*.yaml and api/*.json from Kuma's test data", samplesVar)
	}
	files, err := filepath.Glob(filepath.Join(dir, "resources", "*.yaml"))
	for _, pattern := range []string{"api/*.json", "api/live/*.json"} {
		more, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, more...)
	}
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	types := map[string]int{}
	services := map[string]bool{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		rs, invalid, err := kuma.Decode(data)
		if err != nil || len(invalid) > 0 {
			t.Errorf("%s: %v, %v", file, invalid, err)
		}
		for _, r := range rs {
			types[r.Type]++
			claims, err := r.Claims("default")
			if err != nil {
				t.Errorf("%s:%d: %v", file, r.Line, err)
			}
			for _, c := range claims {
				services[c.Mesh+" "+c.Entry.String()] = true
			}
		}
	}
	for _, want := range []string{
		"default 0:mobile", "default 0:metrics", "default 0:web", "default 0:frontend", "default 0:service-in-zone-2",
		"default 1:host.com", "default 1:example.com", "mesh-1 0:foo", "mesh-1 1:httpbin.io", "mesh-3 0:svc-2", "mesh-5 0:svc-4",
		"default 1:httpbin.example.org", "payments 0:bank", "payments 0:quiet", "default 0:catalog", "orders 0:shipping",
	} {
		if !services[want] {
			t.Errorf("nothing gives %s", want)
		}
	}
	for _, none := range []string{"payments 1:192.0.2.10", "payments 1:quiet.example.org", "default 0:postgres"} {
		if services[none] {
			t.Errorf("something gives %s", none)
		}
	}
	for _, typ := range []string{
		kuma.TypeMesh, kuma.TypeDataplane, kuma.TypeZoneIngress, kuma.TypeExternalService,
		kuma.TypeMeshService, kuma.TypeMeshExternalService, // the listing of the third kind is empty
	} {
		if types[typ] == 0 {
			t.Errorf("no %s was read", typ)
		}
	}
}
