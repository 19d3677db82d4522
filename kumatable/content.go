package kumatable

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
)

// maxNesting bounds lists in lists.
const maxNesting = 4

// content reads what a file holds.
func (in *input) content(s source, data []byte) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	text := bytes.TrimSpace(data)
	switch {
	case len(text) == 0:
		in.fail(s.from, errors.New("it is empty"))
	case text[0] == '{' || text[0] == '[':
		in.values(s, text)
	case looksQueried(text):
		in.queried(s, text)
	default:
		in.yaml(s, data)
	}
}

// values reads a stream of JSON values.
func (in *input) values(s source, text []byte) {
	scan := scanner{text: text}
	for scan.pos < len(text) {
		start := scan.pos
		err := scan.value()
		switch {
		case err == nil && scan.pos == start:
			in.fail(s.from, fmt.Errorf("at byte %d: %.20q where JSON belongs", start, text[start:min(len(text), start+20)]))
			return
		case errors.Is(err, errEnds):
			scan.pos = len(text) // what reads the value says where it ends
		}
		in.value(s, text[start:scan.pos])
		scan.space()
	}
}

// value reads one JSON value.
func (in *input) value(s source, text []byte) {
	scan := scanner{text: text}
	switch {
	case in.nesting > maxNesting:
		in.fail(s.from, fmt.Errorf("lists more than %d deep", maxNesting))
	case text[0] == '[':
		items, err := scan.list()
		if err != nil {
			in.fail(s.from, fmt.Errorf("not a JSON list, at byte %d: %w", scan.pos, err))
		}
		in.items(s, text, items)
	case text[0] != '{':
		in.fail(s.from, fmt.Errorf("%.20q is no table of Kuma", text))
	default:
		members, err := scan.object()
		if err != nil && len(members) == 0 && !errors.Is(err, errEnds) && in.flow(s, text) {
			return
		}
		in.object(s, text, members, err)
	}
}

// items reads the items of a list.
func (in *input) items(s source, text []byte, items []member) {
	in.nesting++
	defer func() { in.nesting-- }()
	for i, m := range items {
		if raw := m.raw(text); len(raw) > 0 {
			in.value(s, raw)
		} else {
			in.fail(s.from, fmt.Errorf("item %d of the list is missing", i))
		}
	}
}

// object reads an object: a resource, a list of them, a row of the database, or
// a table. broken says why it is not whole.
func (in *input) object(s source, text []byte, members []member, broken error) {
	o := object{text, members}
	kind, typ, name := o.string("kind"), o.string("type"), o.string("name")
	if items := o.raw("items"); len(items) > 0 && items[0] == '[' && (kind == "" || strings.HasSuffix(kind, "List")) {
		in.value(s, items)
		return
	}
	resource := kind != "" || typ != "" || o.string("apiVersion") != "" || name != "" && o.raw("spec") != nil
	for _, m := range members {
		if _, err := vip.ParseEntry(m.key); err == nil {
			resource = false
		}
	}
	switch {
	case broken != nil && resource:
		in.fail(s.from, fmt.Errorf("not a JSON object: %w", broken))
	case kind == "ConfigMap":
		in.configMap(s, o)
	case resource && (typ == "Config" || name != "" && typ == "" && kind == ""):
		config, err := o.config()
		in.config(s, name, config, err)
	case resource:
		in.Skipped++
	case len(members) == 1 && strings.HasPrefix(o.string("config"), "{"):
		config, err := o.config() // what the database has beside the name
		if err != nil {
			in.fail(s.from, err)
			return
		}
		in.bare(s, config)
	default:
		in.bare(s, text)
	}
}

// configMap reads a ConfigMap.
func (in *input) configMap(s source, o object) {
	meta := o.object("metadata")
	name := meta.string("name")
	data := o.object("data")
	if _, ok := meshOfConfig(name); ok && data.raw("config") == nil {
		in.fail(s.from, fmt.Errorf(`ConfigMap %s has no key "config" in its data`, name))
		return
	}
	config, err := data.config()
	in.config(s, name, config, err)
}

// config reads a table by its name.
func (in *input) config(s source, name string, text []byte, err error) {
	if _, ok := meshOfConfig(name); ok && err != nil {
		in.fail(s.within(name).from, err)
		return
	}
	in.named(s, name, text)
}

// object is a JSON object in a text.
type object struct {
	text    []byte
	members []member
}

// raw returns the text of a member, nil where there is none. Of one that is
// there twice it is the last.
func (o object) raw(key string) []byte {
	for i := len(o.members) - 1; i >= 0; i-- {
		if m := o.members[i]; m.key == key {
			return m.raw(o.text)
		}
	}
	return nil
}

// string returns the text that a member is. An address is none: it is a row of
// a table in which a service has such a name.
func (o object) string(key string) string {
	var s string
	if raw := o.raw(key); len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	if _, err := netip.ParseAddr(s); err == nil {
		return ""
	}
	return s
}

// object returns an object that a member is, an empty one where it is none.
func (o object) object(key string) object {
	raw := o.raw(key)
	if len(raw) == 0 {
		return object{}
	}
	s := scanner{text: raw}
	members, _ := s.object()
	return object{raw, members}
}

// config returns the text of a table: that of the member "config", or of the one
// in "spec", which may be JSON in a string. It is empty where there is none.
func (o object) config() ([]byte, error) {
	spec := o.raw("spec")
	switch {
	case o.raw("config") != nil:
		return unquoteText(o.raw("config"))
	case len(spec) == 0:
		return nil, nil
	case spec[0] == '"':
		text, err := unquoteText(spec)
		if err != nil {
			return nil, err
		}
		return configOf(text)
	}
	return configOf(spec)
}

// configOf returns the text of the table in a spec, as the database has it.
func configOf(spec []byte) ([]byte, error) {
	s := scanner{text: spec}
	members, err := s.document()
	if err != nil {
		return nil, fmt.Errorf("the spec is %w", err)
	}
	if config := (object{spec, members}).raw("config"); config != nil {
		return unquoteText(config)
	}
	return nil, nil
}

// unquoteText reads the JSON string that is the text of a table. Bytes that are
// not UTF-8, and halves of characters, stay what they are: the row that has
// them is told by who reads the table.
func unquoteText(raw []byte) ([]byte, error) {
	if len(raw) == 0 || raw[0] != '"' {
		return nil, errors.New(`"config" is not a text in quotes`)
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, plainly(err)
	}
	if !strings.ContainsRune(s, '\ufffd') || !lossyText(raw) {
		return []byte(s), nil
	}
	return unescape(raw[1 : len(raw)-1]), nil
}
