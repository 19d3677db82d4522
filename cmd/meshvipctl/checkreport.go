package main

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/meshvip/coredns-meshvip/admin"
	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/names"
	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher/kuma"
)

// The levels of findings.
const (
	levelError   = "error"   // something is asked for in vain
	levelWarning = "warning" // it counts, if not as somebody may have meant it
)

// finding is one thing that is wrong in resource files.
type finding struct {
	Level string `json:"level"`
	// Place is a file, with the line where the document begins.
	Place string `json:"place"`
	What  string `json:"what"`
}

// String returns the finding as compilers write theirs.
func (f finding) String() string {
	return fmt.Sprintf("%s: %s: %s", printable(f.Place), f.Level, printable(f.What))
}

// compare orders findings by file, line, level and what they say.
func (f finding) compare(o finding) int {
	file, line := splitPlace(f.Place)
	ofFile, ofLine := splitPlace(o.Place)
	return cmp.Or(strings.Compare(file, ofFile), cmp.Compare(line, ofLine),
		strings.Compare(f.Level, o.Level), strings.Compare(f.What, o.What))
}

// splitPlace returns the file and the line of a place, 0 where it has none.
func splitPlace(place string) (file string, line int) {
	i := strings.LastIndexByte(place, ':')
	if i < 0 {
		return place, 0
	}
	line, err := strconv.Atoi(place[i+1:])
	if err != nil {
		return place, 0
	}
	return place[:i], line
}

// checkReport is what resource files would give, and what is wrong with them.
type checkReport struct {
	Meshes   []checkMesh `json:"meshes"`
	Errors   int         `json:"errors"`
	Warnings int         `json:"warnings"`
	Findings []finding   `json:"findings"`
}

// checkMesh is what one mesh would get.
type checkMesh struct {
	Mesh    string       `json:"mesh"`
	Entries []checkEntry `json:"entries"`
}

// checkEntry is an entry that a mesh would list.
type checkEntry struct {
	Entry string   `json:"entry"`
	Names []string `json:"names"`
	// Static and Given are addresses that it would have by somebody's choice.
	Static []netip.Addr `json:"static"`
	Given  []netip.Addr `json:"given"`
}

// clashes turns what the desired state finds wrong into findings: it is an error
// where a mesh or a resource does not count at all.
func (r *reading) clashes() {
	twice := r.twice()
	for _, p := range r.desired.Problems() {
		f := finding{Level: levelWarning, Place: p.Place, What: p.What}
		if mesh, ok := strings.CutPrefix(p.Place, "mesh "); ok && !r.declared[mesh] {
			f = finding{Level: levelError, Place: cmp.Or(r.named[mesh], p.Place), What: p.Place + ": " + p.What}
		} else if twice[p.Place] {
			f.Level = levelError
		}
		r.findings = append(r.findings, f)
	}
}

// twice returns the places of resources that do not count, because another place
// has them.
func (r *reading) twice() map[string]bool {
	places := make(map[string]bool)
	seen := make(map[kuma.ID]bool)
	paths := slices.Sorted(slices.Values(r.paths))
	for _, path := range slices.Compact(paths) {
		for _, res := range r.desired.Place(path) {
			if seen[res.ID] {
				places[res.Where] = true
			}
			seen[res.ID] = true
		}
	}
	return places
}

// unnamed turns what became of names into findings. meshes has the first mesh that
// lists an entry.
func (r *reading) unnamed(events []names.Event, meshes map[vip.Key]string) {
	for _, e := range events {
		if e.Kind == names.NameLost || e.Kind == names.Unservable {
			key := e.Entry.Key()
			r.findings = append(r.findings, finding{Level: levelWarning, Place: r.place(meshes[key], key), What: e.String()})
		}
	}
}

// unaddressed turns entries that do not have the address that they ask for into
// findings.
func (r *reading) unaddressed(waiting, refused []allocator.Want, meshes map[vip.Key]string) {
	for _, w := range waiting {
		family := "IPv6"
		if w.V4 {
			family = "IPv4"
		}
		r.fault(r.place(meshes[w.Key], w.Key), "entry %v would wait for an %s address: %s", w.Key, family, w.Why)
	}
	for _, w := range refused {
		r.fault(r.place(meshes[w.Key], w.Key), "entry %v would not have the address %v: %s", w.Key, w.Static, w.Why)
	}
}

// place returns where mesh asks for an entry, as far as that is one place.
func (r *reading) place(mesh string, key vip.Key) string {
	return cmp.Or(r.where[asked{mesh, key}], "mesh "+mesh)
}

// checkMeshes returns the rows of a table by mesh, only those meshes if any are
// named, with the static addresses that are not refused.
func checkMeshes(rows []admin.Row, refused []allocator.Want, only []string) []checkMesh {
	lacking := make(map[vip.Key][]netip.Addr)
	for _, w := range refused {
		lacking[w.Key] = append(lacking[w.Key], w.Static)
	}
	byMesh := make(map[string][]checkEntry)
	for _, row := range rows {
		static := slices.DeleteFunc(slices.Clone(row.Static), func(a netip.Addr) bool { return slices.Contains(lacking[keyOf(row.Entry)], a) })
		for _, l := range row.Listings {
			if len(only) > 0 && !slices.Contains(only, l.Mesh) {
				continue
			}
			byMesh[l.Mesh] = append(byMesh[l.Mesh], checkEntry{
				Entry: row.Entry, Names: orEmpty(row.Names), Static: static, Given: row.Given,
			})
		}
	}
	meshes := make([]checkMesh, 0, len(byMesh))
	for mesh, entries := range byMesh {
		meshes = append(meshes, checkMesh{mesh, entries})
	}
	slices.SortFunc(meshes, func(a, b checkMesh) int { return strings.Compare(a.Mesh, b.Mesh) })
	return meshes
}

// keyOf returns the key of an entry in its text form.
func keyOf(entry string) vip.Key {
	e, _ := vip.ParseEntry(entry) // what the table says can be read
	return e.Key()
}

// finish sorts and counts the findings.
func (c *checkReport) finish(all []finding) {
	slices.SortFunc(all, finding.compare)
	c.Findings = append([]finding{}, slices.Compact(all)...)
	for _, f := range c.Findings {
		if f.Level == levelError {
			c.Errors++
		} else {
			c.Warnings++
		}
	}
}

// summary says how it is, in one line.
func (c checkReport) summary() string {
	entries := 0
	for _, m := range c.Meshes {
		entries += len(m.Entries)
	}
	return fmt.Sprintf("%s in %s: %s, %s", count(entries, "listing"), count(len(c.Meshes), "mesh"),
		count(c.Errors, "error"), count(c.Warnings, "warning"))
}

// text writes what each mesh would get.
func (c checkReport) text(p *page) {
	for i, m := range c.Meshes {
		if i > 0 {
			p.line("")
		}
		p.title("mesh %s: %s", m.Mesh, count(len(m.Entries), "entry"))
		g := &grid{columns: []column{{head: "ENTRY", cut: true}, {head: "NAMES", cut: true}, {head: "ADDRESS"}}}
		for _, e := range m.Entries {
			g.add(e.Entry, listed(e.Names), checkAddress(e))
		}
		p.grid(g)
	}
}

// checkAddress says where an entry would have its address from.
func checkAddress(e checkEntry) string {
	switch {
	case len(e.Given) > 0:
		return listed(addresses(e.Given)) + " (given by Kuma)"
	case len(e.Static) > 0:
		return listed(addresses(e.Static)) + " (static)"
	}
	return "from a pool"
}

// orEmpty returns a list that is never null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
