package allocator_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
)

// published is a row as one mesh's table has it.
func published(mesh, name string, addrs ...string) *vip.Row {
	r := &vip.Row{Entry: vip.Entry{Name: name}, Listings: []vip.Listing{{Mesh: mesh, Name: name}}}
	for _, s := range addrs {
		if a := addr(s); a.Is4() {
			r.V4 = a
		} else {
			r.V6 = a
		}
	}
	return r
}

func TestAPublishedTableIsTakenOverWithItsAddresses(t *testing.T) {
	t.Parallel()
	rows := []*vip.Row{
		published("b", "web", "10.0.0.6", "fd00::5"), published("a", "Web", "10.0.0.6"),
		published("a", "broadcast", "10.0.0.7"),                                   // kept, though it would not be given out
		published("a", "claim", "10.0.0.3"), published("a", "claims", "10.0.0.3"), // the smaller key has it
		published("a", "moved", "10.0.0.1"), published("b", "moved", "10.0.0.2"), // the first mesh's
		published("b", "outside", "10.9.9.9"), published("b", "waits"),
	}
	for range 20 {
		store := &faulty{Store: memstore.New()}
		a := open(t, store, nil, allocator.Config{Layout: layout("10.0.0.0/29", "fd00::/64")})
		n, refused, err := a.Adopt(t.Context(), rows)
		if err != nil || n != 4 || store.commits != 1 {
			t.Fatalf("%d taken over in %d commits, %v", n, store.commits, err)
		}
		want := []string{
			"0:claims does not keep 10.0.0.3: 0:claim has it",
			"0:moved does not keep 10.0.0.2: an earlier mesh gives it [10.0.0.1]",
			"0:outside does not keep 10.9.9.9: it lies in no pool",
		}
		if got := errors.Join(refused...); got == nil || !strings.Contains(got.Error(), want[0]) || strings.Count(got.Error(), "\n") != 2 ||
			!strings.Contains(got.Error(), want[1]) || !strings.Contains(got.Error(), want[2]) {
			t.Errorf("refused: %v", got)
		}
		wantTable(t, a, map[string]string{
			"web": "10.0.0.6 fd00::5", "broadcast": "10.0.0.7", "claim": "10.0.0.3", "claims": "", "moved": "10.0.0.1", "outside": "", "waits": "",
		})
		if got := a.Meshes(); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("meshes %q", got)
		}
		// Those without an address get what nobody has.
		tick(t, a)
		wantTable(t, a, map[string]string{
			"web": "10.0.0.6 fd00::5", "broadcast": "10.0.0.7 fd00::", "claim": "10.0.0.3 fd00::1", "claims": "10.0.0.2 fd00::2",
			"moved": "10.0.0.1 fd00::3", "outside": "10.0.0.4 fd00::4", "waits": "10.0.0.5 fd00::6",
		})
		slices.Reverse(rows)
	}
}

func TestOnlyAnEmptyTableTakesRowsOver(t *testing.T) {
	t.Parallel()
	for _, prepare := range []func(a *allocator.Allocator){
		func(a *allocator.Allocator) { apply(t, a, full(set("m", "web"))) },
		func(a *allocator.Allocator) { apply(t, a, full(set("m", "web"))); apply(t, a, full(set("m"))) },
	} {
		a := open(t, memstore.New(), nil, allocator.Config{Layout: layout("10.0.0.0/29")})
		prepare(a)
		before := fmt.Sprint(table(a))
		if _, _, err := a.Adopt(t.Context(), []*vip.Row{published("m", "x", "10.0.0.5")}); err == nil || fmt.Sprint(table(a)) != before {
			t.Errorf("%v, the table is %v", err, table(a))
		}
	}
	s := allocator.State{Meta: allocator.Meta{ID: "x"}, Damaged: []allocator.Damage{{Place: "addresses/10.0.0.1", Err: errFault, Addr: addr("10.0.0.1")}}}
	a := open(t, &canned{Store: memstore.New(), state: s}, nil, allocator.Config{Layout: allocator.Ranges(prefixes("10.0.0.0/29")[0])})
	if _, _, err := a.Adopt(t.Context(), []*vip.Row{published("m", "x", "10.0.0.1")}); err == nil || !strings.Contains(err.Error(), "1 records set aside") {
		t.Errorf("a table with a record set aside: %v", err)
	}
}
