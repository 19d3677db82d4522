package etcdstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/record"
)

// TestATableKnowsItsHistory by the terms that wrote it.
func TestATableKnowsItsHistory(t *testing.T) {
	t.Parallel()
	m := metaRecord{
		Meta:  record.Meta{ID: "table", Revision: 20},
		Terms: []termRecord{{"a", 3}, {"b", 10}, {"c", 15}},
	}
	for _, tc := range []struct {
		term string
		rev  uint64
		want bool
	}{
		{"", 0, true},
		{"x", 0, true},
		{"", 2, true}, // imported
		{"", 3, false},
		{"a", 3, true},
		{"a", 9, true},
		{"a", 10, false}, // written by a after b had taken over: it was lost
		{"b", 9, false},
		{"b", 10, true},
		{"b", 14, true},
		{"b", 15, false},
		{"c", 15, true},
		{"c", 20, true},
		{"c", 21, false}, // the table was put back
		{"x", 2, false},
		{"x", 20, false},
	} {
		if got := m.descends(position{id: "table", term: tc.term, rev: tc.rev}); got != tc.want {
			t.Errorf("revision %d of term %q: %v, want %v", tc.rev, tc.term, got, tc.want)
		}
	}
	if m.descends(position{id: "another", term: "c", rev: 20}) {
		t.Error("it has another table in its history")
	}
	imported := metaRecord{Meta: record.Meta{ID: "table", Revision: 7}}
	if !imported.descends(position{rev: 7}) || imported.descends(position{rev: 8}) || imported.descends(position{rev: 7, term: "a"}) {
		t.Error("a table that nobody has led does not know its history")
	}
}

// TestTheLastTermsAreRemembered, and what is older than they is taken for true.
func TestTheLastTermsAreRemembered(t *testing.T) {
	t.Parallel()
	m := metaRecord{Meta: record.Meta{ID: "table"}, Commit: "first"}
	for i := range uint64(maxTerms + 10) {
		for j := range uint64(3) {
			now := allocator.Meta{Revision: 3*i + j + 1, Serial: 1}
			was := m
			m = m.next(now, fmt.Sprint("term-", i), fmt.Sprint("commit-", i, j), time.Minute)
			if m.After != was.Commit || m.ID != was.ID || m.Serial != 0 || m.Cooldown != time.Minute {
				t.Fatalf("%+v follows %+v", m, was)
			}
		}
	}
	if len(m.Terms) != maxTerms || m.Terms[0] != (termRecord{"term-10", 31}) || m.Terms[maxTerms-1] != (termRecord{"term-73", 220}) {
		t.Errorf("terms %v", m.Terms)
	}
	for rev := uint64(1); rev <= m.Revision; rev++ {
		if p := (position{term: fmt.Sprint("term-", (rev-1)/3), rev: rev}); !m.descends(p) {
			t.Errorf("revision %d is not in its history", rev)
		}
		if p := (position{term: fmt.Sprint("lost-", (rev-1)/3), rev: rev}); rev > 30 && m.descends(p) {
			t.Errorf("revision %d of a lost term is in its history", rev)
		}
	}
}

// TestAMetaThatMakesNoSenseIsRefused.
func TestAMetaThatMakesNoSenseIsRefused(t *testing.T) {
	t.Parallel()
	if _, _, err := decodeMeta([]byte(`{"id":"x","commit":"y"}`), 1); err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{
		``, `[]`, `null`, `"x"`, `{`, `{}`, `{"id":"x"}`, `{"commit":"y"}`,
		`{"id":"x","commit":"y","clock":-1}`,
		`{"id":"x","commit":"y","cooldown":-1}`,
		`{"id":"x","commit":"y","serial":1}`,
		`{"id":"x","commit":"y","revision":-1}`,
		`{"id":"x","commit":"y","pools":[{}]}`,
		`{"id":"x","commit":"y","quarantine":[{"from":"240.0.0.2","to":"240.0.0.1"}]}`,
		`{"id":"x","commit":"y","terms":[{"id":"a","from":2},{"id":"b","from":1}]}`,
		`{"id":"x","commit":"y"}{}`,
	} {
		if _, _, err := decodeMeta([]byte(value), 1); err == nil {
			t.Errorf("%s is a meta", value)
		}
	}
}
