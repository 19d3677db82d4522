package kuma

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"text/template"
	"text/template/parse"
)

// Bounds of templates, which are anybody's input. What a template makes is a
// name or a port, so they are far above what is of use.
const (
	maxTemplate = 4096 // the text of one, in bytes
	maxRendered = 1024 // what it makes, and each value that goes into it
)

// pattern is a Go text/template of a policy that can be run on any values
// without harm: it has an end, and makes little of much.
//
// A template without loops runs each of its nodes once at most, so "range" is
// refused, which loops over a number as well, and so is "template", which
// recurs. What remains that can grow is text, by the functions that make text of
// values; they are replaced by bounded ones, see [bounded].
type pattern struct {
	text string
	run  *template.Template

	// mu guards labels, those of the service that the template runs for. A
	// template knows functions and no values but its own, so the function label
	// has to know them.
	mu     sync.Mutex
	labels func(string) (string, bool)
}

// newPattern reads a template. labelled says that it may call label.
func newPattern(text string, labelled bool) (*pattern, error) {
	if text == "" {
		return nil, errors.New("missing or empty: write a template")
	}
	if len(text) > maxTemplate {
		return nil, fmt.Errorf("the template has %d bytes: write one of %d at most", len(text), maxTemplate)
	}
	p := &pattern{text: text}
	t := template.New("template").Funcs(bounded)
	if labelled {
		t.Funcs(template.FuncMap{"label": p.label})
	}
	t, err := t.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%w: correct the template", shortened{err})
	}
	if len(t.Templates()) > 1 {
		return nil, errors.New("{{define}} and {{block}} are not allowed here: write the text where it is to stand")
	}
	if t.Tree != nil {
		if err := allowed(t.Root); err != nil {
			return nil, err
		}
	}
	p.run = t
	return p, nil
}

// Equal reports whether p and o are the same template.
func (p *pattern) Equal(o *pattern) bool {
	return p == o || p != nil && o != nil && p.text == o.text
}

// allowed returns an error if a list of nodes holds one that may run twice.
func allowed(list *parse.ListNode) error {
	if list == nil {
		return nil
	}
	for _, n := range list.Nodes {
		var branch parse.BranchNode
		switch n := n.(type) {
		case *parse.RangeNode:
			return errors.New("{{range}} is not allowed here: a name has no use for it")
		case *parse.TemplateNode:
			return errors.New("{{template}} is not allowed here: write the text where it is to stand")
		case *parse.IfNode:
			branch = n.BranchNode
		case *parse.WithNode:
			branch = n.BranchNode
		default:
			continue
		}
		if err := errors.Join(allowed(branch.List), allowed(branch.ElseList)); err != nil {
			return err
		}
	}
	return nil
}

// render runs the template on data. labels are those that label finds; nil
// where there are none.
func (p *pattern) render(data any, labels func(string) (string, bool)) (text string, err error) {
	if labels != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.labels = labels
	}
	defer func() {
		// The engine lets faults of its own through.
		if r := recover(); r != nil {
			err = fmt.Errorf("the template engine failed: %.200v", r)
		}
	}()
	var w limited
	if err := p.run.Execute(&w, data); err != nil {
		return "", shortened{err}
	}
	return string(w.text), nil
}

func (p *pattern) label(key string) (string, error) {
	value, ok := p.labels(key)
	switch {
	case !ok:
		return "", fmt.Errorf("there is no label %.60q", key)
	case len(value) > maxRendered:
		return "", fmt.Errorf("the label %.60q is longer than %d bytes", key, maxRendered)
	}
	return value, nil
}

var errRendered = fmt.Errorf("the text is longer than %d bytes", maxRendered)

// limited is a writer that takes maxRendered bytes.
type limited struct{ text []byte }

func (w *limited) Write(b []byte) (int, error) {
	if len(w.text)+len(b) > maxRendered {
		return 0, errRendered
	}
	w.text = append(w.text, b...)
	return len(b), nil
}

// shortened is an error of which messages leave out the middle: the engine's own
// repeat the template before they say what is wrong.
type shortened struct{ error }

func (s shortened) Error() string {
	const head, tail = 60, 180
	text := s.error.Error()
	if len(text) <= head+tail {
		return text
	}
	return strings.ToValidUTF8(text[:head]+" ... "+text[len(text)-tail:], "")
}

func (s shortened) Unwrap() error { return s.error }
