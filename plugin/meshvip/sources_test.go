package meshvip

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSourcesAreReadWithTheirBlocks(t *testing.T) {
	t.Parallel()
	got := mustParse(t, `source kuma https://cp.example:5682/kuma/ {
token_file token
ca /etc/ca.pem
cert c.pem
key k.pem
interval 1m
follow tables
}
source file a
source kuma http://127.0.0.1:5681
source kuma http://[::1]:5681 {
follow
}`).Runtime.Sources
	want := []SourceConfig{
		{
			Kind: "kuma", Place: "Testfile:2", URL: "https://cp.example:5682/kuma", TokenFile: "/data/token", CA: "/etc/ca.pem",
			Cert: "/data/c.pem", Key: "/data/k.pem", Interval: time.Minute, Follow: true, Tables: "/data/tables",
		},
		{Kind: "file", Place: "Testfile:10", Dir: "/data/a"},
		{Kind: "kuma", Place: "Testfile:11", URL: "http://127.0.0.1:5681", Interval: 10 * time.Second},
		{Kind: "kuma", Place: "Testfile:12", URL: "http://[::1]:5681", Interval: 10 * time.Second, Follow: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
	whole := sourceList(got)
	for _, part := range []string{"kuma https://cp.example:5682/kuma (interval 1m0s, token_file /data/token, ca /etc/ca.pem, cert /data/c.pem, key /data/k.pem, follow /data/tables)", "file /data/a", "follow)"} {
		if !strings.Contains(whole, part) {
			t.Errorf("the list %q lacks %q", whole, part)
		}
	}
}

func TestErrorsOfSourcesSayWhereWhatAndWhatInstead(t *testing.T) {
	t.Parallel()
	kuma := func(lines string) string { return "source kuma https://cp:5682 {\n" + lines + "\n}" }
	for lines, want := range map[string][]string{
		"source":               {"Testfile:2", `"source file resources"`, `"source kuma http://127.0.0.1:5681"`},
		"source kuma":          {`"source kuma http://127.0.0.1:5681"`},
		"source kuma cp:5681":  {"'cp:5681' is not the URL of an API"},
		"source kuma http://":  {"is not the URL of an API"},
		"source kuma ftp://cp": {"is not the URL of an API"},
		"source kuma http://admin:secret@cp:5681":       {"has a user or a password", "token_file"},
		"source kuma http://cp:5681/?a=b":               {"has more than a host and a path"},
		"source file a {\n}":                            {"Testfile:2", "takes no block"},
		kuma("tokn a"):                                  {"Testfile:3", "unknown property 'tokn' in the block of source", "token_file, ca, cert, key, interval, follow"},
		kuma("ca a\nca b"):                              {"Testfile:4", "property 'ca' is stated twice"},
		kuma("ca"):                                      {"ca needs one argument"},
		kuma("cert a"):                                  {"needs both cert and key"},
		kuma("key a"):                                   {"needs both cert and key"},
		kuma("interval 10"):                             {"Testfile:3", "'10'", `"interval 10s"`},
		kuma("interval 1ms"):                            {"from 1s to 1h"},
		kuma("interval 2h"):                             {"from 1s to 1h"},
		kuma("follow a b"):                              {`"follow tables"`},
		kuma("follow {\n}"):                             {"Testfile:3", "takes no block"},
		"source kuma http://cp:5681 {\nca a\n}":         {"plain http does not use", "write https"},
		"source kuma http://cp\nsource kuma http://cp/": {"Testfile:3", "source kuma http://cp is stated twice, first at Testfile:2"},
		"source file a\nsource file a/b":                {"source file ", "have files in common", "keep the upper one"},
		"source file a/b\nsource file a":                {"have files in common"},
		"source kuma http://cp { follow }":              {"brace"},
	} {
		_, err := parseIn("", "meshvip {\n"+lines+"\n}", "mesh.")
		if err == nil {
			t.Errorf("%q is accepted", lines)
			continue
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%q: the error lacks %q:\n%v", lines, w, err)
			}
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the error shows a password: %v", lines, err)
		}
	}
}

func TestAnAdminAddressIsReadInItsFullForm(t *testing.T) {
	t.Parallel()
	for lines, want := range map[string]string{
		"admin":                              "unix:/data/meshvip.db.sock",
		"admin\nstore bolt /var/x.db":        "unix:/var/x.db.sock",
		"admin unix:/run/meshvip.sock":       "unix:/run/meshvip.sock",
		"admin unix:meshvip.sock":            "unix:/data/meshvip.sock",
		"admin 127.0.0.1:9253":               "127.0.0.1:9253",
		"admin [::1]:9253":                   "[::1]:9253",
		"admin localhost:9253\nstore memory": "localhost:9253",
		"admin 0.0.0.0:9253":                 "0.0.0.0:9253",
		"store memory":                       "",
	} {
		if got := mustParse(t, lines).Runtime.adminAddress(); got != want {
			t.Errorf("%q: admin at %q, want %q", lines, got, want)
		}
	}
	for _, arg := range []string{":9253", "unix:", "9253", "cp.example:9253", "127.0.0.1:0", "127.0.0.1:99999", "127.0.0.1", "a b", "/run/x.sock"} {
		_, err := parseIn("", "meshvip {\nadmin "+arg+"\n}", "mesh.")
		if err == nil || !strings.Contains(err.Error(), `"admin 127.0.0.1:9253"`) || !strings.Contains(err.Error(), "Testfile:2") {
			t.Errorf("admin %s: error %v", arg, err)
		}
	}
	cfg := mustParse(t, "admin\nstore memory\npool 240.0.0.0/8\nsource file a")
	if err := complete(cfg.Runtime); err == nil || !strings.Contains(err.Error(), "Testfile:2: admin has no address") {
		t.Errorf("admin beside a store in memory: %v", err)
	}
}
