package record_test

import (
	"encoding/json"
	"net/netip"
	"testing"

	"github.com/meshvip/coredns-meshvip/allocator/record"
	"github.com/meshvip/coredns-meshvip/vip"
)

// FuzzText: whatever bytes a text has, it is read as it was written.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "backend", "\"\\", "é\u2028<&>", "\x00\x7f", "\xff\xfe", `{"base64":"eA=="}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b, err := json.Marshal(record.Text(s))
		if err != nil {
			t.Fatal(err)
		}
		var got record.Text
		if err := json.Unmarshal(b, &got); err != nil || string(got) != s {
			t.Errorf("%q is written as %s and read as %q, %v", s, b, got, err)
		}
	})
}

// TestAListingIsReadAsItWasWritten with all that a mesh can say.
func TestAListingIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, want := range []vip.Listing{
		{Mesh: "m", Name: "web"},
		{Mesh: "m", Name: "\xff", Outbounds: []vip.Outbound{{}, {Port: 80, Origin: "service", Tags: []vip.Tag{{}, {Key: "k", Value: "web"}}}}},
		{Mesh: "m", Name: "Web", Terms: &vip.Terms{
			Static: []netip.Addr{netip.MustParseAddr("240.0.0.9")}, Given: []netip.Addr{netip.MustParseAddr("fd00::1")},
			Hostnames: []string{"a", "\xfe"}, Follow: true,
		}},
	} {
		b, err := json.Marshal(record.ListingOf(want))
		if err != nil {
			t.Fatal(err)
		}
		var rec record.Listing
		if err := json.Unmarshal(b, &rec); err != nil {
			t.Fatal(err)
		}
		if got := rec.In("m", "web", func(t record.Text) string { return string(t) }); !got.Equal(want) {
			t.Errorf("%+v is written as %s and read as %+v", want, b, got)
		}
	}
}

// TestAHoldingOfNobodyIsRefused.
func TestAHoldingOfNobodyIsRefused(t *testing.T) {
	t.Parallel()
	good := record.Holding{Owner: record.KeyOf(vip.Key{Kind: vip.MeshService, Mesh: "M", Name: "web"})}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for what, spoil := range map[string]func(*record.Holding){
		"no name":         func(h *record.Holding) { h.Owner.Name = "" },
		"no key":          func(h *record.Holding) { h.Owner.Name = "Web" },
		"no mesh":         func(h *record.Holding) { h.Owner.Of = "" },
		"no kind":         func(h *record.Holding) { h.Owner.Kind = 9 },
		"before all time": func(h *record.Holding) { h.At = -1 },
	} {
		bad := good
		if spoil(&bad); bad.Validate() == nil {
			t.Errorf("%s: %+v is a holding", what, bad)
		}
	}
}
