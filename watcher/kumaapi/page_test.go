package kumaapi

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// samples returns the folder with answers of real control planes, or skips.
func samples(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("MESHVIP_KUMA_SAMPLES")
	if dir == "" {
		t.Skip("MESHVIP_KUMA_SAMPLES is not set: it names a folder with api/*.json and api/live/*.json from control planes of Kuma")
	}
	return filepath.Join(dir, "api")
}

// fields reads what there is in text of out's fields.
func fields(text string, out any) { _ = json.Unmarshal([]byte(text), out) }

func TestPagesOfARunningControlPlaneAreRead(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]body{
		"dataplanes-page1.json": {total: 6, next: 2}, "dataplanes-page2.json": {total: 6, next: 4},
		"meshmultizoneservices.json": {total: 0, next: end}, "dataplanes.json": {total: 6, next: end},
	} {
		data, err := os.ReadFile(filepath.Join(samples(t), "live", name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := parse(data)
		items := want.total
		if want.next != end {
			items = 2
		}
		if err != nil || got.total != want.total || got.next != want.next || len(got.items) != items {
			t.Errorf("%s: %+v of %d items, %v", name, got, len(got.items), err)
		}
	}
}

func TestAnEmptyListMayBeNull(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"total":0,"items":null}`, `{"total":0,"items":[],"next":null}`, `{"total":0,"items":[],"next":""}`} {
		if b, err := parse([]byte(text)); err != nil || b.next != end || len(b.items) != 0 {
			t.Errorf("%s: %+v, %v", text, b, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"total":0,"items":[],"next":null}`, `{"total":1,"items":[{"type":"Mesh","name":"m"}],"next":"http://h/meshes?offset=1&size=1"}`,
		`{"total":-1}`, `{"items":null}`, `{"total":1e9,"items":[1]}`, `{"total":1,"items":{},"next":7}`, `[]`, ``, `{"total":0,"items":[],"next":"?offset=x"}`,
		`{"total":2,"items":[` + dp("m", "a", "x") + `,` + dp("m", "a", "x") + `]}`, "{\"total\":1,\"items\":[\"\xff\"]}",
	} {
		f.Add([]byte(seed))
	}
	r := reader{base: base}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := parse(data)
		if err != nil {
			if err.Error() == "" || b.items != nil || b.next != 0 {
				t.Errorf("%q: %+v, %q", data, b, err)
			}
			return
		}
		if b.total < 0 || b.next != end && b.next <= 0 {
			t.Errorf("%q: total %d, next %d", data, b.total, b.next)
		}
		for _, raw := range b.items {
			for _, k := range kinds {
				it := r.read(k, raw)
				if it.err == nil && (it.place == "" || it.resource.ID != it.id || it.id.Type != k.typ || it.resource.Where != it.place) {
					t.Errorf("%q as %s: %+v", raw, k.typ, it)
				}
				if it.err != nil && (it.err.Error() == "" || len(it.resource.Claims) > 0) {
					t.Errorf("%q as %s: %+v", raw, k.typ, it)
				}
				if whole := it.id.Name != "" && (it.id.Mesh != "") == k.meshed; whole != (it.place != "") {
					t.Errorf("%q as %s: place %q, identity %+v", raw, k.typ, it.place, it.id)
				}
			}
		}
	})
}
