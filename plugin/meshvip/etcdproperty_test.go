package meshvip

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// etcdOf returns the store that the properties of a block state.
func etcdOf(t *testing.T, lines string) EtcdConfig {
	t.Helper()
	s := mustParse(t, lines).Runtime.Store
	if s.Value.Kind != "etcd" || s.Value.Path != "" || !s.Stated() {
		t.Fatalf("%q: store %+v", lines, s)
	}
	return s.Value.Etcd
}

func TestAStoreInEtcdIsReadWithItsDefaults(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		lines string
		want  EtcdConfig
	}{
		{
			"store etcd http://127.0.0.1:2379",
			EtcdConfig{Endpoints: "http://127.0.0.1:2379", Prefix: "/meshvip/", Timeout: 5 * time.Second, Lease: 10 * time.Second},
		},
		{
			"store etcd https://ETCD-2.example.org/ https://[2001:DB8:0::1]:2379 https://etcd-1.example.org:23790 https://etcd-2.example.org:02379 {\n" +
				"prefix /tables/vips//\ntls etcd/client.pem /etc/client.key etcd/ca.pem\ncredentials meshvip secrets/etcd\ntimeout 1500ms\nlease 1m\n}",
			EtcdConfig{
				Endpoints: "https://[2001:db8::1]:2379 https://etcd-1.example.org:23790 https://etcd-2.example.org:2379",
				Prefix:    "/tables/vips/", Cert: "/data/etcd/client.pem", Key: "/etc/client.key", CA: "/data/etcd/ca.pem",
				Username: "meshvip", PasswordFile: "/data/secrets/etcd", Timeout: 1500 * time.Millisecond, Lease: time.Minute,
			},
		},
		{
			"store etcd etcd-1 {\ntls ca.pem\n}",
			EtcdConfig{Endpoints: "https://etcd-1:2379", Prefix: "/meshvip/", CA: "/data/ca.pem", Timeout: 5 * time.Second, Lease: 10 * time.Second},
		},
		{
			"store etcd 10.0.0.2:2379 https://etcd {\ntls a b\n}",
			EtcdConfig{
				Endpoints: "https://10.0.0.2:2379 https://etcd:2379", Prefix: "/meshvip/", Cert: "/data/a", Key: "/data/b",
				Timeout: 5 * time.Second, Lease: 10 * time.Second,
			},
		},
		{
			"store etcd [::1] localhost:1 {\n}",
			EtcdConfig{Endpoints: "http://[::1]:2379 http://localhost:1", Prefix: "/meshvip/", Timeout: 5 * time.Second, Lease: 10 * time.Second},
		},
	} {
		got := etcdOf(t, tc.lines)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tc.lines, diff)
		}
		if list := got.EndpointList(); strings.Join(list, " ") != tc.want.Endpoints || !slices.IsSorted(list) {
			t.Errorf("%q: endpoints %q", tc.lines, list)
		}
	}
}

// Each case is lines inside the block of meshvip, from line 2 on.
func TestErrorsOfAStoreInEtcdSayWhereWhatAndWhatInstead(t *testing.T) {
	t.Parallel()
	const example = `"store etcd http://127.0.0.1:2379"`
	// in returns the property inside the block of a store, on line 3.
	in := func(lines string) string { return "store etcd http://127.0.0.1:2379 {\n" + lines + "\n}" }
	for _, tc := range []struct {
		lines string
		want  []string
	}{
		{"store etcd", []string{"Testfile:2", "needs the addresses", example}},
		{"store etcd {\nlease 5s\n}", []string{"Testfile:2", "needs the addresses"}},
		{"store etcd ftp://a:1", []string{"Testfile:2", "store etcd 'ftp://a:1' is neither http nor https", example}},
		{"store etcd unix:///run/etcd", []string{"neither http nor https"}},
		{"store etcd http://", []string{"'http://' has no host", example}},
		{"store etcd \"\"", []string{"'' has no host"}},
		{"store etcd http://:2379", []string{"has no host"}},
		{"store etcd ::1", []string{"'::1' is not a URL or HOST:PORT"}},
		{"store etcd [fe80::1%25eth0]:2379", []string{"has no host that is an IP address or a name"}},
		{"store etcd http://a%C2%A0b:2379", []string{"has no host that is an IP address or a name"}},
		{"store etcd a,b", []string{"has no host that is an IP address or a name"}},
		{"store etcd a:0", []string{"'a:0' has no port from 1 to 65535"}},
		{"store etcd a:65536", []string{"has no port from 1 to 65535"}},
		{"store etcd a:b", []string{"is not a URL or HOST:PORT"}},
		{"store etcd http://a:1/v3", []string{"has more than a host and a port", `"prefix /meshvip/"`}},
		{"store etcd http://a:1?b", []string{"has more than a host and a port"}},
		{"store etcd \"http://a:1#b\"", []string{"has more than a host and a port"}},
		{"store etcd http://user:secret@a:1", []string{"has a user or a password", `"credentials USER FILE"`, "user:xxxxx@a"}},
		{"store etcd https://a http://b", []string{"Testfile:2: store etcd has 'https://a' in https and 'http://b' in http", "in one way"}},
		{"store etcd https://a b", []string{"'https://a' in https and 'b' in http"}},
		{"store etcd https://a http://b {\nlease 5s\ntls ca\n}", []string{"Testfile:4: tls is stated, and store etcd 'http://b' (Testfile:2) is plain http", "write https there"}},
		{in("prefx /a/"), []string{"Testfile:3", "unknown property 'prefx' in the block of store", "prefix, tls, credentials, timeout, lease"}},
		{in("prefix"), []string{"Testfile:3", `"prefix /meshvip/"`}},
		{in("prefix a/b"), []string{"Testfile:3", "prefix 'a/b' does not begin with a slash", `"prefix /a/b/"`}},
		{in("prefix //"), []string{"prefix '//' is all of etcd", `"prefix /meshvip/"`}},
		{in("prefix /a /b"), []string{`"prefix /meshvip/"`}},
		{in("tls"), []string{"Testfile:3", `"tls CA"`, `"tls CERT KEY"`, `"tls CERT KEY CA"`, "leave the line out and write https"}},
		{in("tls a b c d"), []string{`"tls CERT KEY CA"`}},
		{in("tls a \"\""), []string{`"tls CERT KEY CA"`}},
		{in("tls ca"), []string{"Testfile:3: tls is stated", "'http://127.0.0.1:2379' (Testfile:2) is plain http", "or remove the line tls"}},
		{in("credentials meshvip"), []string{"Testfile:3", `"credentials meshvip /etc/meshvip/etcd-password"`}},
		{in("credentials \"\" file"), []string{`"credentials meshvip /etc/meshvip/etcd-password"`}},
		{in("credentials a b c"), []string{`"credentials meshvip /etc/meshvip/etcd-password"`}},
		{in("timeout"), []string{"Testfile:3", `"timeout 5s"`}},
		{in("timeout 0s"), []string{"timeout '0s' is not a positive duration", `"timeout 5s"`}},
		{in("timeout 5"), []string{"timeout '5' is not a positive duration with its unit"}},
		{in("\nlease 1s"), []string{"Testfile:4", "lease '1s' is not a duration of whole seconds from 2s to 1h", `"lease 10s"`}},
		{in("lease 2500ms"), []string{"lease '2500ms' is not a duration of whole seconds"}},
		{in("lease 2h"), []string{"lease '2h' is not"}},
		{in("lease 10"), []string{"lease '10' is not"}},
		{in("lease"), []string{`"lease 10s"`}},
		{in("lease 5s\n\nlease 5s"), []string{"Testfile:5", "property 'lease' is stated twice, first at Testfile:3"}},
		{in("lease 5s {\n}"), []string{"Testfile:3", "property 'lease' takes no block"}},
		{in("lease 5s }"), []string{"Testfile:3", "'lease' has a brace", "the line of store"}},
		{"store bolt a {\n}", []string{"Testfile:2", "property 'store bolt' takes no block"}},
		{"store memory {\n}", []string{"Testfile:2", "property 'store memory' takes no block"}},
		{"store etcd http://a\nstore memory", []string{"Testfile:3", "property 'store' is stated twice"}},
	} {
		_, err := parseIn("/data", "meshvip mesh {\n"+tc.lines+"\n}")
		if err == nil {
			t.Errorf("%q is accepted", tc.lines)
			continue
		}
		for _, want := range tc.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q: the error lacks %q:\n%v", tc.lines, want, err)
			}
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the error shows the password:\n%v", tc.lines, err)
		}
	}
}

func TestAStoreInEtcdIsTheSameHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	a := mustParse(t, "pool 240.0.0.0/8\nsource file r\nstore etcd http://a http://b:2379 {\nprefix /x\n}")
	b := mustParse(t, "ttl 5\nstore etcd B:2379 A B {\nprefix /x/\nlease 10s\n}")
	groups, err := group([]Config{a, b, mustParse(t, "ttl 6")})
	if err != nil {
		t.Fatal(err)
	}
	if len(groups) != 1 || len(groups[0].blocks) != 3 || groups[0].id != "etcd http://a:2379 http://b:2379 /x/" {
		t.Errorf("groups %+v", groups)
	}
	for _, other := range []string{"store etcd http://a http://b", "store etcd http://a {\nprefix /x\n}", "store memory"} {
		groups, err := group([]Config{a, mustParse(t, "pool 241.0.0.0/8\nsource file r\n"+other)})
		if err != nil || len(groups) != 2 {
			t.Errorf("%q shares the table: %v, %v", other, groups, err)
		}
	}
}

func TestBlocksThatReachOneTableInTwoWaysAreAnErrorThatNamesBothLines(t *testing.T) {
	t.Parallel()
	whole := "pool 240.0.0.0/8\nsource file r\nstore etcd https://a https://b {\ntls cert key ca\ncredentials u p\ntimeout 1s\nlease 4s\n}"
	for lines, said := range map[string]string{
		"tls cert key\ncredentials u p\ntimeout 1s\nlease 4s":    "(tls /data/cert /data/key, credentials u /data/p, timeout 1s, lease 4s)",
		"tls ca\ncredentials u p\ntimeout 1s\nlease 4s":          "(tls /data/ca, credentials u /data/p, timeout 1s, lease 4s)",
		"tls cert key ca\ntimeout 1s\nlease 4s":                  "(tls /data/cert /data/key /data/ca, timeout 1s, lease 4s)",
		"tls cert key ca\ncredentials u q\ntimeout 1s\nlease 4s": "credentials u /data/q",
		"tls cert key ca\ncredentials u p\nlease 4s":             "credentials u /data/p, lease 4s)",
		"tls cert key ca\ncredentials u p\ntimeout 1s":           "credentials u /data/p, timeout 1s)",
		"": "Testfile:3: store is etcd https://a:2379 https://b:2379, but ",
	} {
		_, err := group([]Config{mustParse(t, whole), mustParse(t, "ttl 5\nstore etcd https://b https://a {\n"+lines+"\n}")})
		if err == nil {
			t.Errorf("%q: no error", lines)
			continue
		}
		for _, want := range []string{"Testfile:3: store is etcd https://a:2379 https://b:2379", said, "Testfile:4 has etcd ", "the same in both"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q: the error lacks %q:\n%v", lines, want, err)
			}
		}
	}
	other := EtcdConfig{Endpoints: "http://a:2379", Prefix: "/x/", Timeout: defaultEtcdTimeout, Lease: defaultEtcdLease}
	if got, want := (StoreConfig{Kind: "etcd", Etcd: other}).String(), "etcd http://a:2379 (prefix /x/)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAReplicaThatOnlyFollowsNeedsNoSource(t *testing.T) {
	t.Parallel()
	const etcd = "\nstore etcd http://127.0.0.1:2379"
	for lines, want := range map[string]string{
		"":                                  "",
		"pool 240.0.0.0/8":                  "",
		"pool 240.0.0.0/8\nsource file r":   "",
		"source file r":                     `"pool 240.0.0.0/8"`,
		"static a 240.0.0.1":                `"pool 240.0.0.1/32"`,
		"admin":                             `"admin unix:meshvip.sock"`,
		"admin\npool 240.0.0.0/8":           "a store in etcd has no file",
		"admin unix:sock":                   "",
		"ttl 60\ncooldown 59s":              "cooldown is 59s",
		"pool 240.0.0.0/8\nmax_release 5":   "",
		"publish p\nmeshes a\nstale serve":  "",
		"pool 240.0.0.0/8\nkuma_domain a.b": "",
	} {
		c, err := parseIn("/data", "meshvip mesh {\n"+lines+etcd+"\n}")
		if err == nil {
			_, err = group([]Config{c})
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", lines, err, want)
		}
	}
}

func TestAPasswordInTheOpenIsKnown(t *testing.T) {
	t.Parallel()
	for lines, want := range map[string]bool{
		"http://10.0.0.1 {\ncredentials u p\n}":                true,
		"http://127.0.0.1 http://etcd-2 {\ncredentials u p\n}": true,
		"http://10.0.0.1":                                           false,
		"https://10.0.0.1 {\ncredentials u p\n}":                    false,
		"10.0.0.1 {\ntls ca\ncredentials u p\n}":                    false,
		"http://127.1.2.3 [::1] LocalHost {\ncredentials u p\n}":    false,
		"http://localhost.example.org {\ncredentials u p\n}":        true,
		"http://localhost http://[fd00::1] {\ncredentials u p\n}":   true,
		"https://localhost https://[fd00::1] {\ncredentials u p\n}": false,
	} {
		if got := etcdOf(t, "store etcd "+lines).PlaintextCredentials(); got != want {
			t.Errorf("%q: %v", lines, got)
		}
	}
}
