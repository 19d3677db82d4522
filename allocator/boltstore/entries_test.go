package boltstore

import (
	"errors"
	"testing"

	"github.com/meshvip/coredns-meshvip/vip"
	"pgregory.net/rapid"
)

// TestEntriesAreFoundByTheirKeysAlone, whatever room there was for them at first.
func TestEntriesAreFoundByTheirKeysAlone(t *testing.T) {
	t.Parallel()
	// Few texts, so that keys resemble each other.
	similar := rapid.Custom(func(t *rapid.T) vip.Key {
		part := rapid.SampledFrom([]string{"a", "b", "ab", "ba", "aab", "\x00", "\x01a"})
		k := vip.Key{Kind: vip.Kind(rapid.IntRange(0, 5).Draw(t, "kind")), Name: part.Draw(t, "name") + part.Draw(t, "rest")}
		if k.Kind.OfMesh() {
			k.Mesh = part.Draw(t, "mesh")
		}
		return k
	})
	rapid.Check(t, func(t *rapid.T) {
		table := newEntryTable(rapid.SampledFrom([]int{0, 10, 1000}).Draw(t, "room"))
		want := make(map[vip.Key]int)
		for _, k := range rapid.SliceOfN(rapid.OneOf(someKey(), similar), 0, 200).Draw(t, "keys") {
			if _, ok := want[k]; ok {
				continue
			}
			want[k] = len(want)
			key := appendKey(nil, k)
			if e, err := table.add(key); err != nil || e.key() != k {
				t.Fatalf("%+v was added as %+v, %v", k, e, err)
			}
			clear(key) // it was bbolt's
		}
		for _, k := range append(rapid.SliceOfN(similar, 0, 50).Draw(t, "others"), keysOf(want)...) {
			i, ok := want[k]
			if !ok {
				i = -1
			}
			key := appendKey(nil, k)
			near := rapid.IntRange(0, len(want)).Draw(t, "near")
			if table.find(key) != i || table.findNear(near, key) != i || table.findNear(max(i, 0), key) != i {
				t.Fatalf("%+v is entry %d or %d or %d, want %d", k, table.find(key), table.findNear(near, key), table.findNear(max(i, 0), key), i)
			}
		}
	})
}

func keysOf(m map[vip.Key]int) (keys []vip.Key) {
	for k := range m {
		keys = append(keys, k)
	}
	return keys
}

// TestAKeyIsWrittenInOneWay: or two records could be of one entry.
func TestAKeyIsWrittenInOneWay(t *testing.T) {
	t.Parallel()
	for what, key := range map[string]string{
		"a longer length than need be": "\x03\x81\x00mname", "a length of ten bytes": "\x03\x81\x80\x80\x80\x80\x80\x80\x80\x80\x00mname",
		"no length": "\x03", "nothing": "", "a mesh cut short": "\x03\x05mesh", "capitals": "\x00\x00Web",
	} {
		if k, err := readKey(key); err == nil {
			t.Errorf("%s: read as %+v", what, k)
		} else if what == "capitals" && !errors.Is(err, errContent) {
			t.Error(err)
		}
	}
}
