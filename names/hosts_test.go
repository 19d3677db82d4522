package names

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshvip/coredns-meshvip/vip"
)

func TestAnEntryOfAMeshAnswersToItsHostnamesAndToNothingElse(t *testing.T) {
	t.Parallel()
	_, v := indexOf(t, told(t, "3:m1/backend", "Backend.svc.mesh. backend.east.mesh backend.svc.mesh", "240.0.0.1"))
	wantForward(t, v, "backend.svc.mesh.", "mesh.", "3:m1/backend")
	wantForward(t, v, "backend.east.mesh.", "mesh.", "3:m1/backend")
	wantForward(t, v, "east.mesh.", "mesh.", "empty")
	wantForward(t, v, "backend.mesh.", "mesh.", "none")
	wantPTR(t, v, "240.0.0.1", "backend.svc.mesh.")
}

func TestHostnamesChangeWhileTheEntryStays(t *testing.T) {
	t.Parallel()
	was := told(t, "3:m1/a", "one.mesh two.mesh", "240.0.0.1 240.0.0.2")
	rival := row(t, "0:three", "240.0.0.3")
	x, v := indexOf(t, was, rival)
	is := told(t, "3:m1/a", "two.mesh three.mesh", "240.0.0.1 240.0.0.2")
	wantLines(t, x.Apply([]Change{{was, is}}),
		"name three.mesh. changes hands: from 0:three to 3:m1/a: a host or an fqdn comes before a service")
	wantForward(t, v, "one.mesh.", "mesh.", "none")
	wantForward(t, v, "two.mesh.", "mesh.", "3:m1/a")
	wantForward(t, v, "three.mesh.", "mesh.", "3:m1/a")
	wantPTR(t, v, "240.0.0.2", "two.mesh.")
	if two, _ := v.Forward("two.mesh.", "mesh."); two.Row != is {
		t.Errorf("two.mesh. is still answered from %v", two.Row)
	}

	turned := told(t, "3:m1/a", "three.mesh two.mesh", "240.0.0.1 240.0.0.2")
	wantLines(t, x.Apply([]Change{{is, turned}}))
	wantPTR(t, v, "240.0.0.2", "three.mesh.")

	// With all of its addresses at the same time.
	moved := told(t, "3:m1/a", "four.mesh", "240.0.0.7")
	wantLines(t, x.Apply([]Change{{turned, moved}}),
		"name three.mesh. changes hands: from 3:m1/a to 0:three: nothing comes before the service any more")
	wantForward(t, v, "two.mesh.", "mesh.", "none")
	wantPTR(t, v, "240.0.0.7", "four.mesh.")
	wantPTR(t, v, "240.0.0.1", "")
	none := told(t, "3:m1/a", "", "240.0.0.7")
	wantLines(t, x.Apply([]Change{{moved, none}}))
	wantForward(t, v, "four.mesh.", "mesh.", "none")
	wantPTR(t, v, "240.0.0.7", "")
	if x.Len() != 2 {
		t.Errorf("%d records", x.Len())
	}
}

func TestAHostnameOfTwoMeshesIsTheSmallerKeysAndReported(t *testing.T) {
	t.Parallel()
	east, west := told(t, "3:east/a", "a.mesh a.east.mesh", "240.0.0.1"), told(t, "3:west/a", "a.mesh a.west.mesh", "240.0.0.2")
	x, v := indexOf(t, west)
	wantPTR(t, v, "240.0.0.2", "a.mesh.")
	wantLines(t, x.Apply(adds(east)),
		"name a.mesh. changes hands: from 3:west/a to 3:east/a: where the meshes of both are shown, the smaller key comes first")
	wantForward(t, v, "a.mesh.", "mesh.", "3:east/a")
	wantForward(t, v, "a.west.mesh.", "mesh.", "3:west/a")
	wantPTR(t, v, "240.0.0.1", "a.mesh.")
	wantPTR(t, v, "240.0.0.2", "a.west.mesh.")
	want := []Conflict{{Name: "a.mesh.", Winner: east.Entry, Losers: []vip.Entry{west.Entry}}}
	if diff := cmp.Diff(want, x.Conflicts()); diff != "" {
		t.Errorf("conflicts (-want +got):\n%s", diff)
	}
	// A listing that changes something else disputes nothing anew.
	again := told(t, "3:west/a", "a.mesh a.west.mesh", "240.0.0.2 240.0.0.3")
	wantLines(t, x.Apply([]Change{{west, again}}))
	wantPTR(t, v, "240.0.0.3", "a.west.mesh.")
	without := told(t, "3:west/a", "a.west.mesh", "240.0.0.2")
	wantLines(t, x.Apply([]Change{{again, without}}), "name a.mesh. is no longer disputed: 3:east/a has it")
	wantLines(t, x.Apply([]Change{{without, west}}),
		"name a.mesh. of 3:west/a is answered for 3:east/a: where the meshes of both are shown, the smaller key comes first")
	wantLines(t, x.Apply([]Change{{Old: east}}),
		"name a.mesh. changes hands: from 3:east/a to 3:west/a: 3:east/a claims it no longer")
	wantPTR(t, v, "240.0.0.2", "a.mesh.")
}

func TestAHostnameRanksWithWhatSomebodyWrote(t *testing.T) {
	t.Parallel()
	x, v := indexOf(t, told(t, "5:m1/a", "a.mesh", "240.0.0.1"), row(t, "1:a.mesh", "240.0.0.2"), row(t, "0:a", "240.0.0.3"))
	wantForward(t, v, "a.mesh.", "mesh.", "5:m1/a")
	x.Apply(adds(row(t, "2:a.mesh", "240.0.0.4")))
	wantForward(t, v, "a.mesh.", "mesh.", "2:a.mesh")
}

func TestAnEntryThatIsToldButWaitsClaimsNothing(t *testing.T) {
	t.Parallel()
	waits := told(t, "3:m1/a", "a.mesh", "")
	x, v := indexOf(t, waits, row(t, "0:a", "240.0.0.1"))
	wantForward(t, v, "a.mesh.", "mesh.", "0:a")
	given := told(t, "3:m1/a", "a.mesh", "10.0.0.1")
	if ev := x.Apply([]Change{{waits, given}}); len(ev) != 1 || ev[0].Kind != NameMoved {
		t.Errorf("events %v", ev)
	}
	wantAddrs(t, v, "a.mesh.", "10.0.0.1")
	x.Apply([]Change{{given, waits}})
	wantForward(t, v, "a.mesh.", "mesh.", "0:a")
}

func TestAHostnameThatDNSCannotCarryIsReportedOnceAndTheOthersServed(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 64) + ".mesh"
	r := told(t, "3:m1/a", long+" a.mesh", "240.0.0.1")
	x, v := indexOf(t)
	ev := x.Apply(adds(r))
	if len(ev) != 1 || ev[0].Kind != Unservable || ev[0].Name != long {
		t.Fatalf("events %v", ev)
	}
	wantForward(t, v, "a.mesh.", "mesh.", "3:m1/a")
	wantLines(t, x.Apply([]Change{{r, told(t, "3:m1/a", long+" a.mesh b.mesh", "240.0.0.1")}}))
	wantForward(t, v, "b.mesh.", "mesh.", "3:m1/a")
}
