package kuma_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAVIPTagAsksForItsServiceAlone(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"inbounds, each for itself": {
			`{type: Dataplane, name: x, networking: {inbound: [
				{port: 1, tags: {kuma.io/service: a, meshvip.io/vip: 240.0.0.9}},
				{port: 2, tags: {kuma.io/service: b}},
				{port: 3, tags: {kuma.io/service: c, version: v1, meshvip.io/vip: 'FD00:0::9'}}]}}`,
			[]string{"default 0:a 0 a service =240.0.0.9", "default 0:b 0 b service", "default 0:c 0 c service =fd00::9"},
		},
		"a family each": {
			`{type: Dataplane, name: x, networking: {inbound: [
				{port: 1, tags: {kuma.io/service: a, meshvip.io/vip: 240.0.0.9}},
				{port: 2, tags: {kuma.io/service: a, meshvip.io/vip: 'fd00::9'}},
				{port: 3, tags: {kuma.io/service: a, meshvip.io/vip: 240.0.0.9}},
				{port: 4, tags: {kuma.io/service: a}}]}}`,
			[]string{"default 0:a 0 a service", "default 0:a 0 a service =240.0.0.9", "default 0:a 0 a service =fd00::9"},
		},
		"an external service, not its host": {
			"type: ExternalService\nname: es\nmesh: m\ntags: {kuma.io/service: bin, meshvip.io/vip: 240.0.0.9}\nnetworking: {address: 'httpbin.org:443'}",
			[]string{"m 0:bin 443 bin service =240.0.0.9", "m 1:httpbin.org 443 bin external-service:es"},
		},
		"not what has no service, or does not count": {
			`{type: Dataplane, name: x, networking: {inbound: [
				{port: 49151, tags: {kuma.io/service: a, meshvip.io/vip: 240.0.0.9}},
				{port: 49151, tags: {meshvip.io/vip: 240.0.0.9}},
				{port: 1, state: Ignored, tags: {kuma.io/service: b, meshvip.io/vip: 240.0.0.9}}]}}`,
			nil,
		},
		"not what another zone has": {
			"type: ZoneIngress\nname: x\nzone: east\navailableServices: [{tags: {kuma.io/service: s, meshvip.io/vip: 240.0.0.9}}]",
			[]string{"default 0:s 0 s service"},
		},
		"only the tag of that very name": {
			"type: Dataplane\nname: x\nmeshvip.io/vip: 240.0.0.9\nlabels: {meshvip.io/vip: 240.0.0.9}\nnetworking: {inbound: [{port: 1, tags: {kuma.io/service: a, MeshVIP.io/vip: 240.0.0.9, vip: 240.0.0.9}}]}",
			[]string{"default 0:a 0 a service"},
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

func TestABadVIPTagTakesNoNameAway(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`web`:                   `"web" is no IP address: write one, such as 240.0.0.9 or fd00::9`,
		`""`:                    `"" is no IP address: write one`,
		``:                      `"" is no IP address: write one`,
		`" 240.0.0.9"`:          `" 240.0.0.9" is no IP address`,
		`240.0.0.9/32`:          `"240.0.0.9/32" is no IP address`,
		`"240.0.0.9, fd00::9"`:  `is no IP address`,
		`240.0.0.09`:            `is no IP address`,
		`240.0.0.9:80`:          `is no IP address`,
		`"[fd00::9]"`:           `is no IP address`,
		`fe80::9%eth0`:          `"fe80::9%eth0" has a zone, which means something on one machine only: write fe80::9`,
		`"::ffff:240.0.0.9"`:    `is an IPv4 address in the form of an IPv6 one: write 240.0.0.9`,
		`0.0.0.0`:               `"0.0.0.0" is the address of no single host: write one that is`,
		`"::"`:                  `"::" is the address of no single host`,
		`224.0.0.251`:           `is the address of no single host`,
		`ff02::fb`:              `is the address of no single host`,
		`240`:                   `the number 240 where text is expected: put it in quotes`,
		`true`:                  `the truth value true where text`,
		`[240.0.0.9]`:           `a list where text`,
		`{}`:                    `a mapping where text`,
		strings.Repeat("9", 99): `the number 1e+99 where text`,
		strings.Repeat("x", 99): `xxxx" is no IP address`,
	} {
		for text, where := range map[string]string{
			"type: Dataplane\nname: x\nnetworking:\n  inbound:\n  - {port: 1, tags: {kuma.io/service: other}}\n  - port: 2\n    tags:\n      kuma.io/service: s\n      meshvip.io/vip: " + value:     "networking.inbound[1].tags.meshvip.io/vip: ",
			"type: ExternalService\nname: x\nnetworking: {address: '192.0.2.1:1'}\ntags:\n  kuma.io/service: s\n  meshvip.io/vip: " + value:                                                          "tags.meshvip.io/vip: ",
			"apiVersion: kuma.io/v1alpha1\nkind: ExternalService\nmetadata: {name: x}\nspec:\n  networking: {address: '192.0.2.1:1'}\n  tags:\n    kuma.io/service: s\n    meshvip.io/vip: " + value: "spec.tags.meshvip.io/vip: ",
		} {
			rs := decodeFaulty(t, text)
			if len(rs) != 1 || len(rs[0].Faults) != 1 {
				t.Errorf("%s: %+v, want one resource with one fault", value, rs)
				continue
			}
			if got := rs[0].Faults[0].Error(); !strings.HasPrefix(got, where) || !strings.Contains(got, want) || len(got) > 200 {
				t.Errorf("%s: fault %q, want one of %s with %s", value, got, where, want)
			}
			listed := false
			for _, line := range claimedBy(t, rs) {
				listed = listed || strings.HasPrefix(line, "default 0:s ")
				if strings.Contains(line, "=") {
					t.Errorf("%s: %s", value, line)
				}
			}
			if !listed {
				t.Errorf("%s: the service is not listed", value)
			}
		}
	}
}

func TestAVIPTagWithoutAServiceIsAFault(t *testing.T) {
	t.Parallel()
	rs := decodeFaulty(t, "type: Dataplane\nname: x\nnetworking: {inbound: [{port: 1, tags: {meshvip.io/vip: 240.0.0.9}}, {port: 2, tags: {kuma.io/service: s}}]}")
	const want = "networking.inbound[0].tags.meshvip.io/vip: 240.0.0.9 is asked for, but there is no kuma.io/service beside it to have it: add that tag, or remove this one"
	if len(rs[0].Faults) != 1 || rs[0].Faults[0].Error() != want {
		t.Errorf("faults %v, want %s", rs[0].Faults, want)
	}
}

func TestFaultsAreToldInBounds(t *testing.T) {
	t.Parallel()
	const n = 1000
	rs := decodeFaulty(t, "type: Dataplane\nname: x\nnetworking: {inbound: ["+strings.Repeat("{port: 1, tags: {kuma.io/service: s, meshvip.io/vip: x}},", n)+"]}")
	faults := rs[0].Faults
	if len(faults) != 21 || faults[20].Error() != fmt.Sprintf("and %d more values are passed over", n-20) {
		t.Errorf("%d faults: %v", len(faults), faults)
	}
}

func TestAnInvalidResourceIsNotOneWithFaults(t *testing.T) {
	t.Parallel()
	rs, invalid := decodeBoth(t, "type: Dataplane\nname: x\nnetworking: {inbound: [{port: 1, tags: {kuma.io/service: s, meshvip.io/vip: x}}, {port: x}]}\n---\ntype: Dataplane\nname: other\nnetworking: {}\n")
	if len(rs) != 1 || rs[0].Name != "other" || len(rs[0].Faults) > 0 || len(invalid) != 1 {
		t.Errorf("%+v, set aside %v: the faults of one are those of another", rs, invalid)
	}
}
