package test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// listingOf are the paths under which a control plane lists the resources of the
// examples.
var listingOf = map[string]string{
	"Mesh": "meshes", "Dataplane": "dataplanes", "ExternalService": "external-services", "ZoneIngress": "zone-ingresses",
}

// exampleControlPlane returns the URL of a control plane that lists the resources
// of the examples, as far as they have the Universal form, which is the API's.
func exampleControlPlane(t testing.TB) string {
	t.Helper()
	cp, url := controlPlane(t)
	n := 0
	for _, file := range repositoryFiles(t, ".yaml", ".json") {
		if !strings.HasPrefix(file, "examples/resources/") {
			continue
		}
		for _, doc := range strings.Split(readDoc(t, file), "\n---\n") {
			var list []json.RawMessage
			body, err := yaml.YAMLToJSON([]byte(doc))
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if json.Unmarshal(body, &list) != nil {
				list = []json.RawMessage{body}
			}
			for _, item := range list {
				var id struct{ Type string }
				if json.Unmarshal(item, &id) == nil && listingOf[id.Type] != "" {
					cp.Put(listingOf[id.Type], string(item))
					n++
				}
			}
		}
	}
	if n < 20 {
		t.Fatalf("the control plane lists %d resources", n)
	}
	return url
}

// tables writes what a Kuma that gives addresses itself has for the members of the
// examples.
func (d *documented) tables(t testing.TB, dir string) {
	t.Helper()
	n := 0
	give := func(key string) string {
		n++
		return fmt.Sprintf(`%q: {"address": "240.0.1.%d", "outbounds": []}`, key, n)
	}
	for mesh, service := range members {
		rows := []string{give("0:" + service)}
		if mesh == hostMesh {
			rows = append(rows, give("1:"+hostMember))
		}
		slices.Sort(rows)
		write(t, dir, "kuma-"+mesh+"-dns-vips.json", "{"+strings.Join(rows, ", ")+"}")
	}
}
