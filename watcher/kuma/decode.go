package kuma

import (
	"errors"
	"fmt"
	"strings"
)

// maxNesting bounds Lists in Lists.
const maxNesting = 4

// ErrForeign marks a document of an unknown type that has no name. It is either
// no resource at all, and then of no interest, or one that was cut short in the
// very first line, "type: Dat". Only who knows what stood there before can
// tell.
var ErrForeign = errors.New("an unknown type and no name: the document was cut short, or is no resource")

// Decode reads all resources of a stream, in its order. Documents that are not
// valid resources are returned beside them. The error, which names a line,
// says that the stream as a whole cannot be read; nothing else is returned
// then. Its cost is bounded by the length of data: aliases that would make
// more of it are an error.
func Decode(data []byte) ([]Resource, []Invalid, error) {
	docs, err := documents(data)
	if err != nil {
		return nil, nil, err
	}
	var d decoder
	for _, doc := range docs {
		d.line = doc.line
		d.value(doc.body, 0)
	}
	return d.resources, d.invalid, nil
}

type decoder struct {
	line      int
	resources []Resource
	invalid   []Invalid
}

// value reads a document or an item of a list.
func (d *decoder) value(v any, nesting int) {
	switch v := v.(type) {
	case []any:
		d.list(v, nesting)
	case map[string]any:
		d.mapping(object{m: v, faults: new(faults)}, nesting)
	default:
		d.set(ID{}, fmt.Errorf("%s where a resource is expected", describe(v)))
	}
}

func (d *decoder) list(items []any, nesting int) {
	if nesting == maxNesting {
		d.set(ID{}, fmt.Errorf("lists more than %d deep: list the resources themselves", maxNesting))
		return
	}
	for _, item := range items {
		d.value(item, nesting+1)
	}
}

func (d *decoder) mapping(o object, nesting int) {
	typ, err := o.text("type")
	if err != nil {
		d.set(ID{}, err)
		return
	}
	if typ != "" {
		if !known(typ) && o.m["name"] == nil {
			d.set(ID{}, fmt.Errorf("%w: %.40q", ErrForeign, typ))
			return
		}
		d.add(universal, o, typ)
		return
	}
	kind, err := o.text("kind")
	if err != nil {
		d.set(ID{}, err)
		return
	}
	version, err := o.text("apiVersion")
	if err != nil {
		d.set(ID{Type: kind}, err)
		return
	}
	items, listed := o.m["items"].([]any)
	switch {
	case listed && (kind == "" && version == "" || strings.HasSuffix(kind, "List") && (version == "v1" || version == apiVersion)):
		// "kubectl get" makes a List, the API of a kind a KINDList, and
		// Kuma's REST API an object without either.
		d.list(items, nesting)
	case kind == "" && version == "":
		d.set(ID{}, fmt.Errorf("the document has neither a type nor a kind: add one, or move the file elsewhere"))
	case kind == "":
		d.set(ID{}, fmt.Errorf("the document has an apiVersion but no kind: add one"))
	case version == "" && known(kind):
		d.set(ID{Type: kind}, fmt.Errorf("the document has a kind but no apiVersion: add apiVersion: %s", apiVersion))
	case version == apiVersion:
		d.add(kubernetes, o, kind)
	}
}

func (d *decoder) set(id ID, err error) {
	d.invalid = append(d.invalid, Invalid{id, d.line, err})
}

// add takes up what a form makes of a document: nothing where the type is not
// known.
func (d *decoder) add(form func(object, string) (ID, Spec, error), o object, typ string) {
	id, spec, err := form(o, typ)
	switch {
	case err != nil:
		d.set(id, err)
	case spec != nil:
		d.resources = append(d.resources, Resource{ID: id, Line: d.line, Spec: spec, Faults: o.faults.all()})
	}
}
