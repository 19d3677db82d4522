package kuma_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
)

func TestDestinationsGiveWhatTheirStatusSays(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"a MeshService": {
			`{type: MeshService, mesh: m, name: backend, labels: {kuma.io/mesh: other},
				spec: {state: Available, ports: [{port: 8081}, {port: 8080, targetPort: 80}, {port: 8080, appProtocol: http}]},
				status: {addresses: [{hostname: z.svc.mesh.local}, {hostname: A.svc.mesh.local}], vips: [{ip: 241.0.0.2}, {ip: 'FD00::1'}, {ip: 10.0.0.1}]}}`,
			[]string{"m 3:m/backend 8080 mesh-service:backend 8081 mesh-service:backend <10.0.0.1 <241.0.0.2 <fd00::1 ~z.svc.mesh.local ~A.svc.mesh.local"},
		},
		"a MeshExternalService, with its one VIP": {
			`{type: MeshExternalService, name: mes, spec: {match: {type: HostnameGenerator, port: 443}, ports: [{port: 1}]},
				status: {vip: {ip: 242.0.0.2}, vips: [{ip: 242.0.0.1}, {ip: 242.0.0.2}], addresses: [{hostname: mes.extsvc.mesh.local}]}}`,
			[]string{"default 4:default/mes 443 mesh-external-service:mes <242.0.0.1 <242.0.0.2 ~mes.extsvc.mesh.local"},
		},
		"a MeshMultiZoneService": {
			`{type: MeshMultiZoneService, name: all, spec: {ports: [{port: 80}]}, status: {vip: {ip: 243.0.0.2}, vips: [{ip: 243.0.0.1}], addresses: [{hostname: all.mzsvc.mesh.local}]}}`,
			[]string{"default 5:default/all 80 mesh-multi-zone-service:all <243.0.0.1 ~all.mzsvc.mesh.local"},
		},
		"one that is not available": {
			"type: MeshService\nname: a\nspec: {state: Unavailable}\nstatus: {vips: [{ip: 241.0.0.1}], addresses: [{hostname: a.local}]}",
			[]string{"default 3:default/a <241.0.0.1 ~a.local"},
		},
		"no status":       {"type: MeshService\nname: a\nspec: {ports: [{port: 80}]}", []string{"default 3:default/a 80 mesh-service:a"}},
		"an empty status": {"type: MeshService\nname: a\nspec: {}\nstatus: {addresses: [], vips: null}", []string{"default 3:default/a"}},
		"nothing given yet": {
			"type: MeshExternalService\nname: a\nspec: {}\nstatus: {vip: {}, vips: [{}, {ip: ''}, {ip: }], addresses: [{hostname: a.local}]}",
			[]string{"default 4:default/a ~a.local"},
		},
		"repetitions, whatever the case": {
			`{type: MeshService, name: a, spec: {}, status: {addresses: [{hostname: B.local}, {hostname: a.local}, {hostname: b.LOCAL}, {hostname: a.local}, {hostname: a.local.}], vips: [{ip: 'fd00::a'}, {ip: 'fd00:0:0::A'}]}}`,
			[]string{"default 3:default/a <fd00::a ~B.local ~a.local"},
		},
		"the Kubernetes form, whose mesh is a label": {
			`{apiVersion: kuma.io/v1alpha1, kind: MeshService, mesh: ignored, metadata: {name: backend, namespace: shop, labels: {kuma.io/mesh: payments}},
				spec: {ports: [{port: 80}]}, status: {addresses: [{hostname: backend.shop.svc.cluster.local}], vips: [{ip: 10.96.0.7}]}}`,
			[]string{"payments 3:payments/backend.shop 80 mesh-service:backend.shop <10.96.0.7 ~backend.shop.svc.cluster.local"},
		},
		"the Kubernetes form, without a label or a namespace": {
			"apiVersion: kuma.io/v1alpha1\nkind: MeshMultiZoneService\nmesh: ignored\nmetadata: {name: all, labels: {}}\nspec: {}\nstatus: {addresses: [{hostname: a.local}]}",
			[]string{"default 5:default/all ~a.local"},
		},
		"a Kubernetes list": {
			"apiVersion: kuma.io/v1alpha1\nkind: MeshServiceList\nitems: [{apiVersion: kuma.io/v1alpha1, kind: MeshService, metadata: {name: a}, spec: {}}]",
			[]string{"default 3:default/a"},
		},
		"a VIP tag asks for nothing here": {
			"type: MeshService\nname: a\nlabels: {meshvip.io/vip: 240.0.0.9}\ntags: {meshvip.io/vip: 240.0.0.9}\nspec: {tags: {meshvip.io/vip: 240.0.0.9}}",
			[]string{"default 3:default/a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(tc.want, claimed(t, tc.text)); d != "" {
				t.Errorf("want -, got +:\n%s", d)
			}
		})
	}
}

func TestBadValuesOfAStatusTakeNothingElseAway(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 64)
	for value, want := range map[string]string{
		`addresses: [{hostname: a.local}, {hostname: "*.local"}]`:                           `status.addresses[1].hostname: "*.local" is no DNS name: write labels of letters, digits and hyphens`,
		`addresses: [{hostname: a.local}, {hostname: a..local}]`:                            `"a..local" is no DNS name`,
		`addresses: [{hostname: a.local}, {hostname: -a.local}]`:                            `"-a.local" is no DNS name`,
		`addresses: [{hostname: a.local}, {hostname: "a local"}]`:                           `"a local" is no DNS name`,
		`addresses: [{hostname: a.local}, {hostname: ä.local}]`:                             `"ä.local" is no DNS name`,
		`addresses: [{hostname: a.local}, {hostname: "<no value>.local"}]`:                  `"<no value>.local" is no DNS name`,
		`addresses: [{hostname: a.local}, {hostname: ` + long + `}]`:                        `aaaa" is no DNS name`,
		`addresses: [{hostname: a.local}, {hostname: ` + strings.Repeat("a.", 126) + `aa}]`: `a.a." is no DNS name`,
		`addresses: [{hostname: a.local}, {hostname: .}]`:                                   `"." is no DNS name`,
		`addresses: [{hostname: a.local}, {}]`:                                              `status.addresses[1].hostname: "" is no DNS name`,
		`addresses: [{hostname: a.local}, {hostname: 5}]`:                                   `status.addresses[1].hostname: the number 5 where text is expected`,
		`addresses: [{hostname: a.local}, {hostname: 192.0.2.1}]`:                           `"192.0.2.1" is an address: write a name`,
		`addresses: [{hostname: a.local}, {hostname: "2001:db8::1"}]`:                       `"2001:db8::1" is an address: write a name`,
		`addresses: [{hostname: a.local}], vips: [{ip: 241.0.0.300}, {ip: 241.0.0.1}]`:      `status.vips[0].ip: "241.0.0.300" is no IP address`,
		`addresses: [{hostname: a.local}], vips: [{ip: None}]`:                              `"None" is no IP address`,
		`addresses: [{hostname: a.local}], vips: [{ip: 5}]`:                                 `status.vips[0].ip: the number 5 where text is expected`,
		`addresses: [{hostname: a.local}], vips: [{ip: 'fe80::1%eth0'}]`:                    `has a zone`,
		`addresses: [{hostname: a.local}], vips: [{ip: '::ffff:241.0.0.1'}]`:                `write 241.0.0.1`,
		`addresses: [{hostname: a.local}], vips: [{ip: 0.0.0.0}]`:                           `the address of no single host`,
		`addresses: [{hostname: a.local}], vip: {ip: x}`:                                    `status.vip.ip: "x" is no IP address`,
	} {
		rs := decodeFaulty(t, "type: MeshExternalService\nname: x\nspec: {match: {port: 80}}\nstatus: {"+value+"}")
		if len(rs) != 1 || len(rs[0].Faults) != 1 || !strings.Contains(rs[0].Faults[0].Error(), want) || len(rs[0].Faults[0].Error()) > 250 {
			t.Errorf("%s: %+v, want one fault with %s", value, rs, want)
			continue
		}
		line := "default 4:default/x 80 mesh-external-service:x"
		if strings.Contains(value, "{ip: 241.0.0.1}") {
			line += " <241.0.0.1"
		}
		if d := cmp.Diff([]string{line + " ~a.local"}, claimedBy(t, rs)); d != "" {
			t.Errorf("%s: want -, got +:\n%s", value, d)
		}
	}
}

func TestBadPortsOfADestinationTakeNothingElseAway(t *testing.T) {
	t.Parallel()
	rs := decodeFaulty(t, "type: MeshService\nname: x\nspec: {ports: [{port: 0}, {}, {port: 65536}, {port: a}, {port: 80}]}\nstatus: {vips: [{ip: 241.0.0.1}]}")
	if len(rs[0].Faults) != 4 {
		t.Errorf("faults %v", rs[0].Faults)
	}
	for i, f := range rs[0].Faults {
		if text := f.Error(); !strings.HasPrefix(text, "spec.ports["+string(rune('0'+i))+"].port: ") || !strings.HasSuffix(text, ": write a number from 1 to 65535") {
			t.Errorf("fault %q", text)
		}
	}
	if d := cmp.Diff([]string{"default 3:default/x 80 mesh-service:x <241.0.0.1"}, claimedBy(t, rs)); d != "" {
		t.Errorf("want -, got +:\n%s", d)
	}
}

func TestADestinationThatCannotBeReadIsSetAside(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		"type: MeshService\nname: x":                                                                                "spec is missing: the document was cut short",
		"type: MeshService\nname: x\nspec:":                                                                         "spec is missing",
		"type: MeshService\nname: x\nspec: []":                                                                      "spec: a list where a mapping",
		"type: MeshService\nname: x\nspec: {ports: {port: 1}}":                                                      "spec.ports: a mapping where a list",
		"type: MeshService\nname: x\nspec: {}\nstatus: [x]":                                                         "status: a list where a mapping",
		"type: MeshService\nname: x\nspec: {}\nstatus: {vips: 241.0.0.1}":                                           `status.vips: the text "241.0.0.1" where a list`,
		"type: MeshService\nname: x\nspec: {}\nstatus: {vips: [241.0.0.1]}":                                         `status.vips[0]: the text "241.0.0.1" where a mapping`,
		"type: MeshService\nname: x\nspec: {}\nstatus: {addresses: {hostname: a}}":                                  "status.addresses: a mapping where a list",
		"type: MeshService\nname: x\nmesh: a/b\nspec: {}":                                                           `"a/b" is no mesh name`,
		"type: MeshService\nspec: {}":                                                                               "has no name",
		"kind: MeshService\nmetadata: {name: x}\nspec: {}":                                                          "no apiVersion",
		"apiVersion: kuma.io/v1alpha1\nkind: MeshService\nmetadata: {name: x, labels: {kuma.io/mesh: 5}}\nspec: {}": "metadata.labels.kuma.io/mesh: the number 5",
	} {
		rs, invalid := decodeBoth(t, doc+"\n---\ntype: MeshService\nname: after\nspec: {}\n")
		if len(rs) != 1 || rs[0].Name != "after" {
			t.Errorf("%q: %v; the sibling has to count", doc, rs)
		}
		if len(invalid) != 1 || invalid[0].ID.Type != kuma.TypeMeshService || !strings.Contains(invalid[0].Err.Error(), want) {
			t.Errorf("%q: set aside %v, want %s", doc, invalid, want)
		}
	}
}

func TestBothFormsOfADestinationAreOneResource(t *testing.T) {
	t.Parallel()
	body := "\nspec: {ports: [{port: 80}]}\nstatus: {vips: [{ip: 241.0.0.1}], addresses: [{hostname: a.local}]}"
	a := decode(t, "type: MeshService\nmesh: m\nname: x.shop"+body)
	b := decode(t, "apiVersion: kuma.io/v1alpha1\nkind: MeshService\nmetadata: {name: x, namespace: shop, labels: {kuma.io/mesh: m}}"+body)
	if d := cmp.Diff(a, b, byValue); d != "" {
		t.Errorf("universal and Kubernetes form differ:\n%s", d)
	}
}

// TestKumasOwnDestinationsAreRead compares the listings of a running control
// plane with what they say, read by eye.
func TestKumasOwnDestinationsAreRead(t *testing.T) {
	t.Parallel()
	live := liveSamples(t)
	for file, want := range map[string][]string{
		"meshservices.json": {
			"default 3:default/backend 8080 mesh-service:backend <241.0.0.1 ~backend.svc.mesh.local",
			"default 3:default/web 80 mesh-service:web <241.0.0.0 ~web.svc.mesh.local",
			"orders 3:orders/orders 7000 mesh-service:orders <241.0.0.3 ~orders.svc.mesh.local",
			"orders 3:orders/orders-admin 7001 mesh-service:orders-admin <241.0.0.2 ~orders-admin.svc.mesh.local",
			"payments 3:payments/backend 8080 mesh-service:backend <241.0.0.4 ~backend.svc.mesh.local",
			"payments 3:payments/pay-api 9000 mesh-service:pay-api <241.0.0.5 ~pay-api.svc.mesh.local",
		},
		"meshexternalservices.json":  {"default 4:default/mes 443 mesh-external-service:mes <242.0.0.0 ~mes.extsvc.mesh.local"},
		"meshmultizoneservices.json": nil,
	} {
		got := claimed(t, live(file))
		slices.Sort(got)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: want -, got +:\n%s", file, d)
		}
	}
}
