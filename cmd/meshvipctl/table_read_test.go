package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/meshvip/coredns-meshvip/admin"
)

// paged returns a way to a table of n entries, at most three a page.
func paged(n int) *connection {
	serve := func(w http.ResponseWriter, r *http.Request) {
		from, _ := strconv.Atoi(r.URL.Query().Get("after"))
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		if limit == 0 || limit > 3 {
			limit = 3
		}
		p := admin.TablePage{Rows: []admin.Row{}, Total: n, Serial: 7, Revision: 8}
		for i := from; i < min(n, from+limit); i++ {
			p.Rows = append(p.Rows, admin.Row{Entry: fmt.Sprintf("0:<e%d>", i), Listings: []admin.Listing{{Mesh: "default"}}})
		}
		if to := from + len(p.Rows); to < n {
			p.Next = strconv.Itoa(to)
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(p)
	}
	return &connection{Client: admin.InProcess(http.HandlerFunc(serve))}
}

func TestATableThatIsStreamedIsTheSameJSON(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 3, 7} {
		var out bytes.Buffer
		s := newSession(strings.NewReader(""), &out, &bytes.Buffer{}, func(string) string { return "" })
		s.format = formatJSON
		if err := s.streamTable(t.Context(), &tableReader{c: paged(n)}); err != nil {
			t.Fatal(err)
		}
		var whole admin.TablePage
		if err := json.Unmarshal(out.Bytes(), &whole); err != nil {
			t.Fatalf("%d rows: %v\n%s", n, err, &out)
		}
		if len(whole.Rows) != n || whole.Total != n || whole.Serial != 7 || whole.Next != "" {
			t.Errorf("%d rows became %+v", n, whole)
		}
		want, err := s.render(whole, nil)
		if err != nil || want != out.String() {
			t.Errorf("%d rows: %v\n%s\nwant\n%s", n, err, &out, want)
		}
	}
}

func TestATerminalReadsNoMoreThanItShows(t *testing.T) {
	t.Parallel()
	s := newSession(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}, func(string) string { return "" })
	r := tableReader{c: paged(20), limit: 7}
	n := 0
	err := r.each(t.Context(), s, func(rows []admin.Row) error { n += len(rows); return nil })
	if err != nil || n != 7 || r.read != 7 || r.last.Total != 20 {
		t.Errorf("read %d rows (%d), of %d, %v", n, r.read, r.last.Total, err)
	}
}
