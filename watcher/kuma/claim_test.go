package kuma_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
)

// claimed returns what a stream asks for, one line a claim.
func claimed(t *testing.T, text string) []string {
	t.Helper()
	return claimedBy(t, decode(t, text))
}

func claimedBy(t *testing.T, rs []kuma.Resource) []string {
	t.Helper()
	var lines []string
	for _, r := range rs {
		claims, err := r.Claims("default")
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range claims {
			line := c.Mesh + " " + c.Entry.String()
			for _, o := range c.Outbounds {
				if tags := o.TagMap(); len(tags) > 1 || tags[vip.ServiceTag] == "" && len(tags) > 0 {
					t.Errorf("tags that select more than a service: %v", tags)
				}
				line += strings.ReplaceAll(fmt.Sprintf(" %d %s %s", o.Port, o.TagMap()[vip.ServiceTag], o.Origin), "  ", " ")
			}
			if c.Terms != nil {
				for _, a := range c.Terms.Static {
					line += fmt.Sprintf(" =%v", a)
				}
				for _, a := range c.Terms.Given {
					line += fmt.Sprintf(" <%v", a)
				}
				for _, h := range c.Terms.Hostnames {
					line += " ~" + h
				}
			}
			lines = append(lines, line)
		}
	}
	return lines
}

func TestResourcesGiveWhatKumaSays(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"inbounds, each service once": {
			"type: Dataplane\nname: x\nmesh: m\nnetworking: {inbound: [{port: 2, tags: {kuma.io/service: b}}, {port: 1, tags: {kuma.io/service: a}}, {port: 3, tags: {kuma.io/service: b}}]}",
			[]string{"m 0:a 0 a service", "m 0:b 0 b service"},
		},
		"inbounds that do not count leave their siblings alone": {
			`{type: Dataplane, name: x, networking: {inbound: [
				{port: 1, state: Ignored, tags: {kuma.io/service: ignored}},
				{port: 49151, tags: {kuma.io/service: reserved}},
				{port: 2, tags: {version: v1}}, {port: 3, tags: {kuma.io/service: ""}}, {port: 4, tags: {}}, {port: 5}, {port: 6, tags: },
				{port: 7, state: NotReady, tags: {kuma.io/service: kept}}]}}`,
			[]string{"default 0:kept 0 kept service"},
		},
		"a gateway has no inbounds": {"type: Dataplane\nname: x\nnetworking: {address: 1.1.1.1, gateway: {tags: {kuma.io/service: gw}}}", nil},
		"an ingress of another zone, in each item's mesh": {
			"type: ZoneIngress\nname: x\nmesh: mesh-1\nzone: east\navailableServices: [{mesh: mesh-1, tags: {kuma.io/service: s}}, {mesh: mesh-2, tags: {kuma.io/service: t}}, {tags: {kuma.io/service: u}}, {mesh: mesh-2, tags: {}}]",
			[]string{"default 0:u 0 u service", "mesh-1 0:s 0 s service", "mesh-2 0:t 0 t service"},
		},
		"an ingress of our zone": {"type: ZoneIngress\nname: x\nzone: default\navailableServices: [{mesh: m, tags: {kuma.io/service: s}}]", nil},
		"an ingress of no zone":  {"type: ZoneIngress\nname: x\navailableServices: [{mesh: m, tags: {kuma.io/service: s}}]", nil},
		"an old-style ingress, whatever its zone, without its inbounds": {
			"type: Dataplane\nname: x\nmesh: m\nnetworking: {inbound: [{port: 1, tags: {kuma.io/service: ingress}}], ingress: {availableServices: [{mesh: other, tags: {kuma.io/service: s}}]}}",
			[]string{"other 0:s 0 s service"},
		},
		"an old-style ingress with nothing available": {
			"type: Dataplane\nname: x\nmesh: m\nnetworking: {inbound: [{port: 1, tags: {kuma.io/service: ingress}}], ingress: {}}", nil,
		},
		"an external service and its host": {
			"type: ExternalService\nname: es\nmesh: m\ntags: {kuma.io/service: bin}\nnetworking: {address: 'Httpbin.org:443'}",
			[]string{"m 0:bin 443 bin service", "m 1:Httpbin.org 443 bin external-service:es"},
		},
		"no entry for a host that is an IP": {
			"type: ExternalService\nname: a\ntags: {kuma.io/service: a}\nnetworking: {address: '192.0.2.1:1'}\n---\ntype: ExternalService\nname: b\ntags: {kuma.io/service: b}\nnetworking: {address: '[2001:db8::1]:1'}",
			[]string{"default 0:a 1 a service", "default 0:b 1 b service"},
		},
		"no entry for a host that is disabled": {
			"type: ExternalService\nname: a\ntags: {kuma.io/service: a}\nnetworking: {address: 'h:1', disableHostDNSEntry: true}",
			[]string{"default 0:a 1 a service"},
		},
		"a mesh":                {"type: Mesh\nname: m", nil},
		"names keep their form": {"type: Dataplane\nname: x\nnetworking: {inbound: [{tags: {kuma.io/service: 'Back_end:ä'}}]}", []string{"default 0:Back_end:ä 0 Back_end:ä service"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(tc.want, claimed(t, tc.text)); d != "" {
				t.Errorf("want -, got +:\n%s", d)
			}
		})
	}
}

func TestAnIngressWithoutAZoneSaysSo(t *testing.T) {
	t.Parallel()
	text := "type: ZoneIngress\nname: x\navailableServices: [{mesh: m, tags: {kuma.io/service: s}}]"
	if got := decode(t, text)[0].Remark(); !strings.Contains(got, "add zone: NAME") {
		t.Errorf("remark %q", got)
	}
	for _, quiet := range []string{text + "\nzone: default", "type: ZoneIngress\nname: x", "type: Mesh\nname: m"} {
		if got := decode(t, quiet)[0].Remark(); got != "" {
			t.Errorf("%q: remark %q", quiet, got)
		}
	}
}

func TestANameThatCannotBeAnEntryIsAnError(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", vip.MaxName+1)
	claims, err := decode(t, "type: Dataplane\nname: x\nnetworking: {inbound: [{tags: {kuma.io/service: ok}}, {tags: {kuma.io/service: "+long+"}}]}")[0].Claims("")
	if !errors.Is(err, vip.ErrLongName) || claims != nil || len(err.Error()) > 200 {
		t.Errorf("got %v, %v", claims, err)
	}
}
