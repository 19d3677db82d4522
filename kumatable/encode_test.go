package kumatable

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/meshvip/coredns-meshvip/vip"
	"pgregory.net/rapid"
)

type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

// plain returns r as a table of one mesh can have it: one listing, one address.
func plain(r *vip.Row, l vip.Listing) *vip.Row {
	p := &vip.Row{Entry: spelled(r, l), V4: r.V4, V6: r.V6, Listings: []vip.Listing{{Mesh: l.Mesh, Name: l.Name, Outbounds: l.Outbounds}}}
	if p.V4.IsValid() {
		p.V6 = netip.Addr{}
	}
	return p
}

// distinct leaves the first of the rows with one spelling: a text has a key
// once.
func distinct(rows []*vip.Row) []*vip.Row {
	seen := make(map[vip.Entry]bool)
	return slices.DeleteFunc(slices.Clone(rows), func(r *vip.Row) bool {
		again := seen[r.Entry]
		seen[r.Entry] = true
		return again
	})
}

// check encodes rows, and wants those back that fit says the format can carry,
// and the others told.
func check(t fataler, rows []*vip.Row, encode func(string, []*vip.Row) ([]byte, error), fit func(*vip.Row) (*vip.Row, bool)) {
	t.Helper()
	rows = distinct(rows)
	var want []*vip.Row
	lost := 0
	for _, r := range rows {
		l, ok := r.Listing("m")
		if !ok || r.Entry.Kind.OfMesh() {
			continue
		}
		if p, ok := fit(plain(r, l)); ok {
			if foreign(p.Entry, append(p.Addrs(), p.V4)[0], p.Listings[0].Outbounds) == "" {
				want = append(want, p)
			}
		} else {
			lost++
		}
	}
	slices.SortStableFunc(want, compareRows)
	data, err := encode("m", rows)
	var aside SetAside
	if errors.As(err, &aside); len(aside) != lost || (err != nil) != (lost > 0) {
		t.Fatalf("set aside %v; want %d", err, lost)
	}
	got, bad, err := Decode("m", data)
	if err != nil || len(bad) > 0 {
		t.Fatalf("%v, %v, reading\n%s", err, bad, data)
	}
	if !slices.EqualFunc(got.Rows, want, (*vip.Row).Equal) {
		t.Fatalf("%s came back as %s, from\n%s", show(Table{Rows: want}), show(got), data)
	}
}

func carries(r *vip.Row) bool { return Carriable(r, r.Listings[0]) == nil }

func checkRoundTrip3(t fataler, rows []*vip.Row) {
	t.Helper()
	check(t, rows, Encode3, func(r *vip.Row) (*vip.Row, bool) { return r, carries(r) })
}

func checkRoundTrip4(t fataler, rows []*vip.Row) {
	t.Helper()
	check(t, rows, Encode4, func(r *vip.Row) (*vip.Row, bool) {
		l := &r.Listings[0]
		if len(l.Outbounds) == 0 && r.Entry.Kind == vip.Service {
			l.Outbounds = []vip.Outbound{outbound(0, "service", l.Name)}
		}
		ok := carries(r) && len(l.Outbounds) > 0
		l.Outbounds = slices.Clone(l.Outbounds)
		for i, o := range l.Outbounds {
			service, tagged := o.TagMap()[vip.ServiceTag]
			switch r.Entry.Kind {
			case vip.Service:
				ok = ok && service == l.Name && o.Origin != "kubernetes" && o.Origin != "svc" && o.Origin != "k8s" &&
					!strings.HasPrefix(o.Origin, "external-service:") && !strings.HasPrefix(o.Origin, "virtual-outbound:") && !strings.HasPrefix(o.Origin, "mesh-gateway:")
			case vip.Host:
				ok = ok && strings.HasPrefix(o.Origin, "external-service:")
			default:
				ok = ok && (strings.HasPrefix(o.Origin, "virtual-outbound:") || strings.HasPrefix(o.Origin, "mesh-gateway:"))
			}
			if tagged && service == "" {
				l.Outbounds[i].Tags = slices.DeleteFunc(slices.Clone(o.Tags), func(t vip.Tag) bool { return t.Key == vip.ServiceTag })
			}
		}
		slices.SortFunc(l.Outbounds, vip.Outbound.Compare)
		l.Outbounds = slices.CompactFunc(l.Outbounds, vip.Outbound.Equal)
		return r, ok
	})
}

func TestTablesComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rows := rows().Draw(t, "rows")
		checkRoundTrip3(t, rows)
		checkRoundTrip4(t, rows)
	})
}

func TestFormat4IsWhatKumaWrites(t *testing.T) {
	t.Parallel()
	rows := []*vip.Row{
		row(vip.Service, "m", "billing", ""),
		row(vip.Service, "m", "Orders", "240.0.0.1", outbound(0, "service", "Orders"), outbound(8080, "service", "Orders", "version", "<2>")),
		row(vip.Host, "m", "books.shop.example", "240.0.0.4", outbound(443, "external-service:books", "books")),
		row(vip.FQDN, "m", "north.shop", "fd00::6", outbound(80, "virtual-outbound:by-zone", "Orders", "version", "<2>")),
		row(vip.FQDN, "other", "south.shop", "fd00::7", outbound(80, "virtual-outbound:by-zone", "Orders")),
	}
	const want = `{"v":{
  "Orders":{"oe":[{"ap":[{"a":"240.0.0.1","o":"svc"}]},{"t":{"version":"<2>"},"ap":[{"a":"240.0.0.1","p":8080,"o":"svc"},{"a":"fd00::6","d":"north.shop","p":80,"o":"virtual-outbound:by-zone"}]}]},
  "billing":{"oe":[{"ap":[{"o":"svc"}]}]},
  "books":{"oe":[{"ap":[{"a":"240.0.0.4","d":"books.shop.example","p":443,"o":"external-service:books"}]}]}
}}
`
	got, err := Encode4("m", rows)
	if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	if got, err := Encode4("nobody", rows); string(got) != "{}\n" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestFormat4SaysWhatItCannotCarry(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]*vip.Row{
		`entry "1:a.shop": it has no outbound, and format 4 has entries by their outbounds alone`:                    row(vip.Host, "m", "a.shop", "240.0.0.1"),
		`entry "2:a.shop": format 4 tells types by origins, and the origin "service" is not that of a fqdn`:          row(vip.FQDN, "m", "a.shop", "240.0.0.1", outbound(80, "service", "a")),
		`entry "0:a": format 4 has services by their tag, and it has an outbound with another one, "b"`:              row(vip.Service, "m", "a", "240.0.0.1", outbound(80, "service", "b")),
		`entry "0:a": format 4 tells types by origins, and the origin "external-service:a" is not that of a service`: row(vip.Service, "m", "a", "240.0.0.1", outbound(80, "external-service:a", "a")),
		`entry "0:\xff": its name is not UTF-8, which JSON and YAML need; correct it in the resource that gives it`:  row(vip.Service, "m", "\xff", "240.0.0.1"),
	} {
		good := row(vip.Service, "m", "good", "240.0.0.9")
		alone, _ := Encode4("m", []*vip.Row{good})
		got, err := Encode4("m", []*vip.Row{r, good})
		if err == nil || err.Error() != "1 left out: "+want {
			t.Errorf("%v, want %s", err, want)
		}
		if string(got) != string(alone) {
			t.Errorf("want the good row alone, got %s", got)
		}
	}
}

func TestManyEntriesSetAsideAreToldShortly(t *testing.T) {
	t.Parallel()
	var rows []*vip.Row
	for i := range 5000 {
		rows = append(rows, row(vip.Service, "m", fmt.Sprintf("%05d\xff", i), ""))
	}
	_, err := Encode3("m", rows)
	var aside SetAside
	if !errors.As(err, &aside) || len(aside) != 5000 {
		t.Fatalf("error %v", err)
	}
	if text := err.Error(); len(text) > 1000 || !strings.HasPrefix(text, "5000 left out: ") || !strings.HasSuffix(text, "; and 4997 more") {
		t.Errorf("error %s", text)
	}
}
