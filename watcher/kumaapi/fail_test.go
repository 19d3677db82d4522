package kumaapi

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/meshvip/coredns-meshvip/watcher/kumaapi/fakekuma"
)

func TestAKindThatFailsKeepsItsStateWhileTheOthersCount(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault fakekuma.Fault
		want  string
	}{
		"an error":               {fakekuma.Fault{Status: 500}, "500 Internal Server Error: look at the control plane's log"},
		"in the middle":          {fakekuma.Fault{Page: 2, Status: 503}, "503 Service Unavailable"},
		"absent in the middle":   {fakekuma.Fault{Page: 2, Status: 404}, "404 Not Found in the middle of the listing"},
		"absent as HTML":         {fakekuma.Fault{Status: 404, HTML: true}, "404 Not Found as a page of HTML"},
		"absent at all":          {fakekuma.Fault{Status: 404}, "404 Not Found, which every control plane has...proxy"},
		"forbidden":              {fakekuma.Fault{Status: 403}, "403 Forbidden: the user of the token may not read this"},
		"a page for people":      {fakekuma.Fault{HTML: true}, "the answer is text/html and not JSON...GUI"},
		"a page on page 2":       {fakekuma.Fault{Page: 2, HTML: true}, "text/html"},
		"cut off":                {fakekuma.Fault{Cut: true}, "cut off after"},
		"no JSON":                {fakekuma.Fault{Body: `{"total":4,"items":[{`}, "no listing in JSON"},
		"other JSON":             {fakekuma.Fault{Body: `{"hello":"world"}`}, "no listing with items and total"},
		"items lost":             {fakekuma.Fault{Body: `{"total":4,"items":null,"next":null}`}, "no listing with items and total"},
		"no items":               {fakekuma.Fault{Body: `{"total":0,"next":null}`}, "no listing with items and total"},
		"a total that is none":   {fakekuma.Fault{Body: `{"total":-4,"items":[],"next":null}`}, "no listing with items and total"},
		"a loop":                 {fakekuma.Fault{Page: 2, Next: "http://kuma:5681/dataplanes?offset=1&size=1"}, "goes on at 1, which never ends"},
		"a step on the spot":     {fakekuma.Fault{Page: 3, Next: "http://kuma:5681/dataplanes?offset=2&size=1"}, "after offset 2 the listing goes on at 2"},
		"next without an offset": {fakekuma.Fault{Next: "http://kuma:5681/dataplanes?size=1"}, "has no offset that can be followed"},
		"next with a bad offset": {fakekuma.Fault{Next: "http://kuma:5681/dataplanes?offset=-7"}, "has no offset that can be followed"},
		"next that is no URL":    {fakekuma.Fault{Next: "http://[:"}, "has no offset that can be followed"},
		"pages without items":    {fakekuma.Fault{Next: "http://kuma:5681/dataplanes?offset=%d"}, "the listing does not end"},
		"a redirect elsewhere":   {fakekuma.Fault{Redirect: "http://elsewhere:5681/dataplanes"}, "it redirects to http://elsewhere:5681/dataplanes, which is not followed"},
		"a redirect to TLS":      {fakekuma.Fault{Redirect: "https://kuma:5681/dataplanes"}, "is not followed"},
		"a redirect to itself":   {fakekuma.Fault{Redirect: "/dataplanes"}, "redirects more than 3 times"},
		"a status of no meaning": {fakekuma.Fault{Status: 418}, "418 I'm a teapot: check that the URL"},
		"asked too often":        {fakekuma.Fault{Status: 429, RetryAfter: "7"}, "429 Too Many Requests: it is asked too often"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fault := c.fault
			fault.Path = "dataplanes"
			r := started(t, twoMeshes(), Options{}).set(func(s *fakekuma.Settings) { s.PageSize = 1 })
			r.pass()
			r.kuma.Remove("dataplanes", "default", "a")
			r.kuma.Put("external-services", external("m", "y", "zoo", "192.0.2.1:80"))
			r.faults(&fault)
			for range 3 {
				r.pass().want(all + " m/0:zoo").problems(base + "/dataplanes: ..." + c.want + "...(what was listed before stays)").incomplete("")
			}
			r.kuma.Put("dataplanes", dp("default", "a", "last"))
			r.faults().pass().want("0:api 0:bin 0:last 0:web 1:httpbin.org m/0:db m/0:far m/0:web m/0:zoo").problems()
		})
	}
}

func TestAKindThatWasNeverReadIsIncomplete(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoMeshes(), Options{}).faults(&fakekuma.Fault{Path: "meshservices", Status: 500})
	r.pass().want(all).incomplete("never read well: " + base + "/meshservices").
		problems("/meshservices: 500 Internal Server Error...nothing is released anywhere until it is read")
	if s := r.f.Status(); !r.feed.state.Read || s.Synced || !s.LastSync.IsZero() {
		t.Errorf("state %+v, status %+v", r.feed.state, s)
	}
	r.faults().pass().incomplete("").problems()
	if s := r.f.Status(); !s.Synced || s.LastSync.IsZero() || s.Errors != 1 {
		t.Errorf("status %+v", s)
	}
}

func TestAReasonThatAllKindsHaveIsToldOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoMeshes(), Options{}).faults(&fakekuma.Fault{Path: "*", Status: 503})
	r.pass().problems(base + ": 503 Service Unavailable...").want("").incomplete(base + "/meshes, " + base + "/dataplanes, " + base + "/external-services and 7 more")
	if r.feed.state.Read || r.feed.commits != 1 {
		t.Errorf("state %+v, %d commits", r.feed.state, r.feed.commits)
	}
	r.faults(&fakekuma.Fault{Path: "meshes", Status: 503}, &fakekuma.Fault{Path: "dataplanes", Status: 503})
	r.pass().problems(base + ": /meshes, /dataplanes: 503 Service Unavailable...")
}

func TestAnItemThatIsBadKeepsItsLastGoodVersion(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]string{
		"a wrong field":      `{"type":"Dataplane","mesh":"m","name":"c","networking":{"inbound":[{"port":"http"}]}}`,
		"no field":           `{"type":"Dataplane","mesh":"m","name":"c"}`,
		"a key twice":        `{"type":"Dataplane","mesh":"m","name":"c","networking":{},"networking":{}}`,
		"an unknown type":    `{"type":"Dataplane2","mesh":"m","name":"c","networking":{"inbound":[]}}`,
		"another type":       `{"type":"Mesh","mesh":"m","name":"c"}`,
		"no type":            `{"mesh":"m","name":"c","networking":{"inbound":[]}}`,
		"a type of no type":  `{"type":7,"mesh":"m","name":"c","networking":{"inbound":[]}}`,
		"nested too deep":    `{"type":"Dataplane","mesh":"m","name":"c","networking":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`,
		"a list in an item":  `{"mesh":"m","name":"c","items":[` + dp("m", "c", "other") + `,` + dp("m", "d", "other") + `]}`,
		"an entry too long":  dp("m", "c", strings.Repeat("x", 2000)),
		"an empty list item": `{"mesh":"m","name":"c","items":[]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := started(t, twoMeshes(), Options{})
			r.kuma.Put("dataplanes", bad, dp("m", "d", "new"))
			const more = "0:api 0:bin 0:web 1:httpbin.org m/0:db m/0:far m/0:new m/0:web"
			for range 3 {
				r.pass().want(more).problems(`/meshes/m/dataplanes/c: Dataplane "c" of mesh "m": ...(its last good version stays)`).incomplete("")
			}
			r.kuma.Put("dataplanes", dp("m", "c", "good"))
			r.pass().want(strings.Replace(more, "m/0:db m/0:far", "m/0:far m/0:good", 1)).problems()
		})
	}
}

func TestAnItemThatWasNeverGoodIsIncompleteUntilItIsGone(t *testing.T) {
	t.Parallel()
	k := twoMeshes()
	k.Put("dataplanes", `{"type":"Dataplane","mesh":"m","name":"bad","networking":7}`)
	r := newRig(t, k, Options{}).pass().want(all).incomplete(base + "/meshes/m/dataplanes/bad").problems("/meshes/m/dataplanes/bad...(it is set aside)")
	k.Remove("dataplanes", "m", "bad")
	r.pass().pass().want(all).incomplete("").problems()
}

func TestAnItemWithoutAnIdentityKeepsWhateverItMayBe(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]string{
		"nothing of it":  `7`,
		"a list":         `[]`,
		"no name":        `{"type":"Dataplane","mesh":"m","networking":{"inbound":[]}}`,
		"a name of 7":    `{"type":"Dataplane","mesh":"m","name":7,"networking":{"inbound":[]}}`,
		"a mesh of none": `{"type":"Dataplane","mesh":["m"],"name":"c","networking":{"inbound":[]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := started(t, twoMeshes(), Options{})
			r.kuma.Remove("dataplanes", "m", "c")
			r.kuma.Put("dataplanes", bad)
			for range 4 {
				r.pass().want(all).problems(base + "/dataplanes: Dataplane...(what it may have been before stays)").incomplete("")
			}
			r.kuma.Clear("dataplanes")
			r.kuma.Put("dataplanes", dp("default", "a", "web"), dp("default", "b", "web", "api"), dp("m", "a", "web"))
			r.pass().pass().want(without("m/0:db")).problems()
		})
	}
}

func TestAnItemWithoutAnIdentityThatIsNoneOfThoseKnownIsIncomplete(t *testing.T) {
	t.Parallel()
	r := started(t, twoMeshes(), Options{})
	for n := range 5 {
		r.kuma.Put("dataplanes", fmt.Sprintf(`{"type":"Dataplane","mesh":"m","name":%d,"networking":{}}`, n))
	}
	r.pass().want(all).incomplete("5 without a name in "+base+"/dataplanes").
		problems("(it is set aside)", "(it is set aside)", "(it is set aside)", "and 2 more items")
}

func TestASilentControlPlaneIsNotAskedForEverything(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := started(t, twoMeshes(), Options{})
		r.kuma.Requests()
		r.faults(&fakekuma.Fault{Path: "*", Silent: true}).pass().want(all).problems(base + ": no whole answer within 15s")
		if asked := r.kuma.Requests(); len(asked) != 1 {
			t.Errorf("asked %q", asked)
		}
		r.faults(&fakekuma.Fault{Path: "dataplanes", Silent: true}).pass().want(all).problems("/dataplanes: no whole answer within 15s")
		if asked := r.kuma.Requests(); len(asked) != 1+len(kinds) {
			t.Errorf("asked %q", asked)
		}
		r.set(func(s *fakekuma.Settings) {
			s.Faults = nil
			for _, path := range fakekuma.Paths {
				s.Faults = append(s.Faults, &fakekuma.Fault{Path: path, Silent: true})
			}
		})
		r.pass().want(all).problems(base + ": no whole answer within 15s")
		if asked := r.kuma.Requests(); len(asked) != 1+maxSlow {
			t.Errorf("asked %q", asked)
		}
	})
}

func TestAnswersOfAnyLengthAreBounded(t *testing.T) {
	t.Parallel()
	k := twoMeshes()
	k.Put("dataplanes", dp("default", "long", strings.Repeat("x", 900), strings.Repeat("y", 900), strings.Repeat("z", 900)))
	newRig(t, k, Options{MaxPage: 2000}).pass().problems("/dataplanes: the answer is longer than 2000 bytes")
	newRig(t, k, Options{MaxPass: 3000}).pass().problems(base + ": ...all answers together are longer than 3000 bytes")
}
