package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/kumatable"
	"github.com/meshvip/coredns-meshvip/vip"
	"sigs.k8s.io/yaml"
)

// kumaTable is a mesh's table in a format of Kuma's.
type kumaTable struct {
	mesh string
	text []byte
	// rows counts the entries of the text.
	rows int
	// lacks says what the text cannot carry, one thing each.
	lacks []string
}

// encodeTables returns the tables of meshes in a format of Kuma's, 3 or 4. rows
// are sorted by key.
func encodeTables(format string, meshes []string, rows []*vip.Row) []kumaTable {
	encode := kumatable.Encode3
	if format == "4" {
		encode = kumatable.Encode4
	}
	byMesh := make(map[string][]*vip.Row, len(meshes))
	for _, r := range rows {
		for _, l := range r.Listings {
			byMesh[l.Mesh] = append(byMesh[l.Mesh], r)
		}
	}
	tables := make([]kumaTable, 0, len(meshes))
	for _, mesh := range meshes {
		t := kumaTable{mesh: mesh}
		text, err := encode(mesh, byMesh[mesh])
		t.text = text
		var aside kumatable.SetAside
		if errors.As(err, &aside) {
			for _, e := range aside {
				t.lacks = append(t.lacks, e.Error())
			}
		}
		t.rows = -len(t.lacks)
		t.count(byMesh[mesh])
		tables = append(tables, t)
	}
	return tables
}

// count counts the rows, and tells what no format of Kuma's can carry.
func (t *kumaTable) count(rows []*vip.Row) {
	newer, second, terms := 0, 0, 0
	for _, r := range rows {
		switch {
		case r.Entry.Kind.OfMesh():
			newer++
			continue
		case len(r.Addrs()) > 1:
			second++
		}
		if l, _ := r.Listing(t.mesh); !l.Terms.Empty() {
			terms++
		}
		t.rows++
	}
	if newer > 0 {
		t.lacks = append(t.lacks, count(newer, "entry")+" of types 3 to 5, which Kuma keeps in its resources")
	}
	if second > 0 {
		t.lacks = append(t.lacks, count(second, "IPv6 address")+" beside an IPv4 one: the formats have one an entry")
	}
	if terms > 0 {
		t.lacks = append(t.lacks, "static or given addresses that were asked for, of "+count(terms, "entry"))
	}
}

// name returns the name that Kuma knows the table by.
func (t kumaTable) name() string { return "kuma-" + t.mesh + "-dns-vips" }

// file returns the name of the table's file. The error says that the mesh's name
// cannot stand in one: no mesh of Kuma's has such a name.
func (t kumaTable) file() (string, error) {
	for _, c := range []byte(t.mesh) {
		if c <= ' ' || c > '~' || c == '/' || c == '\\' {
			return "", fmt.Errorf("the name of mesh %q cannot stand in a file's name: choose the others with --mesh, or take a backup", t.mesh)
		}
	}
	return t.name() + ".json", nil
}

// configMap is what kubectl applies of a ConfigMap.
type configMap struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   configMapMetadata `json:"metadata"`
	Data       map[string]string `json:"data"`
}

type configMapMetadata struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

// configMapText returns the table as a YAML document of a ConfigMap, which
// "kubectl apply -f" takes.
func (t kumaTable) configMapText(namespace string) ([]byte, error) {
	text, err := yaml.Marshal(configMap{
		APIVersion: "v1", Kind: "ConfigMap",
		Metadata: configMapMetadata{Name: t.name(), Namespace: namespace},
		Data:     map[string]string{"config": string(t.text)},
	})
	if err != nil {
		return nil, fmt.Errorf("table of mesh %q: %w", t.mesh, err)
	}
	return append([]byte("---\n"), text...), nil
}

// stateMeshes returns the meshes of a state, sorted, or those of only that it
// has; the error names one that it has not.
func stateMeshes(s allocator.State, only []string) ([]string, error) {
	meshes := slices.Sorted(slices.Values(s.Meshes))
	if len(only) == 0 {
		return meshes, nil
	}
	for _, m := range only {
		if _, ok := slices.BinarySearch(meshes, m); !ok {
			return nil, notFound("there is no mesh %q: there are %s", m, listed(meshes))
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(only))), nil
}
