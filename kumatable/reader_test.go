package kumatable

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// inBrief tells a reading in a few words: of each table its mesh, its format,
// and how many rows and foreign addresses it has.
func inBrief(r Reading) string {
	var b strings.Builder
	for _, t := range r.Tables {
		fmt.Fprintf(&b, "%s/%d:%d+%d ", t.Mesh, t.Format, len(t.Rows), len(t.Foreign))
	}
	fmt.Fprintf(&b, "skipped %d", r.Skipped)
	return b.String()
}

func TestTablesAreReadFromWhatPeopleHave(t *testing.T) {
	t.Parallel()
	const all = "default/4:4+2 default/0:3+0 "
	for file, want := range map[string]string{
		"kuma-dns-vips.json": "default/0:3+0 skipped 0",
		"format1.json":       "format1/1:3+0 skipped 0", // a mesh of that name
		"kubectl/list.json":  all + "payments/3:4+2 skipped 3",
		"kubectl/list.yaml":  all + "payments/3:4+2 skipped 3",
		"kubectl/one.yaml":   "default/4:4+2 skipped 0",
		"universal.yaml":     "default/4:4+2 empty/3:0+0 skipped 1",
		"universal.json":     "payments/3:4+2 skipped 0",
		"psql-unaligned.txt": all + "empty/3:0+0 payments/3:4+2 skipped 0",
		"psql-aligned.txt":   all + "empty/3:0+0 payments/3:4+2 skipped 0",
		"psql-tabs.tsv":      all + "empty/3:0+0 payments/3:4+2 skipped 0",
		"psql.csv":           all + "empty/3:0+0 payments/3:4+2 skipped 0",
		"psql.json":          all + "empty/3:0+0 payments/3:4+2 skipped 0",
	} {
		got := ReadAll(filepath.Join("testdata", file))
		if diff := cmp.Diff(want, inBrief(got)); diff != "" || len(got.Errors) > 0 {
			t.Errorf("%s: %v (-want +got)\n%s", file, got.Errors, diff)
		}
		for _, table := range got.Tables {
			if !strings.HasPrefix(table.From, filepath.Join("testdata", file)) || table.Broken != nil {
				t.Errorf("%s: from %s, %v", file, table.From, table.Broken)
			}
		}
	}
}

func TestOneTableReadsTheSameFromEveryForm(t *testing.T) {
	t.Parallel()
	want, _, err := Decode("default", sample(t, "format4.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"kubectl/list.json", "kubectl/list.yaml", "kubectl/one.yaml", "universal.yaml", "psql-unaligned.txt", "psql-aligned.txt", "psql-tabs.tsv", "psql.csv", "psql.json"} {
		got := ReadAll(filepath.Join("testdata", file)).Tables[0]
		if diff := cmp.Diff(show(want), show(got)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", file, diff)
		}
	}
}

func TestDirectoryOfMixedFormsIsReadByName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"kuma-a-dns-vips":          `{"orders":"240.0.0.1"}`,
		"kuma-b-dns-vips.json":     `{"0:orders":"240.0.0.1"}`,
		"c.json":                   `{"0:orders":{"address":"240.0.0.1"}}`,
		"%50rod.json":              `{}`, // as it is published
		"c.outbounds.yaml":         "[]",
		"all.yaml":                 "type: Config\nname: kuma-d-dns-vips\nconfig: ''\n",
		"answer.txt":               `kuma-e-dns-vips|{"config":"{}"}` + "\n",
		"README.md":                "x",
		".hidden.json":             "x",
		"mesh.yaml":                "type: Mesh\nname: default\n",
		"kuma-f-dns-vips-old":      "x",
		"kuma-g-dns-vips.bak.json": `{}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "below.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "c.json"), filepath.Join(dir, "kuma-h-dns-vips")); err != nil {
		t.Fatal(err)
	}
	got := ReadAll(dir)
	if want := "Prod/3:0+0 d/3:0+0 e/3:0+0 c/3:1+0 a/1:1+0 b/2:1+0 h/3:1+0 skipped 6"; inBrief(got) != want {
		t.Errorf("got  %s\nwant %s", inBrief(got), want)
	}
	if len(got.Errors) != 1 || !strings.HasPrefix(got.Errors[0].Error(), filepath.Join(dir, "kuma-g-dns-vips.bak.json")+": a table does not say of which mesh it is") {
		t.Errorf("errors %v", got.Errors)
	}
}

func TestStandardInputAndPipesAreRead(t *testing.T) {
	t.Parallel()
	got := Reader{Mesh: "shop", Stdin: iotest.OneByteReader(bytes.NewReader(sample(t, "format3.json")))}.Read("-")
	if inBrief(got) != "shop/3:4+2 skipped 0" || len(got.Errors) > 0 || got.Tables[0].From != "standard input" {
		t.Errorf("%s, %v", inBrief(got), got.Errors)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	go func() {
		defer w.Close()
		_, _ = w.WriteString("kuma-shop-dns-vips|" + `{"config":"{}"}` + "\n")
	}()
	got = ReadAll(fmt.Sprintf("/dev/fd/%d", r.Fd()))
	if inBrief(got) != "shop/3:0+0 skipped 0" || len(got.Errors) > 0 {
		t.Errorf("%s, %v", inBrief(got), got.Errors)
	}
}

func TestMeshThatIsToldIsThatOfBareTablesOnly(t *testing.T) {
	t.Parallel()
	got := Reader{Mesh: "shop"}.Read("testdata/format1.json", "testdata/kuma-dns-vips.json", "testdata/universal.json", "testdata/psql.csv")
	if want := "shop/1:3+0 shop/0:3+0 payments/3:4+2 default/4:4+2 shop/0:3+0 empty/3:0+0 payments/3:4+2 skipped 0"; inBrief(got) != want {
		t.Errorf("got  %s\nwant %s", inBrief(got), want)
	}
}

// read reads a text as the standard input.
func read(text string) Reading {
	return Reader{Stdin: strings.NewReader(text)}.Read("-")
}

func TestOtherShapesOfTheSameAreRead(t *testing.T) {
	t.Parallel()
	spec := `{"config":"{\"0:a\":{\"address\":\"240.0.0.1\"}}"}`
	asText := `"{\"config\":\"{\\\"0:a\\\":{\\\"address\\\":\\\"240.0.0.1\\\"}}\"}"`
	for text, want := range map[string]string{
		`{type: Config, name: kuma-a-dns-vips, config: '{"a":"240.0.0.1"}'}`:                                                    "a/1:1+0 skipped 0",
		`{"name":"kuma-a-dns-vips","spec":` + spec + `}`:                                                                        "a/3:1+0 skipped 0",
		`{"name":"kuma-a-dns-vips","spec":` + asText + "}\n" + `{"name":"kuma-b-dns-vips","spec":` + spec + `}`:                 "a/3:1+0 b/3:1+0 skipped 0",
		`{"name":"kuma-a-dns-vips","mesh":"","type":"Config","version":3,"spec":` + asText + `,"owner_name":null}`:              "a/3:1+0 skipped 0",
		`{"name":"x","type":"Secret","spec":"{}"}`:                                                                              "skipped 1",
		`{"total":1,"items":[{"type":"Config","name":"kuma-a-dns-vips","config":"{}"},{"type":"Mesh","name":"m"}],"next":null}`: "a/3:0+0 skipped 1",
		`[{"kind":"ConfigMap","metadata":{"name":"kuma-a-dns-vips"},"data":{"config":""}}]`:                                     "a/3:0+0 skipped 0",
		`{"kind":"ConfigMap","metadata":{"name":"xkuma-a-dns-vips"},"data":{}}{"kind":"Secret"}`:                                "skipped 2",
		"kuma-a-dns-vips|default|Config|7|" + spec + "|2023-03-01 10:00:00|{}\nkuma-cluster-id||Config|0|{}|\n(2 rows)\n":       "a/3:1+0 skipped 1",
		"cluster|{\"config\":\"x\"}\r\nkuma-a-dns-vips|" + spec + "\r\n":                                                        "a/3:1+0 skipped 1",
		"name;spec\nkuma-a-dns-vips;" + spec + "\nTime: 0.5 ms\n":                                                               "a/3:1+0 skipped 0",
		"name,mesh,spec\nkuma-a-dns-vips,,\"" + strings.ReplaceAll(spec, `"`, `""`) + "\"\n":                                    "a/3:1+0 skipped 0",
		"\xef\xbb\xbfkuma-a-dns-vips\t{}\n":                                                                                     "a/3:0+0 skipped 0",
		"\n  # nothing\n---\n\n---\ntype: Config\nname: kuma-a-dns-vips\n":                                                      "a/3:0+0 skipped 0",
	} {
		got := read(text)
		if inBrief(got) != want || len(got.Errors) > 0 {
			t.Errorf("%s\n%s, %v\nwant %s", text, inBrief(got), got.Errors, want)
		}
	}
}

func TestServicesWithNamesOfFieldsAreRows(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"kind":"240.0.0.1","type":"240.0.0.2","name":"240.0.0.3","spec":"240.0.0.4","items":"240.0.0.5","config":"240.0.0.6"}`: "m/1:6+0 skipped 0",
		`{"config":"240.0.0.6"}`: "m/1:1+0 skipped 0",
		`{"0:a":{},"kind":"x"}`:  "m/3:1+0 skipped 0",
	} {
		got := Reader{Mesh: "m", Stdin: strings.NewReader(text)}.Read("-")
		if inBrief(got) != want {
			t.Errorf("%s: %s, %v; want %s", text, inBrief(got), got.Errors, want)
		}
	}
}

func TestWhatCannotBeReadIsNamedAndTheRestRead(t *testing.T) {
	t.Parallel()
	const good = `kuma-a-dns-vips|{"config":"{\"0:orders\":{}}"}`
	for text, want := range map[string]struct {
		brief string
		errs  []string
	}{
		"":           {"skipped 0", []string{"standard input: it is empty"}},
		"---\n---\n": {"skipped 0", []string{"standard input: it is empty"}},
		"hello":      {"skipped 0", []string{`"\"hello\"" is no table of Kuma`}},
		"a: [":       {"skipped 0", []string{"the document at line 1 is neither JSON nor YAML nor rows of a query"}},
		"a: 1\n---\nb: [\n---\ntype: Config\nname: kuma-a-dns-vips\n": {"a/3:0+0 skipped 0", []string{"say mesh=NAME", "the document at line 2"}},
		`{"0:a":{}}`: {"skipped 0", []string{"standard input: a table does not say of which mesh it is: say mesh=NAME"}},
		"(0 rows)\n": {"skipped 0", []string{"the query found no table"}},
		good + "\nnonsense\nkuma-b-dns-vips|{\"config\":5}\nkuma-c-dns-vips|{\"config\":\"{\n": {"a/3:1+0 skipped 0", []string{
			`standard input: line 2: "nonsense" is no row`, `standard input: kuma-b-dns-vips: "config" is not a text in quotes`, "standard input: kuma-c-dns-vips: the spec is not a JSON object, at byte 12",
		}},
		"name,spec\nkuma-a-dns-vips,\"{}\"\nkuma-b-dns-vips,x\n\"": {"a/3:0+0 skipped 0", []string{"line 3: ", "not CSV: "}},
		`[5,{"kind":"ConfigMap","metadata":{"name":"kuma-a-dns-vips"}},,{"type":"Config","name":"kuma-b-dns-vips","config":"{\"1:\":{}}"}]`: {"b/3:0+0 skipped 0", []string{
			`"5" is no table`, `ConfigMap kuma-a-dns-vips has no key "config" in its data`, "item 2 of the list is missing", `kuma-b-dns-vips: row "1:", at byte 1: `,
		}},
		`{"apiVersion":"v1","items":[{"kind":"ConfigMap"`:               {"skipped 0", []string{"not a JSON object: in the value of \"items\": the text ends early"}},
		`{"type":"Config","name":"kuma-a-dns-vips"} }`:                  {"a/3:0+0 skipped 0", []string{`at byte 43: "}" where JSON belongs`}},
		`[{"type":"Config","name":"kuma-a-dns-vips","config":"{"},5`:    {"a/3:0+0 skipped 0", []string{"not a JSON list, at byte 58: the text ends early", `kuma-a-dns-vips: table of mesh "a": not a JSON object, at byte 1: the text ends early; 0 of its rows come before that`}},
		strings.Repeat("[", 1_000_000) + strings.Repeat("]", 1_000_000): {"skipped 0", []string{"lists more than 4 deep"}},
		strings.Repeat("[", 1_000_000):                                  {"skipped 0", []string{"not a JSON list, at byte 1000000: the text ends early"}},
		strings.Repeat(`{"items":[`, 100_000):                           {"skipped 0", []string{"say mesh=NAME"}},
	} {
		got := read(text)
		if inBrief(got) != want.brief || len(got.Errors) != len(want.errs) {
			t.Errorf("%q\n%s, %v\nwant %s", text, inBrief(got), got.Errors, want.brief)
			continue
		}
		for i, w := range want.errs {
			if !strings.Contains(got.Errors[i].Error(), w) || !strings.HasPrefix(got.Errors[i].Error(), "standard input: ") {
				t.Errorf("%q: %v; want %s", text, got.Errors[i], w)
			}
		}
	}
}

func TestSpecOfTheDatabaseAloneIsABareTable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"config":"{\"0:a\":{}}"}`: "m/3:1+0 skipped 0 []",
		`{"config":"{\q"}`:          `m/1:0+0 skipped 0 [standard input: row "config", at byte 1: invalid character 'q' in string escape code]`,
	} {
		got := Reader{Mesh: "m", Stdin: strings.NewReader(text)}.Read("-")
		if brief := fmt.Sprint(inBrief(got), " ", got.Errors); brief != want {
			t.Errorf("%s: %s\nwant %s", text, brief, want)
		}
	}
}

func TestFileOfADirectoryThatCannotBeReadIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a.json")
	if err := os.Symlink("nowhere", path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "kuma-b-dns-vips"), 0o700); err != nil {
		t.Fatal(err)
	}
	huge := filepath.Join(dir, "huge.json")
	if err := errors.Join(os.WriteFile(huge, nil, 0o600), os.Truncate(huge, maxInput+1)); err != nil { // a hole
		t.Fatal(err)
	}
	got := ReadAll(dir)
	if len(got.Errors) != 2 || !errors.Is(got.Errors[0], os.ErrNotExist) || !strings.Contains(got.Errors[0].Error(), path) ||
		!strings.HasPrefix(got.Errors[1].Error(), huge+": more than 1073741824 bytes") || got.Skipped != 1 {
		t.Errorf("%s, %v", inBrief(got), got.Errors)
	}
}

func TestTableThatWasCutIsMarked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "shop.json")
	if err := os.WriteFile(path, []byte(`{"0:a":{"address":"240.0.0.1"},"0:b":{"addr`), 0o600); err != nil {
		t.Fatal(err)
	}
	got := ReadAll(path)
	if inBrief(got) != "shop/3:1+0 skipped 0" || got.Tables[0].Broken == nil || len(got.Errors) != 1 || !errors.Is(got.Errors[0], errEnds) {
		t.Errorf("%s, %v, %v", inBrief(got), got.Tables, got.Errors)
	}
}

func TestErrorsOfRowsCanBeTold(t *testing.T) {
	t.Parallel()
	got := read(`kuma-a-dns-vips|{"config":"{\"1:\":{},\"0:a\":{\"address\":\"\",\"address\":\"240.0.0.1\"}}"}`)
	kept := make(map[string]bool)
	for _, err := range got.Errors {
		var row RowError
		if !errors.As(err, &row) {
			t.Errorf("%v is no RowError", err)
		}
		kept[row.Key] = row.Kept
	}
	if want := map[string]bool{"1:": false, "0:a": true}; !maps.Equal(kept, want) {
		t.Errorf("rows with errors %v, want %v", kept, want)
	}
}

func TestNamesThatAreNotUTF8AreSetAsideInsideOfAString(t *testing.T) {
	t.Parallel()
	for name := range maps.Keys(map[string]bool{"\xff": true, `\ud800`: true, `\\ud800`: true, `\udc00\n`: true}) {
		got := read(`{"type":"Config","name":"kuma-a-dns-vips","config":"\t{\n\"0:\u0061\\u0062\ud83d\ude00\ufffd\":{\"address\":\"240.0.0.1\"},\"0:` + name + `\":{}}\r\b\f\/"}`)
		if len(got.Tables) != 1 || len(got.Tables[0].Rows) != 1 || got.Tables[0].Rows[0].Entry.Name != "ab\U0001f600\ufffd" {
			t.Errorf("%q: %v, %v", name, inBrief(got), got.Errors)
		}
		if !slices.ContainsFunc(got.Errors, func(err error) bool {
			return errors.Is(err, errLossy) || strings.Contains(err.Error(), "invalid character")
		}) {
			t.Errorf("%q: errors %v", name, got.Errors)
		}
	}
}

func TestFilesThatAreNotThereAreErrorsThatNameThem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing")
	got := Reader{Mesh: "m", Stdin: iotest.ErrReader(errors.New("broken pipe"))}.Read(missing, dir, "-", "testdata/format1.json")
	if inBrief(got) != "m/1:3+0 skipped 0" || len(got.Errors) != 3 {
		t.Fatalf("%s, %v", inBrief(got), got.Errors)
	}
	for i, want := range []string{"stat " + missing, dir + ": no file in it has a name by which it may hold a table: kuma-MESH-dns-vips", "standard input: broken pipe"} {
		if !strings.HasPrefix(got.Errors[i].Error(), want) {
			t.Errorf("%v, want %s", got.Errors[i], want)
		}
	}
}

func TestYAMLTooLargeIsRefusedWithARemedy(t *testing.T) {
	t.Parallel()
	got := read("# " + strings.Repeat("x", maxYAML))
	if len(got.Errors) != 1 || !strings.Contains(got.Errors[0].Error(), "kubectl get -o json") {
		t.Errorf("%v", got.Errors)
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"kubectl/one.yaml", "universal.yaml", "universal.json", "psql-unaligned.txt", "psql.csv", "psql.json"} {
		f.Add(sample(f, name))
	}
	f.Add([]byte(`[[{"items":[{}]},null]]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got := Reader{Mesh: "m", Stdin: bytes.NewReader(data)}.Read("-")
		if len(got.Tables) == 0 && len(got.Errors) == 0 && got.Skipped == 0 && !bytes.Contains(data, []byte("[")) {
			t.Fatal("nothing was found, and nothing said")
		}
		for _, table := range got.Tables {
			if table.Mesh == "" || table.From == "" {
				t.Fatalf("table %+v", table)
			}
		}
	})
}
