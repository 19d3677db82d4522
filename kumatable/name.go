package kumatable

import (
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
)

// globalName is the name of the table of format 0, that of all meshes.
const globalName = "kuma-dns-vips"

// configName finds the mesh in the name of its table. It is anchored at both
// ends: a copy by another name is another thing.
var configName = regexp.MustCompile(`^kuma-(.+)-dns-vips$`)

// ConfigName returns the name that Kuma gives the table of mesh, of a ConfigMap
// or a Config.
func ConfigName(mesh string) string { return "kuma-" + mesh + "-dns-vips" }

// meshOfConfig returns the mesh whose table has the name. Of the table of all
// meshes it is "".
func meshOfConfig(name string) (mesh string, ok bool) {
	if name == globalName {
		return "", true
	}
	m := configName.FindStringSubmatch(name)
	if m == nil {
		return "", false
	}
	return m[1], true
}

// extensions are those of files that may hold a table.
var extensions = []string{".json", ".yaml", ".yml", ".csv", ".tsv", ".txt"}

// meshOfFile returns the mesh whose bare table a file holds by its name:
// kuma-MESH-dns-vips with any extension or none, or MESH.json, escaped as in a
// directory of published tables. It is "" for the table of all meshes.
func meshOfFile(path string) (mesh string, err error) {
	base := filepath.Base(path)
	ext := filepath.Ext(base)
	if mesh, ok := meshOfConfig(base); ok {
		return mesh, nil
	}
	stem := strings.TrimSuffix(base, ext)
	if mesh, ok := meshOfConfig(stem); ok {
		return mesh, nil
	}
	if ext == ".json" && stem != "" && !strings.Contains(stem, "dns-vips") {
		if mesh, err := url.PathUnescape(stem); err == nil {
			return mesh, nil
		}
	}
	return "", fmt.Errorf("a table does not say of which mesh it is, and the name of the file does not either: call it %s.json, or say mesh=NAME", ConfigName("NAME"))
}

// worthReading reports whether a file of a directory may hold a table, by its
// name. Lists of outbounds stand beside the tables that meshvip publishes.
func worthReading(name string) bool {
	if strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".outbounds.yaml") {
		return false
	}
	_, ok := meshOfConfig(name)
	return ok || slices.Contains(extensions, filepath.Ext(name))
}

// orDefault returns mesh, or else the mesh that is there without being declared.
func orDefault(mesh string) string {
	if mesh == "" {
		return vip.DefaultMesh
	}
	return mesh
}
