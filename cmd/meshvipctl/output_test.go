package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// wide and narrow are pages as a pipe and as a terminal have them.
func wide() *page   { return &page{} }
func narrow() *page { return &page{width: 40} }

func TestNothingThatATerminalObeysIsWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOf(rapid.Byte()).Draw(t, "text"))
		p := &page{width: rapid.SampledFrom([]int{0, 40}).Draw(t, "width")}
		p.line("a %s", text)
		p.field("label", "%s", text)
		p.title("%s", text)
		g := &grid{columns: []column{{head: "A", cut: true}, {head: "B"}}}
		g.add(text, "b")
		p.grid(g)
		for i, r := range p.String() {
			if r != '\n' && r < ' ' || r == 0x7f || 0x80 <= r && r < 0xa0 || r == utf8.RuneError || r == '\u202e' {
				t.Fatalf("%q at %d of %q", r, i, p.String())
			}
		}
	})
	for in, want := range map[string]string{
		"backend":            "backend",
		"é…":                 "é…",
		"a\x1b[2Jb":          `a\x1b[2Jb`,
		"two\nlines":         `two\nlines`,
		"no UTF-8 \xff":      `no UTF-8 \xff`,
		"it's \"said\"":      "it's \"said\"",
		"turned \u202e over": `turned \u202e over`,
	} {
		if got := printable(in); got != want {
			t.Errorf("printable(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestErrorsAreNothingThatATerminalObeys(t *testing.T) {
	t.Parallel()
	var errs bytes.Buffer
	s := newSession(strings.NewReader(""), &bytes.Buffer{}, &errs, func(string) string { return "" })
	if code := run(t.Context(), s, []string{"--store", "no\x1b[2J", "status"}); code != codeUnopened {
		t.Errorf("exit code %d", code)
	}
	s.note("two %s\nlines", "\x9b")
	if got := errs.String(); strings.Contains(got, "\x1b") || !strings.Contains(got, `no\x1b[2J`) || !strings.HasSuffix(got, "two \\x9b\nlines\n") {
		t.Errorf("%q", got)
	}
}

func TestATableIsCutOnATerminalOnly(t *testing.T) {
	t.Parallel()
	g := &grid{columns: []column{{head: "ENTRY", cut: true}, {head: "ADDRESS"}, {head: "N", right: true}}}
	g.add("0:backend_kuma-demo_svc_5678_with_more", "240.0.0.1", "7")
	g.add("0:b", "240.100.100.100", "12")
	p := wide()
	p.grid(g)
	want := strings.Join([]string{
		"ENTRY                                   ADDRESS           N",
		"0:backend_kuma-demo_svc_5678_with_more  240.0.0.1         7",
		"0:b                                     240.100.100.100  12",
		"",
	}, "\n")
	if p.String() != want {
		t.Errorf("in a pipe:\n%s\nwant\n%s", p, want)
	}
	p = narrow()
	p.grid(g)
	want = strings.Join([]string{
		"ENTRY                ADDRESS           N",
		"0:backend_kuma-dem…  240.0.0.1         7",
		"0:b                  240.100.100.100  12",
		"",
	}, "\n")
	if p.String() != want {
		t.Errorf("on a terminal:\n%s\nwant\n%s", p, want)
	}
}

func TestAnAddressIsNeverCut(t *testing.T) {
	t.Parallel()
	g := &grid{columns: []column{{head: "ENTRY", cut: true}, {head: "ADDRESS"}}}
	g.add("0:backend-of-a-long-name", "fd00:1234:5678:9abc:def0:1234:5678:9abc")
	p := narrow()
	p.grid(g)
	if !strings.Contains(p.String(), "0:backe…  fd00:1234:5678:9abc:def0:1234:5678:9abc\n") {
		t.Errorf("the table is\n%s", p)
	}
}

func TestFieldsAreWrappedUnderThemselves(t *testing.T) {
	t.Parallel()
	const text = "one two three four five six seven eight"
	p := wide()
	p.field("label", "%s", text)
	if want := "  label       " + text + "\n"; p.String() != want {
		t.Errorf("in a pipe: %q, want %q", p, want)
	}
	p = narrow()
	p.field("label", "%s", text)
	want := "  label       one two three four five\n              six seven eight\n"
	if p.String() != want {
		t.Errorf("on a terminal:\n%s\nwant\n%s", p, want)
	}
}

func TestWrappingLosesNoWord(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching("[a-zé]{1,30}"), 1, 20).Draw(t, "words")
		width := rapid.IntRange(0, 60).Draw(t, "width")
		lines := wrap(strings.Join(words, " "), width)
		if got := strings.Join(lines, " "); got != strings.Join(words, " ") {
			t.Fatalf("%q became %q", words, lines)
		}
		for _, l := range lines {
			if width >= 20 && columns(l) > width && strings.Contains(l, " ") {
				t.Fatalf("%q is wider than %d", l, width)
			}
		}
	})
}

func TestColourIsForTerminalsThatWantIt(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		terminal bool
		env      map[string]string
		want     bool
	}{
		{true, nil, true},
		{false, nil, false},
		{true, map[string]string{"NO_COLOR": "1"}, false},
		{true, map[string]string{"TERM": "dumb"}, false},
	} {
		s := newSession(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}, func(k string) string { return tc.env[k] })
		s.outTerm = tc.terminal
		if got := s.page().color; got != tc.want {
			t.Errorf("terminal %v, %v: colour %v", tc.terminal, tc.env, got)
		}
	}
}

func TestProgressIsForTerminalsOnly(t *testing.T) {
	t.Parallel()
	for _, terminal := range []bool{false, true} {
		var out bytes.Buffer
		s := newSession(strings.NewReader(""), &bytes.Buffer{}, &out, func(string) string { return "" })
		s.errTerm = terminal
		p := s.progress("reading", 200)
		p.drawn = p.drawn.Add(-2 * progressEvery)
		p.at(50)
		p.end()
		want := ""
		if terminal {
			want = "\r\x1b[Kreading: 50 of 200 (25%)\r\x1b[K"
		}
		if out.String() != want {
			t.Errorf("terminal %v: %q, want %q", terminal, out.String(), want)
		}
	}
	if got := progressLine("reading", 7, 0); got != "reading: 7" {
		t.Errorf("of an unknown total: %q", got)
	}
}

func TestWhatToDoIsWrappedAndAPathKeepsItsEnd(t *testing.T) {
	t.Parallel()
	g := &grid{columns: []column{{head: "FROM", cut: true, left: true}, {head: "WHY", wrap: true}}}
	g.add("tables/of/kuma/default.json", "it lies in no pool: add the pool 240.0.0.0/16 to keep it")
	g.add("b", "-")
	p := wide()
	p.grid(g)
	want := strings.Join([]string{
		"FROM                         WHY",
		"tables/of/kuma/default.json  it lies in no pool: add the pool 240.0.0.0/16 to keep it",
		"b                            -",
		"",
	}, "\n")
	if p.String() != want {
		t.Errorf("in a pipe:\n%s\nwant\n%s", p, want)
	}
	p = narrow()
	p.grid(g)
	want = strings.Join([]string{
		"FROM            WHY",
		"…/default.json  it lies in no pool: add",
		"                the pool 240.0.0.0/16 to",
		"                keep it",
		"b               -",
		"",
	}, "\n")
	if p.String() != want {
		t.Errorf("on a terminal:\n%s\nwant\n%s", p, want)
	}
}
