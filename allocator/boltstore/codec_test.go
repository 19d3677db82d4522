package boltstore

import (
	"bytes"
	"encoding/binary"
	"math"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
	"go4.org/netipx"
	"pgregory.net/rapid"
)

// Generators are made where they are used: parallel tests may not share them.

func someBytes(least, most int) *rapid.Generator[[]byte] {
	return rapid.SliceOfN(rapid.Byte(), least, most)
}

// someText returns any text, and those that recur.
func someText() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		if rapid.Bool().Draw(t, "recurs") {
			return rapid.SampledFrom(words[:]).Draw(t, "word")
		}
		return string(someBytes(0, 20).Draw(t, "text"))
	})
}

func someKey() *rapid.Generator[vip.Key] {
	return rapid.Custom(func(t *rapid.T) vip.Key {
		e := vip.Entry{Kind: vip.Kind(rapid.IntRange(0, 5).Draw(t, "kind")), Name: string(someBytes(1, 30).Draw(t, "name"))}
		if e.Kind.OfMesh() {
			e.Mesh = string(someBytes(1, 20).Draw(t, "mesh"))
		}
		return e.Key()
	})
}

func someTime() *rapid.Generator[time.Duration] {
	return rapid.Custom(func(t *rapid.T) time.Duration { return time.Duration(rapid.Int64Min(0).Draw(t, "time")) })
}

// someAddr returns addresses of n bytes, and none.
func someAddr(n int) *rapid.Generator[netip.Addr] {
	return rapid.Custom(func(t *rapid.T) netip.Addr {
		if rapid.Bool().Draw(t, "none") {
			return netip.Addr{}
		}
		a, _ := netip.AddrFromSlice(someBytes(n, n).Draw(t, "addr"))
		return a
	})
}

func somePool() *rapid.Generator[allocator.Pool] {
	return rapid.Custom(func(t *rapid.T) allocator.Pool {
		n := rapid.SampledFrom([]int{4, 16}).Draw(t, "family")
		a, _ := netip.AddrFromSlice(someBytes(n, n).Draw(t, "addr"))
		return allocator.Pool{
			Prefix: netip.PrefixFrom(a, rapid.IntRange(0, a.BitLen()).Draw(t, "bits")),
			Next:   someAddr(n).Draw(t, "next"), Retired: rapid.Bool().Draw(t, "retired"),
		}
	})
}

func someOutbound() *rapid.Generator[vip.Outbound] {
	return rapid.Custom(func(t *rapid.T) vip.Outbound {
		o := vip.Outbound{Port: rapid.Uint16().Draw(t, "port"), Origin: someText().Draw(t, "origin")}
		for range rapid.IntRange(0, 3).Draw(t, "tags") {
			o.Tags = append(o.Tags, vip.Tag{Key: someText().Draw(t, "key"), Value: someText().Draw(t, "value")})
		}
		return o
	})
}

func someTerms() *rapid.Generator[*vip.Terms] {
	return rapid.Custom(func(t *rapid.T) *vip.Terms {
		return &vip.Terms{
			Static:    []netip.Addr{someAddr(4).Draw(t, "static")},
			Given:     rapid.SliceOfN(someAddr(16), 0, 3).Draw(t, "given"),
			Hostnames: rapid.SliceOfN(someText(), 0, 3).Draw(t, "hostnames"),
			Follow:    rapid.Bool().Draw(t, "follow"),
		}
	})
}

// decodeHolding reads a holding with its owner.
func decodeHolding(key, value []byte) (allocator.Holding, error) {
	h, owner, err := readHolding(&interner{}, key, value)
	if err == nil {
		h.Owner, err = readKey(string(owner))
	}
	return h, err
}

// decodeListing reads a listing of an entry.
func decodeListing(name, mesh string, key, value []byte) (vip.Listing, error) {
	d := listings{name: name}
	return d.read(mesh, key, value)
}

// encodeListing1 writes a listing of version 1, as format 1 has them.
func encodeListing1(key []byte, l vip.Listing) []byte {
	b := appendText([]byte{1}, l.Name)
	b = binary.AppendUvarint(b, uint64(len(l.Outbounds)))
	for _, o := range l.Outbounds {
		b = appendText(binary.AppendUvarint(b, uint64(o.Port)), o.Origin)
		b = binary.AppendUvarint(b, uint64(len(o.Tags)))
		for _, t := range o.Tags {
			b = appendText(appendText(b, t.Key), t.Value)
		}
	}
	if !l.Terms.Empty() {
		b = appendTerms(b, l.Terms)
	}
	return seal(key, b)
}

func TestValuesComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key := []byte(someText().Draw(t, "record"))
		k := someKey().Draw(t, "key")
		if got, err := readKey(string(appendKey(nil, k))); err != nil || got != k {
			t.Fatalf("key %+v came back as %+v, %v", k, got, err)
		}

		h := allocator.Holding{Owner: k}
		if h.Released = rapid.Bool().Draw(t, "released"); h.Released {
			h.At, h.Mesh = someTime().Draw(t, "at"), someText().Draw(t, "last mesh")
		}
		h.Since = rapid.SampledFrom([]int64{0, 1, 1e9, math.MaxInt64, -1}).Draw(t, "since")
		if got, err := decodeHolding(key, encodeHolding(nil, key, h)); err != nil || got != h {
			t.Fatalf("holding %+v came back as %+v, %v", h, got, err)
		}

		row := &vip.Row{V4: someAddr(4).Draw(t, "v4"), V6: someAddr(16).Draw(t, "v6")}
		if v4, v6, err := decodeEntry(key, encodeEntry(nil, key, row)); err != nil || v4 != row.V4 || v6 != row.V6 {
			t.Fatalf("entry %v came back as %v, %v, %v", row.Addrs(), v4, v6, err)
		}

		l := vip.Listing{Mesh: someText().Draw(t, "mesh"), Name: someText().Draw(t, "name")}
		for range rapid.IntRange(0, 3).Draw(t, "outbounds") {
			l.Outbounds = append(l.Outbounds, someOutbound().Draw(t, "outbound"))
		}
		if rapid.Bool().Draw(t, "asks") {
			l.Terms = someTerms().Draw(t, "terms")
		}
		for _, value := range [][]byte{encodeListing(nil, key, l.Name, l), encodeListing(nil, key, "other", l), encodeListing1(key, l)} {
			if got, err := decodeListing(l.Name, l.Mesh, key, value); err != nil || !got.Equal(l) {
				t.Fatalf("listing %+v came back as %+v, %v", l, got, err)
			}
		}

		m := allocator.Meta{
			Serial: rapid.Uint32().Draw(t, "serial"), Revision: rapid.Uint64().Draw(t, "revision"), Clock: someTime().Draw(t, "clock"),
			Synced: rapid.Bool().Draw(t, "synced"), Options: someText().Draw(t, "options"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "pools") {
			m.Pools = append(m.Pools, somePool().Draw(t, "pool"))
		}
		for range rapid.IntRange(0, 2).Draw(t, "quarantines") {
			r := netipx.RangeOfPrefix(somePool().Draw(t, "range").Prefix)
			m.Quarantine = append(m.Quarantine, allocator.Quarantine{Range: r, Until: someTime().Draw(t, "until")})
		}
		if got, err := decodeMeta(key, encodeMeta(key, m)); err != nil || !reflect.DeepEqual(got, m) {
			t.Fatalf("meta %+v came back as %+v, %v", m, got, err)
		}

		id := someText().Draw(t, "id")
		if got, err := decodeID(key, encodeID(key, id)); err != nil || got != id {
			t.Fatalf("id %q came back as %q, %v", id, got, err)
		}
	})
}

// TestKeysAreOneForEachEntry: no two entries are written under one key.
func TestKeysAreOneForEachEntry(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := someKey().Draw(t, "a"), someKey().Draw(t, "b")
		if bytes.Equal(appendKey(nil, a), appendKey(nil, b)) != (a == b) {
			t.Fatalf("%+v and %+v are both %x", a, b, appendKey(nil, a))
		}
	})
}

// TestEveryFlippedBitOfAValueIsNoticed, also a value under another's key.
func TestEveryFlippedBitOfAValueIsNoticed(t *testing.T) {
	t.Parallel()
	key := []byte("key")
	value := encodeHolding(nil, key, allocator.Holding{Owner: vip.Key{Name: "web"}, Released: true, At: math.MaxInt64, Mesh: "m"})
	for i := range len(value) * 8 {
		v := bytes.Clone(value)
		v[i/8] ^= 1 << (i % 8)
		if h, err := decodeHolding(key, v); err == nil {
			t.Errorf("bit %d: %+v", i, h)
		}
	}
	for n := range len(value) {
		if h, err := decodeHolding(key, value[:n]); err == nil {
			t.Errorf("cut to %d bytes: %+v", n, h)
		}
	}
	if h, err := decodeHolding([]byte("kez"), value); err == nil {
		t.Errorf("under another key: %+v", h)
	}
}

// FuzzDecode decodes bytes as everything that a store holds; sealed, so that
// they get past the checksum.
func FuzzDecode(f *testing.F) {
	f.Add([]byte{})
	f.Add(encodeHolding(nil, nil, allocator.Holding{Owner: vip.Key{Name: "web"}, Released: true, At: 1, Mesh: "m"})[1:])
	f.Add(encodeEntry(nil, nil, &vip.Row{V4: netip.MustParseAddr("240.0.0.1"), V6: netip.MustParseAddr("fd00::1")})[1:])
	f.Add(encodeListing(nil, nil, "web", vip.Listing{Name: "web", Outbounds: []vip.Outbound{{Port: 80, Tags: []vip.Tag{{Key: "a", Value: "b"}}}}})[1:])
	f.Add(encodeHolding(nil, nil, allocator.Holding{Owner: vip.Key{Name: "web"}, Since: 1e9})[1:])
	f.Add(encodeListing(nil, nil, "web", vip.Listing{Name: "web", Terms: &vip.Terms{Follow: true}})[1:])
	f.Add(encodeMeta(nil, allocator.Meta{Quarantine: []allocator.Quarantine{{Range: netipx.RangeOfPrefix(netip.MustParsePrefix("240.0.0.0/8")), Until: 1}}})[1:])
	f.Add(encodeMeta(nil, allocator.Meta{Serial: 1, Pools: []allocator.Pool{{Prefix: netip.MustParsePrefix("240.0.0.0/8")}}})[1:])
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, content []byte) {
		key := []byte("key")
		value := seal(key, append([]byte{valueVersion}, content...))
		for _, version := range []byte{1, holdingVersion} {
			h, err := decodeHolding(key, seal(key, append([]byte{version}, content...)))
			if err != nil {
				continue
			}
			if again, err := decodeHolding(key, encodeHolding(nil, key, h)); err != nil || again != h || h.At < 0 || vip.Entry(h.Owner).Validate() != nil {
				t.Fatalf("holding %+v came back as %+v, %v", h, again, err)
			}
		}
		if v4, v6, err := decodeEntry(key, value); err == nil {
			row := &vip.Row{V4: v4, V6: v6}
			if v4.IsValid() && !v4.Is4() || v6.IsValid() && !v6.Is6() {
				t.Fatalf("addresses %v, %v of the wrong family", v4, v6)
			}
			if again4, again6, err := decodeEntry(key, encodeEntry(nil, key, row)); err != nil || again4 != v4 || again6 != v6 {
				t.Fatalf("entry %v came back as %v, %v, %v", row.Addrs(), again4, again6, err)
			}
		}
		for _, version := range []byte{1, listingVersion} {
			if l, err := decodeListing("web", "m", key, seal(key, append([]byte{version}, content...))); err == nil {
				if again, err := decodeListing("web", "m", key, encodeListing(nil, key, "web", l)); err != nil || !again.Equal(l) {
					t.Fatalf("listing %+v of version %d came back as %+v, %v", l, version, again, err)
				}
			}
		}
		if m, err := decodeMeta(key, value); err == nil {
			if again, err := decodeMeta(key, encodeMeta(key, m)); err != nil || !reflect.DeepEqual(again, m) || m.Clock < 0 {
				t.Fatalf("meta %+v came back as %+v, %v", m, again, err)
			}
		}
		if k, err := readKey(string(content)); err == nil {
			if again, err := readKey(string(appendKey(nil, k))); err != nil || again != k || vip.Entry(k).Key() != k {
				t.Fatalf("key %+v came back as %+v, %v", k, again, err)
			}
		}
		for _, decode := range []func() error{
			func() error { _, err := decodeHolding(key, content); return err },
			func() error { _, _, err := decodeEntry(key, content); return err },
			func() error { _, err := decodeListing("web", "m", key, content); return err },
			func() error { _, err := decodeMeta(key, content); return err },
			func() error { _, err := decodeID(key, content); return err },
		} {
			if err := decode(); err == nil && !bytes.Equal(content, seal(key, content[:max(0, len(content)-4)])) {
				t.Fatalf("%x was read, and has no checksum", content)
			}
		}
	})
}
