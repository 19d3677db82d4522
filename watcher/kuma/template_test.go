package kuma_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
)

// policyJSON is a VirtualOutbound with these templates, over the parameters
// service, version and port.
func policyJSON(host, port string) string {
	quoted := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	return `{"type":"VirtualOutbound","name":"vo","selectors":[{"match":{"kuma.io/service":"*"}}],
		"conf":{"host":` + quoted(host) + `,"port":` + quoted(port) + `,
		"parameters":[{"name":"service","tagKey":"kuma.io/service"},{"name":"version"},{"name":"port"}]}}`
}

// rendered is what a template for a host makes of a service backend of version v1.
func rendered(template string) (string, error) {
	rs, invalid, err := kuma.Decode([]byte(policyJSON(template, "80")))
	if err != nil {
		return "", err
	}
	if len(invalid) > 0 {
		return "", invalid[0].Err
	}
	v := rs[0].Spec.(*kuma.VirtualOutbound)
	host, _, err := v.Outbound("vo", v.Uses([]vip.Tag{{Key: vip.ServiceTag, Value: "backend"}, {Key: "version", Value: "v1"}}))
	return host, err
}

func TestTemplatesDoWhatKumasDo(t *testing.T) {
	t.Parallel()
	for template, want := range map[string]string{
		"{{.service}}.mesh":                         "backend.mesh",
		"{{ .service }}-{{- .version }}.x":          "backend-v1.x",
		"plain.mesh":                                "plain.mesh",
		`{{if .port}}{{.port}}.{{end}}a`:            "a",
		`{{with .version}}{{.}}{{else}}none{{end}}`: "v1",
		`{{printf "%s-%02d" .service 7}}.mesh`:      "backend-07.mesh",
		`{{print .service "." .version}}`:           "backend.v1",
		`{{slice .service 0 4}}.mesh`:               "back.mesh",
		`{{len .service}}.mesh`:                     "7.mesh",
		`{{index . "service"}}.mesh`:                "backend.mesh",
		`{{if eq .version "v1"}}one{{else if eq .version "v2"}}two{{else}}x{{end}}`: "one",
		`{{$s := .service}}{{$s}}.{{$s}}`:                                           "backend.backend",
		`{{urlquery .service}}.{{html .version}}`:                                   "backend.v1",
		`{{if and .service (not .port)}}a_b{{end}}`:                                 "a_b",
		`{{/* a comment */}}{{.service | printf "%s"}}`:                             "backend",
		"{{.service}}.mesh.":                                                        "backend.mesh",
		"_dmarc-.{{.service}}":                                                      "_dmarc-.backend",
	} {
		if got, err := rendered(template); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", template, got, err, want)
		}
	}
}

func TestATemplateThatMightNotEndIsRefusedWhenItIsRead(t *testing.T) {
	t.Parallel()
	for template, want := range map[string]string{
		"{{range 1000000000}}{{end}}":                                 "{{range}} is not allowed",
		"{{range .}}x{{end}}":                                         "{{range}} is not allowed",
		"{{if .service}}{{else}}{{range 9}}{{end}}{{end}}":            "{{range}} is not allowed",
		"{{with .service}}{{with .}}{{range 9}}{{end}}{{end}}{{end}}": "{{range}} is not allowed",
		`{{define "x"}}{{template "x"}}{{end}}{{template "x"}}`:       "are not allowed",
		`{{define "x"}}{{range 9}}{{end}}{{end}}`:                     "are not allowed",
		`{{block "x" .}}{{end}}`:                                      "are not allowed",
		`{{template "template"}}`:                                     "{{template}} is not allowed",
		"{{":                                                          "unclosed action: correct the template",
		"{{.service":                                                  "correct the template",
		"{{nope}}":                                                    `function "nope" not defined`,
		`{{label "x"}}`:                                               `function "label" not defined`, // of HostnameGenerators only
		"":                                                            "conf.host: missing or empty: write a template",
		strings.Repeat("a", 4097):                                     "the template has 4097 bytes: write one of 4096 at most",
		"{{" + strings.Repeat("(", 2000) + "}}":                       "correct the template",
	} {
		got, err := rendered(template)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "conf.host: ") || len(err.Error()) > 400 {
			t.Errorf("%.60s: %q, %v, want an error with %q", template, got, err, want)
		}
	}
}

func TestATemplateCannotMakeMuchOfLittle(t *testing.T) {
	t.Parallel()
	double := `{{$a := print .service .service}}`
	for range 40 {
		double += `{{$a = print $a $a}}`
	}
	padded := `{{$a := printf "%99d" 1}}`
	for range 40 {
		padded += `{{$a = printf "%s%s" $a $a}}`
	}
	for template, want := range map[string]string{
		strings.Repeat("a", 1025):           "the text is longer than 1024 bytes",
		strings.Repeat("{{.service}}", 200): "longer than 1024 bytes",
		double:                              "longer than 1024 bytes",
		strings.ReplaceAll(double, "print", "println"): "longer than 1024 bytes",
		padded:                        "longer than 1024 bytes",
		`{{printf "%1000000d" 1}}`:    "no number of more than 2 digits",
		`{{printf "%.1000000f" 1.0}}`: "no number of more than 2 digits",
		`{{printf "%*d" 1000000 1}}`:  "may have no *",
		`{{printf "` + strings.Repeat("%[1]q", 200) + `" (printf "%99d" 1)}}`:     "too many verbs",
		`{{printf (printf "%99d" 1) 1}}`:                                          "is no DNS name",
		`{{$a := html "<<<<<<<<<<"}}` + strings.Repeat(`{{$a = html $a $a}}`, 20): "longer than 1024 bytes",
		`{{$a := js "\\"}}` + strings.Repeat(`{{$a = js $a}}`, 20):                "longer than 1024 bytes",
		`{{$a := urlquery "%"}}` + strings.Repeat(`{{$a = urlquery $a $a}}`, 20):  "longer than 1024 bytes",
	} {
		got, err := rendered(template)
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 400 {
			t.Errorf("%.60s: %q, %v, want an error with %q", template, got, err, want)
		}
	}
}

func TestATemplateThatFailsSaysWhy(t *testing.T) {
	t.Parallel()
	for template, want := range map[string]string{
		"{{.port}}.mesh":                `"<no value>.mesh" is no DNS name`,
		"{{.nope}}.mesh":                `"<no value>.mesh" is no DNS name`,
		"{{.service.x}}":                "can't evaluate field x",
		"{{call .service}}":             "non-function",
		"{{slice .service 5 99}}":       "out of range",
		"{{index .service 99}}":         "out of range",
		"{{.service}} x":                `"backend x" is no DNS name`,
		"{{if .port}}x{{end}}":          `"" is no DNS name`,
		"10.0.0.1":                      `"10.0.0.1" is an address`,
		"a..b":                          "is no DNS name",
		"-a.b":                          "is no DNS name",
		"*.b":                           "is no DNS name",
		strings.Repeat("a", 64):         "at most 63 bytes each",
		strings.Repeat("a.", 127) + "a": "253 in all",
	} {
		got, err := rendered(template)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "conf.host: ") || len(err.Error()) > 400 {
			t.Errorf("%.60s: %q, %v, want an error with %q", template, got, err, want)
		}
	}
}

func FuzzTemplates(f *testing.F) {
	for _, s := range []string{
		"{{.service}}.{{.version}}.mesh", "{{range 9}}{{end}}", `{{printf "%99d%[1]q" .service}}`, `{{template "x"}}`,
		`{{$a := print .}}{{$a = html $a $a}}{{js $a}}`, `{{label "team"}}.{{.DisplayName}}.{{.Zone}}`, `{{index . "service" | urlquery}}`,
		`{{with $x := slice .service 1 2}}{{$x}}{{else}}{{break}}{{end}}`, `{{1e308 | printf "%f"}}`, "{{- 'x' -}}", `{{call .}}`, `{{block "a" 1}}{{end}}`,
	} {
		f.Add(s, "backend", "v1")
	}
	f.Fuzz(func(t *testing.T, template, service, value string) {
		if host, err := rendered(template); err == nil {
			checkName(t, host)
		}
		rs, invalid, err := kuma.Decode([]byte(policyJSON(template, template)))
		if err != nil || len(rs)+len(invalid) != 1 {
			t.Fatalf("%v, %v, %v", rs, invalid, err)
		}
		for _, r := range rs {
			v := r.Spec.(*kuma.VirtualOutbound)
			host, out, err := v.Outbound("vo", v.Uses([]vip.Tag{{Key: vip.ServiceTag, Value: service}, {Key: "port", Value: value}, {Key: "version", Value: value}}))
			if err != nil {
				if len(err.Error()) > 1000 {
					t.Fatalf("the error is long: %v", err)
				}
				continue
			}
			checkName(t, host)
			if out.Port == 0 {
				t.Fatalf("no port: %+v", out)
			}
		}
		quoted, _ := json.Marshal(template)
		rs, _, err = kuma.Decode(fmt.Appendf(nil, `[{"type":"HostnameGenerator","name":"g","spec":{"selector":{"meshService":{}},"template":%s}},
			{"type":"MeshService","name":"s","labels":{"team":%q},"spec":{}}]`, quoted, "x"))
		if err != nil {
			t.Fatal(err)
		}
		if len(rs) == 2 {
			part, _ := rs[1].Part(kuma.Home{Zone: value, Domain: "mesh"})
			name, err := rs[0].Spec.(*kuma.HostnameGenerator).Hostname(part.(*kuma.Unnamed))
			if err == nil && name != "" {
				checkName(t, name)
				if name != strings.ToLower(name) {
					t.Fatalf("%q has upper case", name)
				}
			}
		}
	})
}

// checkName fails if host cannot be the name of an entry that DNS carries.
func checkName(t *testing.T, host string) {
	t.Helper()
	if err := (vip.Entry{Kind: vip.FQDN, Name: host}).Validate(); err != nil || len(host) > 253 || strings.HasSuffix(host, ".") || strings.Contains(host, "..") {
		t.Fatalf("the name %q: %v", host, err)
	}
}
