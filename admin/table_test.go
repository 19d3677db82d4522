package admin_test

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/admin"
	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
)

// wantCode fails the test unless err is an answer with a status and a code, and
// says what is wanted.
func wantCode(t testing.TB, err error, status int, code admin.Code, text string) {
	t.Helper()
	var e *admin.Error
	if !errors.As(err, &e) || e.Status != status || e.Code != code || !strings.Contains(e.Message, text) {
		t.Errorf("got %+v, want %d %s with %q", err, status, code, text)
	}
}

func TestTheStatusTellsOfTheServerAndItsTable(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.apply(full(set("m", "0:web", "0:db"), set("n", "0:web")))
	s := must[admin.Status](t)(r.Status(t.Context()))
	if s.Version != "v1.2.3" || s.Store != "memory" || s.StoreID == "" || s.Serial == 0 || s.Revision != 1 || !s.Synced || !s.Loaded || s.Offline {
		t.Errorf("status %+v", s)
	}
	if s.CooldownSeconds != 3600 || !s.Started.Equal(time.Unix(1e9, 5e8)) || s.Counts.Entries != 2 || s.Counts.Meshes != 2 ||
		!slices.Equal(s.Zones, []string{"mesh.", "vip.test."}) || !strings.Contains(s.MaxRelease, "10%") {
		t.Errorf("status %+v", s)
	}
	m := must[admin.Meshes](t)(r.Meshes(t.Context()))
	if want := []admin.Mesh{{Name: "m", Entries: 2}, {Name: "n", Entries: 1}}; !slices.Equal(m.Meshes, want) {
		t.Errorf("meshes %+v", m)
	}
}

func TestPagesTogetherAreTheTable(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	odd := "0:\xff\x00 \n"
	r.apply(full(set("m", append(many(25), odd, "3:m/api", "1:httpbin.org")...), set("n", "0:s-0003", "0:s-0004")))
	for mesh, want := range map[string]int{"": 28, "m": 28, "n": 2} {
		for _, n := range []int{1, 7, 28, 100} {
			var entries []string
			q := admin.TableQuery{Mesh: mesh, Limit: n}
			for {
				p := must[admin.TablePage](t)(r.Table(t.Context(), q))
				if p.Total != want || len(p.Rows) > n {
					t.Fatalf("mesh %q: a page of %d of %d", mesh, len(p.Rows), p.Total)
				}
				for _, row := range p.Rows {
					entries = append(entries, row.Entry)
				}
				if q.After = p.Next; q.After == "" {
					break
				}
			}
			if len(entries) != want || len(slices.Compact(slices.Clone(entries))) != want {
				t.Errorf("mesh %q in pages of %d: %d entries: %q", mesh, n, len(entries), entries)
			}
		}
	}
	var all []admin.Row
	for row, err := range r.Rows(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, row)
	}
	if len(all) != 28 || all[len(all)-1].Entry != "3:m/api" || all[len(all)-1].Kind != "MeshService" || all[len(all)-2].Entry != "1:httpbin.org" {
		t.Errorf("rows %+v", all)
	}
	p := must[admin.TablePage](t)(r.Table(t.Context(), admin.TableQuery{After: "0:s-0023", Limit: 1}))
	if len(p.Rows) != 1 || p.Rows[0].Entry != "0:s-0024" {
		t.Errorf("after an entry comes %+v", p)
	}
	if next, _ := base64.RawURLEncoding.DecodeString(p.Next); string(next) != "0:s-0024" {
		t.Errorf("the next page comes after %q", next)
	}
	_, err := r.Table(t.Context(), admin.TableQuery{Mesh: "nowhere"})
	wantCode(t, err, http.StatusNotFound, admin.NotFound, "nowhere")
}

func TestARowHasAllThatIsKnown(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *allocator.Config) {
		c.Layout.Statics = []allocator.Static{{Key: vip.Key{Name: "db"}, Addr: addr("240.0.0.9")}}
	})
	u := set("m", "0:db")
	u.Set = append(u.Set, given("3:m/api", "api.svc", "241.0.0.1", "241.0.0.2"))
	follows := set("m", "0:legacy").Set[0]
	follows.Terms = &vip.Terms{Follow: true}
	u.Set = append(u.Set, follows)
	r.apply(full(u, set("n", "0:DB")))
	p := must[admin.TablePage](t)(r.Table(t.Context(), admin.TableQuery{}))
	if len(p.Rows) != 3 || p.Serial == 0 || p.Revision != 1 {
		t.Fatalf("page %+v", p)
	}
	db, legacy, api := p.Rows[0], p.Rows[1], p.Rows[2]
	if db.Entry != "0:DB" || db.Kind != "service" || len(db.Addresses) != 2 || db.Addresses[0] != addr("240.0.0.9") ||
		!slices.Equal(db.Static, db.Addresses[:1]) || len(db.Listings) != 2 || db.Waiting || db.Follows {
		t.Errorf("db is %+v", db)
	}
	if l := db.Listings[0]; l.Mesh != "m" || l.Name != "db" || l.Outbounds[0].Port != 80 || l.Outbounds[0].Origin != "service" || l.Outbounds[0].Tags[vip.ServiceTag] != "db" {
		t.Errorf("db is listed as %+v", l)
	}
	if !legacy.Follows || legacy.Waiting || len(legacy.Addresses) != 0 || !legacy.Listings[0].Follow {
		t.Errorf("legacy is %+v", legacy)
	}
	if len(api.Given) != 2 || len(api.Addresses) != 0 || api.Listings[0].Hostnames[0] != "api.svc" || len(api.Listings[0].Given) != 2 {
		t.Errorf("api is %+v", api)
	}
}

func TestPoolsTellWhatTheyHaveAndWouldGive(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *allocator.Config) {
		c.Layout.Pools[0].Exclude, c.Layout.Pools[0].Reserve = ranges("240.0.0.3-240.0.0.4"), ranges("240.0.0.200-240.0.0.209")
		c.Layout.Pools = append(c.Layout.Pools, allocator.Ranges(netip.MustParsePrefix("10.0.0.0/24")).Pools...)
	})
	r.apply(full(set("m", "0:a", "0:b", "0:c")))
	r.apply(part(drop("m", "0:a", "0:b")))
	r.later(time.Hour)
	r.apply(part(set("m", "0:d"), vip.MeshUpdate{Mesh: "z"}))
	r.apply(part(drop("m", "0:d")))
	p := must[admin.Pools](t)(r.Pools(t.Context())).Pools
	if len(p) != 3 {
		t.Fatalf("pools %+v", p)
	}
	first := p[0]
	if first.Size != 252 || first.Live != 1 || first.Cooling != 1 || first.Past != 2 || first.Free != 250 || first.Next != addr("240.0.0.7") ||
		!slices.Equal(first.Exclude, []string{"240.0.0.3-240.0.0.4"}) || !slices.Equal(first.Reserve, []string{"240.0.0.200-240.0.0.209"}) {
		t.Errorf("the first pool is %+v", first)
	}
	r.configure(func(c *allocator.Config) {
		c.Layout = allocator.Ranges(netip.MustParsePrefix("10.0.0.0/24"))
		c.Layout.Pools[0].Drain = true
	})
	p = must[admin.Pools](t)(r.Pools(t.Context())).Pools
	if len(p) != 3 || !p[0].Drain || p[0].Next.IsValid() || !p[1].Retired || p[1].Drain || p[1].Next.IsValid() {
		t.Errorf("pools %+v", p)
	}
}
