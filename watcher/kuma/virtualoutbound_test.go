package kuma_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
)

// policyYAML is a VirtualOutbound with these selectors, in flow style.
func policyYAML(selectors, conf string) string {
	return "type: VirtualOutbound\nmesh: m\nname: vo\nselectors: [" + selectors + "]\nconf: {" + conf + "}"
}

const goodConf = `host: '{{.service}}.mesh', port: '80', parameters: [{name: service, tagKey: kuma.io/service}]`

func policy(t *testing.T, text string) *kuma.VirtualOutbound {
	t.Helper()
	return decode(t, text)[0].Spec.(*kuma.VirtualOutbound)
}

// tags reads "k=v,k=v", sorted by key.
func tags(text string) []vip.Tag {
	m := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if k, v, ok := strings.Cut(pair, "="); ok {
			m[k] = v
		}
	}
	return vip.NewTags(m)
}

func TestSelectorsRankByTagsThenByExactOnes(t *testing.T) {
	t.Parallel()
	const service = "kuma.io/service=a,kuma.io/zone=east,version=v1"
	for selectors, want := range map[string]string{
		"{match: {kuma.io/service: '*'}}":                                                           "{1 0} true",
		"{match: {kuma.io/service: a}}":                                                             "{1 1} true",
		"{match: {kuma.io/service: b}}":                                                             "{0 0} false",
		"{match: {kuma.io/service: A}}":                                                             "{0 0} false", // values have case
		"{match: {region: '*'}}":                                                                    "{0 0} false",
		"{match: {kuma.io/service: a, region: '*'}}":                                                "{0 0} false",
		"{match: {kuma.io/service: '*', version: '*'}}":                                             "{2 0} true",
		"{match: {kuma.io/service: a}}, {match: {kuma.io/service: '*', version: '*'}}":              "{2 0} true",
		"{match: {kuma.io/service: '*', version: '*'}}, {match: {kuma.io/zone: east, version: v1}}": "{2 2} true",
		"{match: {kuma.io/service: b}}, {match: {version: v1}}":                                     "{1 1} true",
	} {
		rank, ok := policy(t, policyYAML(selectors, goodConf)).Match(tags(service))
		if got := fmt.Sprint(rank, ok); got != want {
			t.Errorf("%s: %s, want %s", selectors, got, want)
		}
	}
	if (kuma.Rank{Tags: 2}).Compare(kuma.Rank{Tags: 1, Exact: 1}) <= 0 || (kuma.Rank{Tags: 2, Exact: 1}).Compare(kuma.Rank{Tags: 2}) <= 0 {
		t.Error("ranks are out of order")
	}
}

func TestAVirtualOutboundSaysWhichServicesItMaySelect(t *testing.T) {
	t.Parallel()
	for selectors, want := range map[string]string{
		"{match: {kuma.io/service: '*'}}": "[] true",
		"{match: {version: v1}}":          "[] true",
		"{match: {kuma.io/service: b}}, {match: {kuma.io/service: a}}, {match: {kuma.io/service: b, version: v1}}": "[a b] false",
		"{match: {kuma.io/service: b}}, {match: {version: v1}}":                                                    "[b] true",
	} {
		names, others := policy(t, policyYAML(selectors, goodConf)).Services()
		if got := fmt.Sprint(names, others); got != want {
			t.Errorf("%s: %s, want %s", selectors, got, want)
		}
	}
}

func TestAnOutboundHasTheTagsThatThePolicyHasParametersFor(t *testing.T) {
	t.Parallel()
	v := policy(t, policyYAML("{match: {kuma.io/service: '*'}}",
		`host: '{{.s}}.{{.v}}.mesh', port: '{{.port}}', parameters: [{name: s, tagKey: kuma.io/service}, {name: v, tagKey: version}, {name: port}, {name: v, tagKey: other}]`))
	for service, want := range map[string]string{
		"kuma.io/service=a,version=v1,port=8080,kuma.io/zone=east":             "a.v1.mesh {8080 [{kuma.io/service a} {port 8080} {version v1}] virtual-outbound:vo}",
		"kuma.io/service=a,version=v1,port=8080,other=o":                       "a.o.mesh {8080 [{kuma.io/service a} {other o} {port 8080} {version v1}] virtual-outbound:vo}", // as in Kuma, the last one counts
		"kuma.io/service=Under_score,version=v-,port=+1":                       "Under_score.v-.mesh {1 [{kuma.io/service Under_score} {port +1} {version v-}] virtual-outbound:vo}",
		"kuma.io/service=a,port=8080":                                          `conf.host: "a.<no value>.mesh" is no DNS name`,
		"kuma.io/service=a,version=v1":                                         `conf.port: "<no value>" is no port: it has to be a number from 1 to 65535`,
		"kuma.io/service=a,version=v1,port=0":                                  `conf.port: "0" is no port`,
		"kuma.io/service=a,version=v1,port=65536":                              `conf.port: "65536" is no port`,
		"kuma.io/service=a,version=v1,port=-1":                                 `conf.port: "-1" is no port`,
		"kuma.io/service=a,version=v1,port=0x50":                               `conf.port: "0x50" is no port`,
		"kuma.io/service=a,version=v1,port=99999999999999999999":               `is no port`,
		"kuma.io/service=a b,version=v1,port=80":                               `conf.host: "a b.v1.mesh" is no DNS name`,
		"kuma.io/service=" + strings.Repeat("a", 2000) + ",version=v1,port=80": `its tag "kuma.io/service" is longer than 1024 bytes`,
	} {
		host, out, err := v.Outbound("vo", v.Uses(tags(service)))
		got := fmt.Sprint(host, " ", out)
		if err != nil {
			got = err.Error()
		}
		if got != want && (err == nil || !strings.Contains(got, want)) {
			t.Errorf("%s: %s, want %s", service, got, want)
		}
	}
}

func TestBothFormsOfAVirtualOutboundAreOneResource(t *testing.T) {
	t.Parallel()
	body := "selectors: [{match: {kuma.io/service: '*', b: c}}, {match: {version: v1}}]\n%sconf: {" + goodConf + "}"
	a := decode(t, "type: VirtualOutbound\nmesh: m\nname: vo\ncreationTime: 2026-12-01T03:31:39.707451262Z\n"+fmt.Sprintf(body, ""))
	b := decode(t, "apiVersion: kuma.io/v1alpha1\nkind: VirtualOutbound\nmesh: m\nmetadata: {name: vo, creationTimestamp: '2026-12-01T04:31:39.707451262+01:00'}\nspec:\n  "+fmt.Sprintf(body, "  "))
	if d := cmp.Diff(a, b); d != "" {
		t.Errorf("universal and Kubernetes form differ:\n%s", d)
	}
	v := a[0].Spec.(*kuma.VirtualOutbound)
	if !v.Same(b[0].Spec.(*kuma.VirtualOutbound)) || v.Created.IsZero() {
		t.Errorf("%+v", v)
	}
	for _, other := range []string{
		strings.Replace(body, "b: c", "b: d", 1), strings.Replace(body, ".mesh", ".x", 1), strings.Replace(body, "'80'", "'81'", 1),
		strings.Replace(body, "name: service", "name: s", 1), strings.Replace(body, ", {match: {version: v1}}", "", 1),
	} {
		c := policy(t, "type: VirtualOutbound\nmesh: m\nname: vo\ncreationTime: 2026-12-01T03:31:39.707451262Z\n"+fmt.Sprintf(other, ""))
		if v.Same(c) {
			t.Errorf("%s says the same", other)
		}
	}
	if c := policy(t, "type: VirtualOutbound\nmesh: m\nname: vo\n"+fmt.Sprintf(body, "")); v.Same(c) || !c.Created.IsZero() {
		t.Errorf("the time of creation does not matter: %+v", c)
	}
}

func TestAVirtualOutboundThatCannotBeReadIsSetAside(t *testing.T) {
	t.Parallel()
	const all = "{match: {kuma.io/service: '*'}}"
	for doc, want := range map[string]string{
		"type: VirtualOutbound\nname: x\nconf: {" + goodConf + "}":                                  "selectors is missing or empty",
		policyYAML("", goodConf):                                                                    "selectors is missing or empty: write what is selected",
		policyYAML("{}", goodConf):                                                                  "selectors[0].match is missing or empty",
		policyYAML(all+", {match: {}}", goodConf):                                                   "selectors[1].match is missing or empty",
		policyYAML("{match: {version: 1}}", goodConf):                                               "selectors[0].match.version: the number 1 where text",
		policyYAML("{match: [a]}", goodConf):                                                        "selectors[0].match: a list where a mapping",
		"type: VirtualOutbound\nname: x\nselectors: [" + all + "]":                                  "conf is missing: the document was cut short",
		policyYAML(all, "host: a, port: '80'"):                                                      "conf.parameters has none of the tag kuma.io/service",
		policyYAML(all, "host: a, port: '80', parameters: [{name: v}]"):                             "add {name: service, tagKey: kuma.io/service}",
		policyYAML(all, "host: a, port: '80', parameters: [{name: a-b}]"):                           `conf.parameters[0].name: "a-b" is no name of a parameter: write letters and digits`,
		policyYAML(all, "host: a, port: '80', parameters: [{tagKey: kuma.io/service}]"):             `"" is no name of a parameter`,
		policyYAML(all, "host: a, port: '80', parameters: ["+strings.Repeat("{name: a}, ", 65)+"]"): "conf.parameters has 65 elements: write 64 at most",
		policyYAML(all, strings.Replace(goodConf, "'80'", "80", 1)):                                 "conf.port: the number 80 where text is expected: put it in quotes",
		policyYAML(all, strings.Replace(goodConf, "'80'", "''", 1)):                                 "conf.port: missing or empty",
		policyYAML(all, strings.Replace(goodConf, "{{.service}}.mesh", "{{.service", 1)):            "conf.host: template: template:1: unclosed action: correct the template",
	} {
		rs, invalid := decodeBoth(t, doc+"\n---\ntype: Mesh\nname: after\n")
		if len(rs) != 1 || rs[0].Name != "after" {
			t.Errorf("%q: %v; the sibling has to count", doc, rs)
		}
		if len(invalid) != 1 || invalid[0].ID.Type != kuma.TypeVirtualOutbound || invalid[0].ID.Name == "" || !strings.Contains(invalid[0].Err.Error(), want) {
			t.Errorf("%q: set aside %v, want %s", doc, invalid, want)
		}
	}
}

func TestATimeThatIsNoneIsAFault(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"yesterday": `creationTime: "yesterday" is no time: write one as in 2026-01-31T12:00:00Z`,
		"2026":      `creationTime: the number 2026 where text`,
	} {
		rs := decodeFaulty(t, policyYAML("{match: {kuma.io/service: '*'}}", goodConf)+"\ncreationTime: "+value)
		if len(rs[0].Faults) != 1 || !strings.HasPrefix(rs[0].Faults[0].Error(), want) {
			t.Errorf("%s: faults %v, want %s", value, rs[0].Faults, want)
		}
		if !rs[0].Spec.(*kuma.VirtualOutbound).Created.IsZero() {
			t.Errorf("%s: %+v", value, rs[0].Spec)
		}
	}
}

func TestClaimsHaveTheTagsThatPoliciesSelectBy(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{type: Dataplane, name: x, networking: {inbound: [
			{port: 1, tags: {kuma.io/service: b, version: v1, kuma.io/zone: east, meshvip.io/vip: 240.0.0.9}},
			{port: 2, tags: {kuma.io/service: b, version: v1, kuma.io/zone: east}},
			{port: 3, tags: {kuma.io/service: a, version: v1, empty: '', none: }}, {port: 4, tags: {kuma.io/service: a}}]}}`: "a[{kuma.io/service a}] a[{empty } {kuma.io/service a} {version v1}] " +
			"b[{kuma.io/service b} {kuma.io/zone east} {version v1}] b[{kuma.io/service b} {kuma.io/zone east} {version v1}]",
		"type: ZoneIngress\nname: x\nzone: east\navailableServices: [{mesh: m, tags: {kuma.io/service: s, version: v1}}, {tags: {kuma.io/service: t}}]": "t[{kuma.io/service t}] s[{kuma.io/service s} {version v1}]",
		// An old-style ingress is selected by no policy, and of an
		// ExternalService only its service is seen.
		"type: Dataplane\nname: x\nnetworking: {ingress: {availableServices: [{tags: {kuma.io/service: s, version: v1}}]}}": "",
		"type: ExternalService\nname: x\ntags: {kuma.io/service: s, version: v1}\nnetworking: {address: 'h:1'}":             "s[{kuma.io/service s}]",
		"type: MeshService\nname: x\nspec: {}": "",
	} {
		var got []string
		for _, r := range decode(t, text) {
			claims, err := r.Claims("default")
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range claims {
				if !c.Tags.IsZero() {
					got = append(got, fmt.Sprint(c.Entry.Name, c.Tags.Of(c.Entry.Name)))
				}
			}
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%s:\n%s, want\n%s", text, got, want)
		}
	}
}

func TestATagThatIsNoTextIsAFault(t *testing.T) {
	t.Parallel()
	rs := decodeFaulty(t, "type: Dataplane\nname: x\nnetworking: {inbound: [{port: 1, tags: {kuma.io/service: s, version: 1.0, good: g}}]}")
	const want = "networking.inbound[0].tags.version: the number 1 where text is expected: put it in quotes"
	if len(rs[0].Faults) != 1 || rs[0].Faults[0].Error() != want {
		t.Errorf("faults %v, want %s", rs[0].Faults, want)
	}
	if d := cmp.Diff([]string{"default 0:s 0 s service"}, claimedBy(t, rs)); d != "" {
		t.Errorf("want -, got +:\n%s", d)
	}
}

// TestKumasOwnVirtualOutboundIsRead applies the policy of a running control plane
// to its Dataplanes. None of them has a tag port, so it gives them no name.
func TestKumasOwnVirtualOutboundIsRead(t *testing.T) {
	t.Parallel()
	live := liveSamples(t)
	var all []kuma.Resource
	for _, file := range []string{"virtual-outbounds.json", "dataplanes.json"} {
		all = append(all, decode(t, live(file))...)
	}
	v := all[0].Spec.(*kuma.VirtualOutbound)
	if got := v.Created.Format("2006-01-02T15:04:05.000"); got != "2026-12-01T03:31:39.707" {
		t.Errorf("created at %s", got)
	}
	n := 0
	for _, r := range all[1:] {
		claims, _ := r.Claims("default")
		for _, c := range claims {
			tags := c.Tags.Of(c.Entry.Name)
			if rank, ok := v.Match(tags); !ok || rank != (kuma.Rank{Tags: 1}) {
				t.Errorf("%v does not match: %v", tags, rank)
			}
			if host, _, err := v.Outbound("vo-1", v.Uses(tags)); err == nil || !strings.Contains(err.Error(), "<no value>") {
				t.Errorf("%v: %q, %v", tags, host, err)
			}
			// With a port it would.
			tags = append(tags, vip.Tag{Key: "port", Value: "8080"})
			if c.Entry.Name == "backend" && r.Mesh == "default" {
				n++
				slices.SortFunc(tags, func(a, b vip.Tag) int { return strings.Compare(a.Key, b.Key) })
				host, out, err := v.Outbound("vo-1", v.Uses(tags))
				if got := fmt.Sprint(host, " ", out.Port, " ", err); got != fmt.Sprintf("backend.v%d.mesh 8080 <nil>", n) {
					t.Error(got)
				}
			}
		}
	}
	if n != 2 {
		t.Errorf("%d Dataplanes of backend", n)
	}
}
