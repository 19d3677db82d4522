package kumaapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/meshvip/coredns-meshvip/watcher/kumaapi/fakekuma"
)

func TestEveryKindIsListedWholeWhateverThePages(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 2, 3, 1000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			k := twoMeshes()
			k.Set(func(s *fakekuma.Settings) { s.PageSize = size })
			r := started(t, k, Options{}).want(all).problems()
			if s := r.f.Status(); !s.Synced || s.LastSync.IsZero() || s.Errors != 0 {
				t.Errorf("status %+v", s)
			}
		})
	}
}

func TestEachResourceIsAPlaceWithTheURLThatServesIt(t *testing.T) {
	t.Parallel()
	started(t, twoMeshes(), Options{}).wantPuts(
		"/meshes/default", "/meshes/default/dataplanes/a", "/meshes/default/dataplanes/b",
		"/meshes/default/external-services/x", "/meshes/m", "/meshes/m/dataplanes/a", "/meshes/m/dataplanes/c",
		"/zone-ingresses/east")
}

func TestAnUnchangedPassPutsNothing(t *testing.T) {
	t.Parallel()
	for _, etags := range []bool{false, true} {
		r := newRig(t, twoMeshes(), Options{}).set(func(s *fakekuma.Settings) { s.ETags, s.PageSize = etags, 2 })
		r.pass().want(all)
		r.pass().pass().wantPuts()
		if r.feed.commits != 1 {
			t.Errorf("%d commits", r.feed.commits)
		}
	}
}

func TestAChangePutsOnlyItsPlaceHoweverItemsMoveBetweenPages(t *testing.T) {
	t.Parallel()
	for _, etags := range []bool{false, true} {
		r := newRig(t, twoMeshes(), Options{}).set(func(s *fakekuma.Settings) { s.ETags, s.PageSize = etags, 2 })
		r.pass()
		r.kuma.Put("dataplanes", dp("default", "0", "new"))
		r.pass().wantPuts("/meshes/default/dataplanes/0").want("0:api 0:bin 0:new 0:web 1:httpbin.org m/0:db m/0:far m/0:web")
		r.kuma.Put("dataplanes", dp("default", "0", "newer"))
		r.pass().wantPuts("/meshes/default/dataplanes/0").want("0:api 0:bin 0:newer 0:web 1:httpbin.org m/0:db m/0:far m/0:web")
		r.pass().wantPuts()
	}
}

func TestAChangeThatAsksForNothingElsePutsNothing(t *testing.T) {
	t.Parallel()
	r := started(t, twoMeshes(), Options{})
	r.kuma.Put("dataplanes", strings.Replace(dp("default", "a", "web"), "{", `{"modificationTime":"2026-12-01T00:00:00Z",`, 1))
	r.pass().wantPuts()
}

func TestOnlyWhatTwoCompletePassesLackIsReleased(t *testing.T) {
	t.Parallel()
	r := started(t, twoMeshes(), Options{})
	r.kuma.Remove("dataplanes", "m", "c")
	r.pass().want(all).wantPuts()
	r.pass().want(without("m/0:db")).wantPuts("/meshes/m/dataplanes/c")
	r.pass().wantPuts()
}

func TestWhatIsMissingOnceAndComesBackStays(t *testing.T) {
	t.Parallel()
	r := started(t, twoMeshes(), Options{})
	for range 3 {
		r.kuma.Remove("dataplanes", "m", "c")
		r.pass().want(all)
		r.kuma.Put("dataplanes", dp("m", "c", "db"))
		r.pass().want(all).wantPuts()
	}
}

func TestAPassThatFailsIsNoCompletePass(t *testing.T) {
	t.Parallel()
	r := started(t, twoMeshes(), Options{})
	r.kuma.Remove("dataplanes", "m", "c")
	r.pass()
	for range 5 {
		r.faults(&fakekuma.Fault{Path: "dataplanes", Status: 500}).pass().want(all)
	}
	r.faults().pass().want(without("m/0:db"))
}

func TestAnEmptyListIsBelievedTheSecondTime(t *testing.T) {
	t.Parallel()
	r := started(t, twoMeshes(), Options{})
	r.kuma.Clear("external-services")
	r.pass().want(all)
	r.pass().want(without("0:bin", "1:httpbin.org")).problems()
}

func TestAListThatShrinksWhileItIsReadIsReadAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoMeshes(), Options{}).set(func(s *fakekuma.Settings) { s.PageSize = 1 })
	r.pass().want(all)
	// What is removed from the first page pushes an item out of sight.
	r.faults(&fakekuma.Fault{Path: "dataplanes", Page: 2, Times: 1, Before: func() { r.kuma.Remove("dataplanes", "default", "a") }})
	r.kuma.Requests()
	r.pass().want(all).problems()
	asked := slices.DeleteFunc(r.kuma.Requests(), func(q string) bool { return !strings.HasPrefix(q, "/dataplanes") })
	if len(asked) != 3+3 {
		t.Errorf("asked %q", asked)
	}
	r.pass().want(all).wantPuts("/meshes/default/dataplanes/a") // 0:web is asked for elsewhere
}

func TestAListThatNeverHoldsStillAddsAndReleasesNothing(t *testing.T) {
	t.Parallel()
	r := started(t, twoMeshes(), Options{})
	r.kuma.Remove("dataplanes", "m", "c")
	r.kuma.Put("dataplanes", dp("default", "n", "new"))
	r.faults(&fakekuma.Fault{Path: "dataplanes", Total: 1})
	more := "0:api 0:bin 0:new 0:web 1:httpbin.org m/0:db m/0:far m/0:web"
	for range 4 {
		r.pass().want(more).problems("/dataplanes: the list changed each time while it was read...nothing is released")
	}
	r.faults().pass().want(more).problems()
	r.pass().want(strings.Replace(more, " m/0:db", "", 1))
}

func TestATotalThatChangesFromPageToPageIsNoWholeList(t *testing.T) {
	t.Parallel()
	r := started(t, twoMeshes(), Options{}).set(func(s *fakekuma.Settings) { s.PageSize = 2 })
	r.faults(&fakekuma.Fault{Path: "dataplanes", Page: 2, Total: 1}).pass().want(all).problems("the list changed each time while it was read")
}

func TestAListThatNeverHeldStillIsIncomplete(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoMeshes(), Options{}).faults(&fakekuma.Fault{Path: "dataplanes", Total: -1})
	r.pass().want(all).incomplete(base + "/dataplanes")
	r.faults().pass().incomplete("")
}

func TestOfTwoPathsOfAKindTheOneThatAnswersIsListed(t *testing.T) {
	t.Parallel()
	r := started(t, twoMeshes(), Options{}).want(all)
	for _, spelling := range []string{"dashes", "plain", "", "plain", "dashes"} {
		r.set(func(s *fakekuma.Settings) { s.Spelling = spelling })
		r.pass().pass().want(all).wantPuts().problems()
	}
}

func TestAKindThatAVersionDoesNotKnowIsNoError(t *testing.T) {
	t.Parallel()
	k := twoMeshes()
	k.Set(func(s *fakekuma.Settings) {
		s.Absent = []string{"virtual-outbounds", "meshgateways", "meshmultizoneservices", "hostnamegenerators"}
	})
	started(t, k, Options{}).want(all).problems()
}

func TestAKindThatIsAbsentAfterAnUpgradeKeepsWhatItGave(t *testing.T) {
	t.Parallel()
	r := started(t, twoMeshes(), Options{}).set(func(s *fakekuma.Settings) { s.Absent = []string{"external-services"} })
	for range 3 {
		r.pass().want(all).wantPuts().problems("/external-services: the control plane does not know this kind any more...the 1 that")
	}
	r.kuma.Clear("external-services")
	r.set(func(s *fakekuma.Settings) { s.Absent = nil })
	r.pass().pass().want(without("0:bin", "1:httpbin.org")).problems()
}

func TestDataplanesThatLoseAllTagsAtOnceKeepTheirServices(t *testing.T) {
	t.Parallel()
	const bare = `{"type":"Dataplane","mesh":%q,"name":%q,"networking":{"inbound":[{"port":80}]}}`
	r := started(t, twoMeshes(), Options{})
	for _, d := range [][2]string{{"default", "a"}, {"default", "b"}, {"m", "a"}, {"m", "c"}} {
		r.kuma.Put("dataplanes", fmt.Sprintf(bare, d[0], d[1]))
	}
	r.kuma.Put("dataplanes", fmt.Sprintf(bare, "m", "new"))
	for range 3 {
		r.pass().want(all).problems("/dataplanes: no Dataplane has a kuma.io/service tag any more")
	}
	// What is removed goes all the same.
	r.kuma.Remove("dataplanes", "m", "c")
	r.pass().pass().want(without("m/0:db"))
	// One that has tags again shows that the others have none on purpose.
	r.kuma.Put("dataplanes", dp("m", "a", "web"))
	r.pass().want("0:bin 1:httpbin.org m/0:far m/0:web").problems()
}

func TestOneDataplaneThatLosesItsTagsLosesItsServices(t *testing.T) {
	t.Parallel()
	r := started(t, twoMeshes(), Options{})
	r.kuma.Put("dataplanes", `{"type":"Dataplane","mesh":"m","name":"c","networking":{"inbound":[{"port":80}]}}`)
	r.pass().want(without("m/0:db")).problems()
}
