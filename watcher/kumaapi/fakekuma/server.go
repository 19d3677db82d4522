// Package fakekuma is a control plane of Kuma for tests: a handler that serves
// resources which it was given as Kuma's REST API does, page by page, and goes
// wrong in the ways that it is told to. It gives no addresses and knows no rules:
// it lists what it has.
package fakekuma

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Paths are the listings of the API.
var Paths = []string{
	"meshes", "dataplanes", "external-services", "zone-ingresses", "virtual-outbounds", "meshgateways",
	"meshservices", "meshexternalservices", "meshmultizoneservices", "hostnamegenerators",
}

// plain are the newer paths of listings that had dashes in theirs.
var plain = map[string]string{
	"zoneingresses": "zone-ingresses", "externalservices": "external-services", "virtualoutbounds": "virtual-outbounds",
}

// Settings are how a control plane is and behaves. The zero value is a zone's
// control plane of version 2.14 that gives no addresses and does nothing wrong.
type Settings struct {
	Version string // default 2.14.0
	Mode    string // default "zone"
	Zone    string // default "default"
	// CIDR is where it gives addresses from; it gives none where that is empty.
	CIDR string
	// Token is what it wants to be asked with; "" where it asks for none.
	Token string
	// Prefix is the path before that of the API, such as "/kuma".
	Prefix string
	// PageSize is the most that it puts on a page. Default 1000.
	PageSize int
	// ETags says that it tells whether a page has changed.
	ETags bool
	// Absent are the listings that it does not know.
	Absent []string
	// Spelling is how it writes the paths of listings that have two: "dashes" as
	// older versions do, such as zone-ingresses, "plain" as newer ones do, such as
	// zoneingresses. Default: it answers both.
	Spelling string
	// Faults are what goes wrong. The first that fits counts.
	Faults []*Fault
}

// Server is a control plane. It may be used by many goroutines. It implements
// [http.Handler].
type Server struct {
	mu       sync.Mutex
	settings Settings
	items    map[string][]item // by path, sorted
	requests []string
}

// item is a resource as it is listed.
type item struct {
	mesh, name string
	body       json.RawMessage
}

func (i item) compare(o item) int {
	return cmp.Or(strings.Compare(i.mesh, o.mesh), strings.Compare(i.name, o.name))
}

// New returns a control plane that has the default mesh.
func New() *Server {
	s := &Server{items: make(map[string][]item)}
	s.Put("meshes", `{"type":"Mesh","name":"default"}`)
	return s
}

// Set changes its settings.
func (s *Server) Set(change func(*Settings)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.settings)
}

// Put adds resources, JSON documents, to the listing at path, or puts them in the
// place of those with the same mesh and name.
func (s *Server) Put(path string, documents ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, document := range documents {
		it := item{body: json.RawMessage(document)}
		var id struct{ Mesh, Name any }
		if json.Unmarshal(it.body, &id) == nil {
			it.mesh, it.name = text(id.Mesh), text(id.Name)
		}
		i, found := slices.BinarySearchFunc(s.items[path], it, item.compare)
		if found {
			s.items[path][i] = it
		} else {
			s.items[path] = slices.Insert(s.items[path], i, it)
		}
	}
}

func text(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// Remove takes the resource away, and reports whether it was there. mesh is empty
// for resources that belong to none.
func (s *Server) Remove(path, mesh, name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.items[path])
	s.items[path] = slices.DeleteFunc(s.items[path], func(i item) bool { return i.mesh == mesh && i.name == name })
	return len(s.items[path]) < before
}

// Clear takes all resources of a listing away.
func (s *Server) Clear(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.items, path)
}

// Len returns how many resources the listing at path has.
func (s *Server) Len(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.items[path])
}

// Requests returns what was asked since the last call: paths with their queries.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.requests
	s.requests = nil
	return asked
}

// Load puts what the answers of a real control plane list that are in dir, one
// file PATH.json for each listing.
func (s *Server) Load(dir string) error {
	for _, path := range Paths {
		data, err := os.ReadFile(filepath.Join(dir, path+".json"))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return err
		}
		var listing struct{ Items []json.RawMessage }
		if err := json.Unmarshal(data, &listing); err != nil {
			return fmt.Errorf("%s.json: %w", path, err)
		}
		for _, body := range listing.Items {
			s.Put(path, string(body))
		}
	}
	return nil
}
