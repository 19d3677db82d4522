package meshvip

import (
	"cmp"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	sourceFile = "file"
	sourceKuma = "kuma"

	defaultInterval = 10 * time.Second
	maxInterval     = time.Hour
)

// SourceConfig is one place that desired state comes from.
type SourceConfig struct {
	Kind string // sourceFile or sourceKuma
	// Place is where the Corefile states it.
	Place string
	// Dir is the absolute path of the directory of a file source.
	Dir string
	// The rest is of Kuma's REST API. URL has no final slash. Files are absolute
	// paths, or empty.
	URL                      string
	TokenFile, CA, Cert, Key string
	Interval                 time.Duration
	// Follow says that Kuma's addresses are served, and none of our own given to
	// what it lists. Tables is where Kuma's tables are, a file or a directory; empty
	// where there are none.
	Follow bool
	Tables string
}

// String returns the source as the Corefile writes it, without its block.
func (s SourceConfig) String() string { return s.Kind + " " + cmp.Or(s.Dir, s.URL) }

// equal reports whether s and o say the same, wherever they stand.
func (s SourceConfig) equal(o SourceConfig) bool {
	s.Place = o.Place
	return s == o
}

// equalSources reports whether two lists say the same.
func equalSources(a, b []SourceConfig) bool { return slices.EqualFunc(a, b, SourceConfig.equal) }

// sourceProperties are what the block of a source of Kuma may state, in the order
// in which they are documented.
var sourceProperties = []string{"token_file", "ca", "cert", "key", "interval", "follow"}

// source reads one place that desired state comes from, and its block.
func (p *parser) source(args []string) error {
	s := SourceConfig{Place: p.place()}
	switch {
	case len(args) == 2 && args[0] == sourceFile && args[1] != "":
		s.Kind, s.Dir = sourceFile, p.path(args[1])
		if p.blockFollows() {
			return p.noBlock("source file")
		}
	case len(args) == 2 && args[0] == sourceKuma:
		u, wrong := apiURL(args[1])
		if wrong != "" {
			return p.c.Errf("source kuma '%s' %s: write the address of the control plane's API, "+
				"for example \"source kuma http://127.0.0.1:5681\"", u, wrong)
		}
		s.Kind, s.URL, s.Interval = sourceKuma, u, defaultInterval
	default:
		return p.c.Errf("source needs a kind and its place: write for example \"source file resources\" for a directory of " +
			"resource files, or \"source kuma http://127.0.0.1:5681\" for the API of a control plane")
	}
	seen := make(map[string]struct{})
	if err := p.block("source", func() error { return p.sourceProperty(&s, seen) }); err != nil {
		return err
	}
	if err := p.checkSource(s); err != nil {
		return err
	}
	p.cfg.Runtime.Sources = append(p.cfg.Runtime.Sources, s)
	return nil
}

// apiURL checks the address of an API, and returns it without a final slash, or
// in a form that may be shown, with what is wrong with it.
func apiURL(s string) (string, string) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return s, "is not the URL of an API"
	case u.User != nil:
		return u.Redacted(), "has a user or a password, which logs would show; a token belongs into a file that token_file names"
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return s, "has more than a host and a path"
	}
	return strings.TrimRight(u.String(), "/"), ""
}

// sourceProperty reads one line of the block of a source.
func (p *parser) sourceProperty(s *SourceConfig, seen map[string]struct{}) error {
	name := p.c.Val()
	if !slices.Contains(sourceProperties, name) {
		return p.unknown(name, " in the block of source", sourceProperties)
	}
	if _, twice := seen[name]; twice {
		return p.c.Errf("property '%s' is stated twice: keep one of the lines", name)
	}
	seen[name] = struct{}{}
	args, err := p.args("source", name)
	if err != nil {
		return err
	}
	if p.blockFollows() {
		return p.noBlock(name)
	}
	switch name {
	case "follow":
		if len(args) > 1 || len(args) == 1 && args[0] == "" {
			return p.c.Errf("follow needs nothing, or where Kuma's tables are: write \"follow\" or for example \"follow tables\"")
		}
		s.Follow = true
		if len(args) == 1 {
			s.Tables = p.path(args[0])
		}
		return nil
	case "interval":
		arg, err := p.one(name, args, "a duration", "10s")
		if err != nil {
			return err
		}
		d, err := time.ParseDuration(arg)
		if err != nil || d < time.Second || d > maxInterval {
			return p.c.Errf("interval '%s' is not a duration from 1s to %v: write for example \"interval 10s\"", arg, maxInterval)
		}
		s.Interval = d
		return nil
	}
	arg, err := p.one(name, args, "a file", "/etc/meshvip/"+name)
	if err != nil {
		return err
	}
	to := map[string]*string{"token_file": &s.TokenFile, "ca": &s.CA, "cert": &s.Cert, "key": &s.Key}[name]
	*to = p.path(arg)
	return nil
}

// checkSource verifies that a source is whole, and apart from the others.
func (p *parser) checkSource(s SourceConfig) error {
	switch {
	case (s.Cert == "") != (s.Key == ""):
		return p.c.Errf("source %v needs both cert and key, or neither: a certificate proves nothing without its key", s)
	case s.CA+s.Cert != "" && strings.HasPrefix(s.URL, "http:"):
		return p.c.Errf("source %v has ca or cert, which plain http does not use: write https in the URL "+
			"(Kuma's port for it is 5682), or leave them out", s)
	}
	for _, o := range p.cfg.Runtime.Sources {
		switch {
		case o.Kind == s.Kind && o.URL == s.URL && o.Dir == s.Dir:
			return p.c.Errf("source %v is stated twice, first at %s: keep one of them", s, o.Place)
		case s.Kind == sourceFile && o.Kind == sourceFile && (within(s.Dir, o.Dir) || within(o.Dir, s.Dir)):
			return p.c.Errf("source %v and source %v (%s) have files in common: a directory is read with all below it; "+
				"keep the upper one", s, o, o.Place)
		}
	}
	return nil
}

// within reports whether dir lies in parent.
func within(dir, parent string) bool {
	rel, err := filepath.Rel(parent, dir)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// mergeSources returns the sources that both lists state, or those of the one
// that states any.
func mergeSources(a, b []SourceConfig) ([]SourceConfig, error) {
	switch {
	case len(b) == 0:
		return a, nil
	case len(a) == 0:
		return b, nil
	case !equalSources(a, b):
		return nil, conflict("source", a[0].Place, sourceList(a), b[0].Place, sourceList(b))
	}
	return a, nil
}

// sourceList returns sources as messages show them.
func sourceList(sources []SourceConfig) string {
	list := make([]string, len(sources))
	for i, s := range sources {
		list[i] = s.String()
		if s.Kind == sourceKuma {
			list[i] += " " + s.block()
		}
	}
	return strings.Join(list, ", ")
}

// block returns what the block of a source states.
func (s SourceConfig) block() string {
	said := []string{"interval " + s.Interval.String()}
	for _, f := range []struct{ name, path string }{
		{"token_file", s.TokenFile}, {"ca", s.CA}, {"cert", s.Cert}, {"key", s.Key},
	} {
		if f.path != "" {
			said = append(said, f.name+" "+f.path)
		}
	}
	if s.Follow {
		said = append(said, strings.TrimSpace("follow "+s.Tables))
	}
	return "(" + strings.Join(said, ", ") + ")"
}
