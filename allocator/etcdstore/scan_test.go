package etcdstore

import (
	"reflect"
	"testing"

	"github.com/meshvip/coredns-meshvip/allocator/record"
)

// scanned are values that most tables have.
var scanned = map[string]bool{
	`{"owner":{"kind":0,"name":"backend"}}`:                                                 true,
	`{"owner":{"kind":0,"name":"backend"},"since":1764633600}`:                              true,
	`{"owner":{"kind":3,"of":"m","name":"x"},"released":true,"at":90,"mesh":"m","since":1}`: true,
	`{}`:                                     true,
	`{"v4":"240.0.0.1"}`:                     true,
	`{"v6":"fd00::1"}`:                       true,
	`{"v4":"240.0.0.1","v6":"fd00::1"}`:      true,
	`{"name":"backend"}`:                     true,
	`{"name":"x","outbounds":[{}]}`:          true,
	`{"name":"x","outbounds":[{"port":80}]}`: true,
	`{"name":"x","outbounds":[{"tags":[["a","b"],["","x"]]},{"origin":"service"}]}`:                             true,
	`{"name":"x","outbounds":[{"port":80,"tags":[["kuma.io/service","x"]],"origin":"service"},{"port":65535}]}`: true,

	`{"name":"x","follow":true}`:                                  false,
	`{"name":"x\u00e9"}`:                                          false,
	`{"name":"é"}`:                                                false,
	`{"name":{"base64":"/w=="}}`:                                  false,
	`{"name":"x","outbounds":[]}`:                                 false,
	`{"name":"x","outbounds":[{"port":080}]}`:                     false,
	`{"name":"x","outbounds":[{"port":65536}]}`:                   false,
	`{"name":"x","outbounds":[{"port":80,}]}`:                     false,
	`{"name":"x","outbounds":[{"tags":[["a"]]}]}`:                 false,
	`{"name":"x","outbounds":[{"tags":[["a","b",]]}]}`:            false,
	`{"name":"x"`:                                                 false,
	`{"name":"x}`:                                                 false,
	`{"name":"x"}}`:                                               false,
	`{"v4":"240.0.0.01"}`:                                         false,
	`{"owner":{"kind":256,"name":"x"}}`:                           false,
	`{"owner":{"kind":-1,"name":"x"}}`:                            false,
	`{"owner":{"kind":0,"name":"x"},"since":1234567890123456789}`: false,
	`{"owner":{"kind":0,"name":"x"},"released":false}`:            false,
	``: false,
}

// scan reads a value as each of what it may be, and checks that what it reads is
// what JSON says.
func scan(t *testing.T, value []byte) (read bool) {
	t.Helper()
	in := make(texts)
	s := scanner{b: value, texts: in, known: "x"}
	if got, ok := s.holding(); ok {
		read = true
		sameJSON(t, value, got)
	}
	s = scanner{b: value, texts: in, known: "x"}
	if got, ok := s.entry(); ok {
		read = true
		sameJSON(t, value, got)
	}
	s = scanner{b: value, texts: in, known: "x"}
	if got, ok := s.listing(); ok {
		read = true
		sameJSON(t, value, got)
	}
	return read
}

func sameJSON[T record.Holding | record.Listing | entryRecord](t *testing.T, value []byte, got T) {
	t.Helper()
	var want T
	if err := decode(value, &want); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%q is read as %+v, and by JSON as %+v, %v", value, got, want, err)
	}
}

// TestWhatMostValuesAreIsScanned, and all else left to JSON.
func TestWhatMostValuesAreIsScanned(t *testing.T) {
	t.Parallel()
	for value, want := range scanned {
		if got := scan(t, []byte(value)); got != want {
			t.Errorf("%s is scanned: %v, want %v", value, got, want)
		}
	}
}

// FuzzScan: what is scanned is what JSON says.
func FuzzScan(f *testing.F) {
	for value := range scanned {
		f.Add([]byte(value))
	}
	f.Fuzz(func(t *testing.T, value []byte) { scan(t, value) })
}
