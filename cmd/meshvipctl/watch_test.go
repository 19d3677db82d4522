package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/meshvip/coredns-meshvip/admin"
)

func TestMissingChangesAreTold(t *testing.T) {
	t.Parallel()
	events := []admin.StreamEvent{
		{Gap: &admin.Gap{Since: "7.1", Next: "7.5"}},
		{Change: &admin.Change{ID: "7.5", Time: noon, Events: []admin.Event{{What: admin.Listed, Entry: "0:<a>", Mesh: "default"}}}},
	}
	for f, want := range map[format][2]string{
		formatText: {
			"2026-11-02 12:00:00 UTC  7.5  0:<a> listed by mesh default\n",
			"changes are missing here: those after 7.1 and before 7.5\n",
		},
		formatJSON: {
			`{"gap":{"since":"7.1","next":"7.5"}}` + "\n" +
				`{"id":"7.5","serial":0,"revision":0,"time":"2026-11-02T12:00:00Z","events":[{"what":"listed","entry":"0:<a>","mesh":"default"}]}` + "\n",
			"",
		},
		formatYAML: {
			"---\nevents:\n- entry: 0:<a>\n  mesh: default\n  what: listed\nid: \"7.5\"\nrevision: 0\nserial: 0\ntime: \"2026-11-02T12:00:00Z\"\n",
			"changes are missing here: those after 7.1 and before 7.5\n",
		},
	} {
		var out, errs bytes.Buffer
		s := newSession(strings.NewReader(""), &out, &errs, func(string) string { return "" })
		s.format = f
		for _, e := range events {
			if err := s.showEvent(e); err != nil {
				t.Fatal(err)
			}
		}
		if out.String() != want[0] || errs.String() != want[1] {
			t.Errorf("%s:\n%s%s\nwant\n%s%s", f, &out, &errs, want[0], want[1])
		}
	}
}
