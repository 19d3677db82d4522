package admin

import (
	"cmp"
	"encoding/json"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// document is what the tests read of openapi.yaml.
type document struct {
	Paths map[string]map[string]struct {
		OperationID string `json:"operationId"`
		Parameters  []struct{ Name, In string }
		RequestBody struct {
			Content map[string]struct{ Schema schema }
		}
		Responses map[string]struct {
			Ref     string `json:"$ref"`
			Content map[string]struct{ Schema schema }
		}
	}
	Components struct {
		Schemas   map[string]schema
		Responses map[string]any
	}
}

type schema struct {
	Ref                  string `json:"$ref"`
	Type, Format         string
	Description          string
	Enum                 []string
	Required             []string
	Properties           map[string]schema
	Items                *schema
	AdditionalProperties *schema
}

func readDocument(t *testing.T) (d document) {
	t.Helper()
	b, err := yaml.YAMLToJSON(openapi)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// wire are the types that stand for bodies and answers, by path and method.
var wire = map[string]struct{ body, answer any }{
	"GET /v1/status": {nil, Status{}}, "GET /v1/meshes": {nil, Meshes{}}, "GET /v1/table": {nil, TablePage{}},
	"GET /v1/pools": {nil, Pools{}}, "GET /v1/explain": {nil, Explanation{}}, "GET /v1/conflicts": {nil, Conflicts{}},
	"GET /v1/sources": {nil, Sources{}}, "GET /v1/changes": {nil, Changes{}}, "GET /v1/stream": {}, "GET /v1/verify": {nil, Verified{}},
	"GET /v1/moves": {nil, Moves{}}, "POST /v1/moves/confirm": {Confirm{}, Confirmed{}}, "POST /v1/plan": {Layout{}, Moves{}},
	"GET /v1/held": {nil, Held{}}, "POST /v1/held/release": {Release{}, Released{}}, "GET /v1/backup": {}, "GET /v1/openapi.yaml": {},
}

func TestTheDocumentHasAllPathsAndParameters(t *testing.T) {
	t.Parallel()
	d := readDocument(t)
	told := 0
	for _, e := range endpoints() {
		op, ok := d.Paths[e.path][strings.ToLower(e.method)]
		if !ok || op.OperationID == "" {
			t.Errorf("%s %s is not in the document", e.method, e.path)
			continue
		}
		told++
		var params []string
		for _, p := range op.Parameters {
			if p.In == "query" {
				params = append(params, p.Name)
			}
		}
		if !slices.Equal(params, e.params) {
			t.Errorf("%s %s has the parameters %q, and in the document %q", e.method, e.path, e.params, params)
		}
		w, ok := wire[e.method+" "+e.path]
		if !ok {
			t.Errorf("%s %s has no types in this test", e.method, e.path)
		}
		wantRef(t, e, w.body, op.RequestBody.Content["application/json"].Schema.Ref)
		if w.answer != nil {
			wantRef(t, e, w.answer, op.Responses["200"].Content["application/json"].Schema.Ref)
		}
	}
	for path, methods := range d.Paths {
		if told -= len(methods); len(routes[path]) != len(methods) {
			t.Errorf("the document has %d methods of %s, want %d", len(methods), path, len(routes[path]))
		}
	}
	if told != 0 || len(wire) != len(endpoints()) {
		t.Errorf("%d paths too few, %d types for %d endpoints", told, len(wire), len(endpoints()))
	}
}

func wantRef(t *testing.T, e endpoint, v any, ref string) {
	t.Helper()
	want := ""
	if v != nil {
		want = "#/components/schemas/" + reflect.TypeOf(v).Name()
	}
	if ref != want {
		t.Errorf("%s %s: the document refers to %q, want %q", e.method, e.path, ref, want)
	}
}

func TestTheDocumentHasAllFieldsOfAllTypes(t *testing.T) {
	t.Parallel()
	d := readDocument(t)
	seen := map[string]bool{"IPAddress": true, "IPPrefix": true}
	for _, w := range wire {
		for _, v := range []any{w.body, w.answer} {
			if v != nil {
				compareStruct(t, d, reflect.TypeOf(v), seen)
			}
		}
	}
	for _, v := range []any{Change{}, Gap{}, Failure{}} {
		compareStruct(t, d, reflect.TypeOf(v), seen)
	}
	for name, s := range d.Components.Schemas {
		if !seen[name] {
			t.Errorf("schema %s is of no type", name)
		}
		if s.Description == "" {
			t.Errorf("schema %s has no description", name)
		}
	}
}

func compareStruct(t *testing.T, d document, typ reflect.Type, seen map[string]bool) {
	t.Helper()
	if seen[typ.Name()] {
		return
	}
	seen[typ.Name()] = true
	s, ok := d.Components.Schemas[typ.Name()]
	if !ok || s.Type != "object" {
		t.Errorf("type %s has no schema", typ.Name())
		return
	}
	var required []string
	for i := range typ.NumField() {
		name, option, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		if option == "" {
			required = append(required, name)
		}
		p, ok := s.Properties[name]
		if !ok {
			t.Errorf("%s.%s is not in the document", typ.Name(), name)
			continue
		}
		compareType(t, d, typ.Name()+"."+name, typ.Field(i).Type, p, seen)
	}
	if len(s.Properties) != typ.NumField() {
		t.Errorf("%s has %d fields, and in the document %d", typ.Name(), typ.NumField(), len(s.Properties))
	}
	if !slices.Equal(s.Required, required) {
		t.Errorf("%s always has %q, by the document %q", typ.Name(), required, s.Required)
	}
}

func compareType(t *testing.T, d document, what string, typ reflect.Type, s schema, seen map[string]bool) {
	t.Helper()
	got := cmp.Or(strings.TrimPrefix(s.Ref, "#/components/schemas/"), s.Type+s.Format)
	want := ""
	switch typ.Kind() {
	case reflect.Pointer:
		compareType(t, d, what, typ.Elem(), s, seen)
		return
	case reflect.Slice:
		if want = "array"; s.Items != nil {
			compareType(t, d, what+"[]", typ.Elem(), *s.Items, seen)
		}
	case reflect.Map:
		if want = "object"; s.AdditionalProperties != nil {
			compareType(t, d, what+"{}", typ.Elem(), *s.AdditionalProperties, seen)
		}
	case reflect.Struct:
		switch typ {
		case reflect.TypeFor[time.Time]():
			want = "stringdate-time"
		case reflect.TypeFor[netip.Addr]():
			want = "IPAddress"
		case reflect.TypeFor[netip.Prefix]():
			want = "IPPrefix"
		default:
			want = typ.Name()
			compareStruct(t, d, typ, seen)
		}
	case reflect.Bool:
		want = "boolean"
	case reflect.Float64:
		want = "number"
	case reflect.String:
		if want = "string"; typ == reflect.TypeFor[Code]() {
			want = "Code"
			seen["Code"] = true
		}
	default:
		want = "integer"
	}
	if got != want {
		t.Errorf("%s is %q in the document, want %q", what, got, want)
	}
}

func TestTheDocumentHasAllWordsOfLists(t *testing.T) {
	t.Parallel()
	d := readDocument(t)
	for _, c := range []struct {
		schema, property string
		want             []string
	}{
		{"AddressState", "state", []string{Live, Cooling, Past, Quarantined, Aside, Unreadable, Free, Excluded, ReservedRange, Network, Broadcast, Given, Outside}},
		{"HeldAddress", "how", []string{Automatic, ByCorefile, ByTag, ByKuma}},
		{"Event", "what", []string{Allocated, Returned, ReleasedAddr, Moved, Listed, Unlisted, Changed, GivenChanged, Forgotten, MeshCreated, MeshGone}},
		{"Waiting", "family", []string{family(true), family(false)}},
		{"Status", "role", []string{Single, Leads, Follower}},
	} {
		got := slices.Sorted(slices.Values(d.Components.Schemas[c.schema].Properties[c.property].Enum))
		if slices.Sort(c.want); !slices.Equal(got, c.want) {
			t.Errorf("%s.%s can be %q, want %q", c.schema, c.property, got, c.want)
		}
	}
	codes := d.Components.Schemas["Code"].Enum
	if want := []string{string(NotFound), string(BadRequest), string(Conflict), string(Unavailable), string(Internal)}; !slices.Equal(codes, want) {
		t.Errorf("codes are %q, want %q", codes, want)
	}
	if len(addressStates) != 13 {
		t.Errorf("%d states of addresses have a word, want 13", len(addressStates))
	}
}

// documented reports whether the document tells of a status.
func documented(method, path, status string) bool {
	var d document
	b, err := yaml.YAMLToJSON(openapi)
	if err == nil {
		err = json.Unmarshal(b, &d)
	}
	r, ok := d.Paths[path][strings.ToLower(method)].Responses[status]
	if err != nil || !ok {
		return false
	}
	if name, is := strings.CutPrefix(r.Ref, "#/components/responses/"); is {
		_, ok = d.Components.Responses[name]
	}
	return ok
}
