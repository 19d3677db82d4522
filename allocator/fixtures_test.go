package allocator_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
)

// logTo returns a logger whose lines a test can read.
func logTo() (*bytes.Buffer, *slog.Logger) {
	var log bytes.Buffer
	return &log, slog.New(slog.NewTextHandler(&log, nil))
}

// wantLog fails the test unless every text is in a log.
func wantLog(t testing.TB, log *bytes.Buffer, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(log.String(), text) {
			t.Errorf("%q is not logged:\n%s", text, log)
		}
	}
}

// asks is a service that asks for addresses of its own, by a tag.
func asks(name string, statics ...string) vip.Request {
	r := requests(name)[0]
	r.Terms = &vip.Terms{}
	for _, s := range statics {
		r.Terms.Static = append(r.Terms.Static, addr(s))
	}
	return r
}

// static is a line of the Corefile that gives a service an address.
func static(name, address string) allocator.Static {
	return allocator.Static{Key: vip.Key{Name: name}, Addr: addr(address)}
}

// with is an update of one mesh that lists services and requests.
func with(mesh string, rs []vip.Request, names ...string) vip.MeshUpdate {
	u := set(mesh, names...)
	u.Set = append(u.Set, rs...)
	return u
}

// wantErr fails the test unless an error says want, or there is none and want is
// empty.
func wantErr(t testing.TB, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// configure gives an allocator another configuration, and time to follow it.
func configure(t testing.TB, a *allocator.Allocator, cfg allocator.Config) {
	t.Helper()
	if err := a.Configure(cfg); err != nil {
		t.Fatal(err)
	}
	tick(t, a)
}

// wantMoves fails the test unless just these moves wait: "entry from to".
func wantMoves(t testing.TB, a *allocator.Allocator, want ...string) string {
	t.Helper()
	m := a.Moves()
	if got := movesText(m.List); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("would move %q, want %q", got, want)
	}
	if n := a.Stats().Pending; n != len(m.List) || (m.Name == "") != (n == 0) {
		t.Errorf("%d moves are pending, want %d; the plan is %q", n, len(m.List), m.Name)
	}
	return m.Name
}

func movesText(moves []allocator.Move) []string {
	var text []string
	for _, m := range moves {
		text = append(text, fmt.Sprintf("%s %v %v", m.Key.Name, m.From, m.To))
	}
	return text
}

// meshService is an entry of mesh m that Kuma has given addresses, or none.
func meshService(name string, given ...string) vip.Request {
	r := requests(name)[0]
	r.Entry.Kind, r.Entry.Mesh = vip.MeshService, "m"
	r.Terms = &vip.Terms{Hostnames: []string{name + ".svc"}}
	for _, s := range given {
		r.Terms.Given = append(r.Terms.Given, addr(s))
	}
	return r
}

// past returns who is remembered to have had each address that nobody has.
func past(t testing.TB, store allocator.Store) map[string]string {
	t.Helper()
	s, err := store.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	owners := make(map[string]string)
	for _, h := range s.Addrs {
		if h.Released {
			owners[h.Addr.String()] = h.Owner.Name
		}
	}
	return owners
}
