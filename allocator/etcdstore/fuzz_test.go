package etcdstore

import (
	"testing"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/record"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// seeds are keys with values, as the tables of tests have them, and others.
var seeds = [][2]string{
	{"addresses/240.0.0.1", `{"owner":{"kind":0,"name":"backend"},"since":1764633600}`},
	{"addresses/fd00::1", `{"owner":{"kind":3,"of":"m","name":{"base64":"/w=="}},"released":true,"at":90,"mesh":"m"}`},
	{"entries/0/backend", `{"v4":"240.0.0.1","v6":"fd00::1"}`},
	{"entries/3/m/b%2Fc", `{}`},
	{"format", `{"format":1}`},
	{"import", `{"import":"x"}`},
	{"leader/694d", `replica`},
	{"meshes/m", `{"mesh":"m"}`},
	{"meshes/m/0/backend", `{"name":"Backend","outbounds":[{"port":80,"tags":[["k","v"]],"origin":"service"}],"static":["240.0.0.9"],"given":["10.0.0.1"],"hostnames":["x"],"follow":true}`},
	{"meta", `{"id":"x","revision":2,"clock":1,"generation":1,"synced":true,"options":"o","pools":[{"prefix":"240.0.0.0/4","next":"240.0.0.3"}],"quarantine":[{"from":"240.0.0.9","to":"240.0.0.12","until":3}],"cooldown":3,"commit":"c","after":"b","terms":[{"id":"t","from":1}]}`},
	{"serial", `{"serial":1}`},
	{"notes", `[null]`},
}

// FuzzValue: whatever a key and its value are, they are read or refused, and what
// is read is written as it was read.
func FuzzValue(f *testing.F) {
	for _, s := range seeds {
		f.Add(s[0], []byte(s[1]))
	}
	f.Fuzz(func(t *testing.T, key string, value []byte) {
		p, err := parseKey(key)
		if err != nil {
			return
		}
		in := make(texts)
		switch p.in {
		case keyAddresses:
			if addressKey(p.addr) != key {
				t.Fatalf("key %q is of %v", key, p.addr)
			}
			if h, err := decodeHolding(value, in); err == nil {
				again, err := decodeHolding([]byte(encode(allocator.HoldingRecord(h))), in)
				if err != nil || again != h {
					t.Fatalf("%+v is read as %+v, %v", h, again, err)
				}
			}
		case keyEntries:
			if entryKey(p.key) != key {
				t.Fatalf("key %q is of %v", key, p.key)
			}
			if v4, v6, err := decodeEntry(value); err == nil {
				a4, a6, err := decodeEntry([]byte(encode(entryRecord{v4, v6})))
				if err != nil || a4 != v4 || a6 != v6 {
					t.Fatalf("%v, %v is read as %v, %v, %v", v4, v6, a4, a6, err)
				}
			}
		case keyMeshes:
			if !p.listing() {
				if meshKey(p.mesh) != key {
					t.Fatalf("key %q is of mesh %q", key, p.mesh)
				}
				decodeMesh(value, p.mesh)
				return
			}
			if listingKey(p.mesh, p.key) != key {
				t.Fatalf("key %q is of %v in %q", key, p.key, p.mesh)
			}
			if l, err := decodeListing(value, p.mesh, p.key.Name, in); err == nil {
				again, err := decodeListing([]byte(encode(record.ListingOf(l))), p.mesh, p.key.Name, in)
				if err != nil || !again.Equal(l) {
					t.Fatalf("%+v is read as %+v, %v", l, again, err)
				}
			}
		case keyMeta:
			if m, at, err := decodeMeta(value, 1); err == nil {
				again, at2, err := decodeMeta([]byte(encode(m)), 1)
				if err != nil || encode(again) != encode(m) || at2.rev != at.rev || at2.term != at.term {
					t.Fatalf("%+v is read as %+v, %v", m, again, err)
				}
				m.descends(at)
			}
		case keySerial:
			decodeSerial(value)
		case keyFormat:
			checkFormat(value)
		}
	})
}

// FuzzTable: whatever keys somebody edits, a table is read, or an error says why not.
func FuzzTable(f *testing.F) {
	for _, s := range seeds {
		f.Add(s[0], []byte(s[1]), s[0], []byte(`{`))
	}
	f.Fuzz(func(t *testing.T, key1 string, value1 []byte, key2 string, value2 []byte) {
		l := newLoader("/p/")
		for _, s := range seeds {
			l.add(&mvccpb.KeyValue{Key: []byte("/p/" + s[0]), Value: []byte(s[1])})
		}
		l.add(&mvccpb.KeyValue{Key: []byte("/p/" + key1), Value: value1})
		l.add(&mvccpb.KeyValue{Key: []byte("/p/" + key2), Value: value2})
		state := l.end()
		for _, d := range state.Damaged {
			if d.Place == "" || d.Err == nil {
				t.Errorf("set aside: %+v", d)
			}
		}
	})
}

// FuzzTxn: whatever a watch tells, it is a patch or foreign.
func FuzzTxn(f *testing.F) {
	for _, s := range seeds {
		f.Add(s[0], []byte(s[1]), false)
		f.Add(s[0], []byte(nil), true)
	}
	f.Fuzz(func(t *testing.T, key string, value []byte, gone bool) {
		e := &clientv3.Event{Kv: &mvccpb.KeyValue{Key: []byte("/p/" + key), Value: value}}
		if gone {
			e.Type = clientv3.EventTypeDelete
		}
		events := []*clientv3.Event{e}
		for _, s := range seeds {
			if s[0] == "meta" || s[0] == "serial" {
				events = append(events, &clientv3.Event{Kv: &mvccpb.KeyValue{Key: []byte("/p/" + s[0]), Value: []byte(s[1])}})
			}
		}
		p, at, err := decodeTxn("/p/", events)
		if err == nil && (p.Base+1 != p.Meta.Revision || at.rev != p.Meta.Revision || p.Meta.Serial == 0) {
			t.Errorf("%+v, %+v", p, at)
		}
	})
}
