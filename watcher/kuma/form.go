package kuma

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/meshvip/coredns-meshvip/vip"
)

// apiVersion is that of Kuma's kinds on Kubernetes.
const apiVersion = "kuma.io/v1alpha1"

// maxName bounds the names of resources in bytes; a Kubernetes name and
// namespace are 317 together.
const maxName = 512

// known reports whether typ is a type that this package reads.
func known(typ string) bool {
	switch typ {
	case TypeMesh, TypeDataplane, TypeZoneIngress, TypeExternalService, TypeVirtualOutbound, TypeMeshGateway, TypeHostnameGenerator:
		return true
	}
	return isDestination(typ)
}

// inMesh reports whether resources of type typ belong to a mesh.
func inMesh(typ string) bool {
	switch typ {
	case TypeDataplane, TypeExternalService, TypeVirtualOutbound, TypeMeshGateway:
		return true
	}
	return isDestination(typ)
}

// isNewer reports whether resources of type typ have the form of Kuma's newer
// kinds: spec and status at the top, also in the Universal form.
func isNewer(typ string) bool { return typ == TypeHostnameGenerator || isDestination(typ) }

// universal reads a document of the Universal form: the fields of the
// resource stand beside type, mesh and name, in the newer kinds below spec and
// status.
func universal(o object, typ string) (ID, Spec, error) {
	if !known(typ) {
		return ID{}, nil, nil
	}
	name, nameErr := o.text("name")
	mesh, meshErr := o.text("mesh")
	id, err := identity(typ, mesh, name, meshErr, nameErr)
	if err != nil {
		return id, nil, err
	}
	meta := metadata{object: o, timeKey: "creationTime", env: "universal", name: name}
	spec, err := readSpec(id, o, meta)
	return id, spec, err
}

// kubernetes reads a document of the Kubernetes form: metadata, spec, status
// and, in the old kinds, the mesh at the top.
func kubernetes(o object, kind string) (ID, Spec, error) {
	if !known(kind) {
		return ID{}, nil, nil
	}
	meta, _, err := o.object("metadata")
	if err != nil {
		return ID{Type: kind}, nil, err
	}
	m := metadata{object: meta, timeKey: "creationTimestamp", env: "kubernetes"}
	var nameErr, spaceErr error
	m.name, nameErr = meta.text("name")
	m.namespace, spaceErr = meta.text("namespace")
	nameErr = errors.Join(nameErr, spaceErr)
	name := m.name
	if name != "" && m.namespace != "" {
		name += "." + m.namespace
	}
	var mesh string
	var meshErr error
	if !isNewer(kind) {
		mesh, meshErr = o.text("mesh")
	}
	if mesh == "" && meshErr == nil {
		mesh, meshErr = labelledMesh(meta)
	}
	id, err := identity(kind, mesh, name, meshErr, nameErr)
	if err != nil {
		return id, nil, err
	}
	if isNewer(kind) {
		spec, err := readSpec(id, o, m)
		return id, spec, err
	}
	spec, ok, err := o.object("spec")
	if err != nil {
		return id, nil, err
	}
	if !ok && kind != TypeMesh {
		return id, nil, errNoSpec
	}
	s, err := readSpec(id, spec, m)
	return id, s, err
}

var errNoSpec = errors.New("spec is missing: the document was cut short")

// labelledMesh returns the mesh that the label of the newer kinds names.
func labelledMesh(meta object) (string, error) {
	labels, _, err := meta.object("labels")
	if err != nil {
		return "", err
	}
	return labels.text("kuma.io/mesh")
}

// identity checks and completes an identity. Where it returns an error, the
// fields that could not be read are left empty.
func identity(typ, mesh, name string, meshErr, nameErr error) (ID, error) {
	id := ID{Type: typ}
	var errs []error
	switch {
	case nameErr != nil:
		errs = append(errs, nameErr)
	case name == "":
		errs = append(errs, fmt.Errorf("the %s has no name: add one", typ))
	case len(name) > maxName:
		errs = append(errs, fmt.Errorf("the name %.40q... is longer than %d bytes: shorten it", name, maxName))
	default:
		id.Name = name
	}
	if inMesh(typ) {
		mesh = cmp.Or(mesh, vip.DefaultMesh)
		if err := cmp.Or(meshErr, CheckMesh(mesh)); err != nil {
			errs = append(errs, err)
		} else {
			id.Mesh = mesh
		}
	}
	if typ == TypeMesh && id.Name != "" {
		if err := CheckMesh(id.Name); err != nil {
			errs, id.Name = append(errs, err), ""
		}
	}
	return id, errors.Join(errs...)
}

// MaxMeshName is the greatest length of a mesh's name in bytes.
const MaxMeshName = 253

// CheckMesh returns an error if mesh cannot be a mesh's name. Tables are kept
// under that name in files and stores, so it has to be safe there.
func CheckMesh(mesh string) error {
	if mesh == "" || len(mesh) > MaxMeshName || mesh == "." || mesh == ".." {
		return badMesh(mesh)
	}
	for i := range len(mesh) {
		switch c := mesh[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return badMesh(mesh)
		}
	}
	return nil
}

func badMesh(mesh string) error {
	return fmt.Errorf("%.60q is no mesh name: use letters, digits, '.', '_' and '-', at most %d of them", mesh, MaxMeshName)
}
