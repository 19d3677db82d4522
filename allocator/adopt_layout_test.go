package allocator_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/memstore"
	"github.com/meshvip/coredns-meshvip/vip"
)

// TestATableIsTakenOverUnderTheLayout: what the layout has for nobody, or for
// somebody else, is not taken over, and the others keep what they had, drained
// or not.
func TestATableIsTakenOverUnderTheLayout(t *testing.T) {
	t.Parallel()
	l := layout("10.0.0.0/28", "10.1.0.0/30")
	l.Pools[0].Exclude, l.Pools[0].Reserve = ranges("10.0.0.1-10.0.0.2"), ranges("10.0.0.3-10.0.0.5")
	l.Pools[1].Drain = true
	l.Statics = []allocator.Static{static("s", "10.0.0.7"), static("r", "10.0.0.4")}
	tagged := published("m", "tagged", "10.0.0.5")
	tagged.Listings[0].Terms = &vip.Terms{Static: asks("", "10.0.0.5").Terms.Static}
	rows := []*vip.Row{
		published("m", "excluded", "10.0.0.2"), published("m", "reserved", "10.0.0.3"), published("m", "r", "10.0.0.4"), tagged,
		published("m", "thief", "10.0.0.7"), published("m", "s", "10.0.0.8"), published("m", "fine", "10.0.0.9"), published("m", "drained", "10.1.0.2"),
	}
	store, c := &faulty{Store: memstore.New()}, &clock{}
	cfg := allocator.Config{Layout: l}
	a := open(t, store, c, cfg)
	n, refused, err := a.Adopt(t.Context(), rows)
	if err != nil {
		t.Fatal(err)
	}
	text := errors.Join(refused...).Error()
	for _, want := range []string{
		"0:excluded does not keep 10.0.0.2: 10.0.0.1-10.0.0.2 is excluded",
		"0:reserved does not keep 10.0.0.3: 10.0.0.3-10.0.0.5 is reserved for static addresses",
		"0:thief does not keep 10.0.0.7: 10.0.0.7 is the static address of 0:s",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not among\n%s", want, text)
		}
	}
	if len(refused) != 3 || n != 5 {
		t.Errorf("%d taken over, refused:\n%s", n, text)
	}
	tick(t, a)
	want := map[string]string{
		"excluded": "10.0.0.6", "reserved": "10.0.0.10", "thief": "10.0.0.11",
		"r": "10.0.0.4", "tagged": "10.0.0.5", "s": "10.0.0.8", "fine": "10.0.0.9", "drained": "10.1.0.2",
	}
	wantTable(t, a, want)
	// Its static address is another than the one that was published: that is a
	// move like any other.
	wantMoves(t, a, "s 10.0.0.8 10.0.0.7")
	wantTable(t, restart(t, a, store, c, cfg), want)
}
