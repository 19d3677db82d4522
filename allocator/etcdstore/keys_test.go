package etcdstore

import (
	"net/netip"
	"testing"

	"github.com/meshvip/coredns-meshvip/vip"
	"pgregory.net/rapid"
)

// TestEveryKeyIsReadAsItWasWritten, whatever bytes are in it, and no two places
// have one.
func TestEveryKeyIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	text := rapid.Map(rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom([]byte("/%.: ~+aA0é\x00\xff\n")), rapid.Byte()), 1, 12),
		func(b []byte) string { return string(b) })
	key := rapid.Custom(func(t *rapid.T) vip.Key {
		e := vip.Entry{Kind: vip.Kind(rapid.IntRange(0, 5).Draw(t, "kind")), Name: text.Draw(t, "name")}
		if e.Kind.OfMesh() {
			e.Mesh = text.Draw(t, "of")
		}
		return e.Key()
	})
	written := make(map[string]place)
	rapid.Check(t, func(t *rapid.T) {
		k, mesh := key.Draw(t, "key"), text.Draw(t, "mesh")
		var b [16]byte
		copy(b[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "address"))
		v4, v6 := netip.AddrFrom4([4]byte(b[:4])), netip.AddrFrom16(b)
		for key, want := range map[string]place{
			addressKey(v4):      {in: keyAddresses, addr: v4},
			addressKey(v6):      {in: keyAddresses, addr: v6},
			entryKey(k):         {in: keyEntries, key: k},
			meshKey(mesh):       {in: keyMeshes, mesh: mesh},
			listingKey(mesh, k): {in: keyMeshes, mesh: mesh, key: k},
		} {
			got, err := parseKey(key)
			if err != nil || got != want {
				t.Fatalf("key %q is read as %+v, %v; want %+v", key, got, err, want)
			}
			if was, ok := written[key]; ok && was != want {
				t.Fatalf("key %q is of %+v and of %+v", key, was, want)
			}
			written[key] = want
		}
	})
}

// TestAKeyHasOneSpelling: what is written otherwise is no key of a table.
func TestAKeyHasOneSpelling(t *testing.T) {
	t.Parallel()
	for _, key := range []string{
		"", "/", "x", "x/y", "meta/", "addresses", "addresses/", "addresses/240.0.0.01", "addresses/fe80::1%25eth0", "addresses/fe80::1%eth0",
		"addresses/FD00::1", "addresses/fd00:0::1", "addresses/240.0.0.1/", "entries/", "entries/0", "entries/0/", "entries/00/a", "entries/+0/a",
		"entries/0/A", "entries/0/a/b", "entries/0/%61", "entries/0/%2f", "entries/0/%zz", "entries/6/a", "entries/256/a", "entries/3/a",
		"entries/3//a", "entries/3/m/", "entries/3/m/a/b", "meshes/%6d", "meshes/m/", "meshes/m/0", "meshes/m/0/a/b", "meshes/m/3/a",
	} {
		if p, err := parseKey(key); err == nil {
			t.Errorf("key %q is read as %+v", key, p)
		}
	}
	for _, key := range []string{"meta", "serial", "format", "import", "leader/", "leader/694d/x", "addresses/::", "meshes/", "meshes/%2F", "entries/5/m/a"} {
		if _, err := parseKey(key); err != nil {
			t.Errorf("key %q: %v", key, err)
		}
	}
}
