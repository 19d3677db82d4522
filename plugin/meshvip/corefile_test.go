package meshvip

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// corefile writes a Corefile into a directory of its own.
func corefile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "Corefile")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestACorefileIsReadForToolsAsCoreDNSReadsIt(t *testing.T) {
	t.Setenv("MESHVIP_TEST_POOL", "240.0.0.0/16")
	path := corefile(t, `(common) {
    errors
    root /srv
}
mesh:1053 240.0.0.0/16:1053 {
    import common
    meshvip {
        pool {$MESHVIP_TEST_POOL} {
            exclude 240.0.0.9
        }
        source file resources
        source kuma https://127.0.0.1:5682/ {
            follow
        }
        store bolt tables/vips.db
        cooldown 2h
        kuma_zone west
        admin
    }
}
example.org {
    meshvip {
        meshes default
    }
}
other {
    whoami
}
`)
	tables, err := ReadCorefile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(tables) != 1 {
		t.Fatalf("tables %+v, want one", tables)
	}
	got := tables[0]
	if got.Store != "/srv/tables/vips.db" || got.Admin != "unix:/srv/tables/vips.db.sock" || got.Place != "Corefile:7" {
		t.Errorf("store %q, admin %q, place %q", got.Store, got.Admin, got.Place)
	}
	if !slices.Equal(got.Zones, []string{"mesh.", "example.org."}) || !slices.Equal(got.Dirs, []string{"/srv/resources"}) {
		t.Errorf("zones %q, directories %q", got.Zones, got.Dirs)
	}
	if got.Cooldown != 2*time.Hour || got.KumaZone != "west" || got.KumaDomain != "mesh" {
		t.Errorf("cooldown %v, zone %q, domain %q", got.Cooldown, got.KumaZone, got.KumaDomain)
	}
	if len(got.Layout.Pools) != 1 || got.Layout.Pools[0].Prefix.String() != "240.0.0.0/16" || len(got.Layout.Pools[0].Exclude) != 1 {
		t.Errorf("layout %+v", got.Layout)
	}
}

func TestATableInEtcdIsReadForTools(t *testing.T) {
	t.Parallel()
	tables, err := ReadCorefile(corefile(t, `mesh {
    root /srv
    meshvip {
        store etcd etcd-1 etcd-2 {
            tls ca.pem
        }
    }
}
example.org {
    meshvip {
        pool 240.0.0.0/16
        source file resources
        store memory
    }
}
`))
	if err != nil {
		t.Fatal(err)
	}
	if len(tables) != 2 || tables[0].Etcd == nil || tables[1].Etcd != nil {
		t.Fatalf("tables %+v", tables)
	}
	got := tables[0]
	if e := got.Etcd; e.Endpoints != "https://etcd-1:2379 https://etcd-2:2379" || e.CA != "/srv/ca.pem" || e.Prefix != "/meshvip/" {
		t.Errorf("etcd %+v", e)
	}
	if got.Store != "" || got.Admin != "" || !slices.Equal(got.Zones, []string{"mesh."}) || len(got.Layout.Pools) != 0 {
		t.Errorf("table %+v", got)
	}
}

func TestACorefileThatCoreDNSWouldRefuseIsAnErrorForTools(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                           "no server block has the plugin meshvip",
		"mesh {\n    whoami\n}\n":    "no server block has the plugin meshvip",
		"mesh {\n    meshvip {\n":    "Corefile",
		"mesh {\n    meshvip\n}\n":   "Corefile:2: meshvip has neither a pool nor a source",
		"mesh {\n    import none\n}": "none",
		"mesh {\n    meshvip {\n        pol 240.0.0.0/8\n    }\n}\n":       "Corefile:3 - Error during parsing: unknown property 'pol'",
		"mesh mesh {\n    meshvip {\n        pool 240.0.0.0/8\n    }\n}\n": "mesh",
	} {
		path := corefile(t, text)
		_, err := ReadCorefile(path)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: error %v, want one with %q and the path", text, err, want)
		}
	}
	if _, err := ReadCorefile(filepath.Join(t.TempDir(), "Corefile")); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("error %v of a file that is not there", err)
	}
}
