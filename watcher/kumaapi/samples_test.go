package kumaapi

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/meshvip/coredns-meshvip/watcher"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
	"github.com/meshvip/coredns-meshvip/watcher/kumaapi/fakekuma"
)

// TestARunningControlPlaneIsReadAsItsFilesAre compares what the source makes of
// what a control plane listed with what the listings say as files.
func TestARunningControlPlaneIsReadAsItsFilesAre(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(samples(t), "live")
	files := watcher.NewDesired()
	for _, path := range fakekuma.Paths {
		data, err := os.ReadFile(filepath.Join(dir, path+".json"))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		rs, invalid, err := kuma.Decode(data)
		if err != nil || len(invalid) > 0 {
			t.Fatalf("%s: %v, %v", path, invalid, err)
		}
		var read []watcher.Resource
		for _, r := range rs {
			one, _, err := watcher.Read(r, path, kuma.Home{Zone: "default", Domain: "mesh"})
			if err != nil {
				t.Fatal(err)
			}
			read = append(read, one)
		}
		files.Put(path, read)
	}
	want := files.All()
	if want.Changes() < 20 {
		t.Fatalf("%d entries in the files", want.Changes())
	}
	for _, size := range []int{1, 2, 4, 1000} {
		k := fakekuma.New()
		k.Set(func(s *fakekuma.Settings) { s.PageSize = size })
		if err := k.Load(dir); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, batch(t, k, Options{}), cmpopts.EquateComparable(netip.Addr{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%d a page: %s", size, diff)
		}
	}
}

func TestTheListingsOfKumasTestsAreRead(t *testing.T) {
	t.Parallel()
	k := fakekuma.New()
	for path, name := range map[string]string{
		"meshes": "get-meshes.json", "dataplanes": "get-dataplanes.json", "external-services": "get-external-services.json", "zone-ingresses": "get-zone-ingresses.json",
	} {
		data, err := os.ReadFile(filepath.Join(samples(t), name))
		if err != nil {
			t.Fatal(err)
		}
		b, err := parse(data)
		if err != nil || b.total != len(b.items) || b.next != end {
			t.Fatalf("%s: %+v, %v", name, b, err)
		}
		for _, raw := range b.items {
			k.Put(path, string(raw))
		}
	}
	r := newRig(t, k, Options{}).pass().incomplete("")
	r.want("0:metrics 0:mobile 0:web mesh-3/0:svc-2 mesh-4/0:svc-3 mesh-5/0:svc-4").problems(`/zone-ingresses/ingress-zone-1: ZoneIngress "ingress-zone-1" names no zone`)
}
