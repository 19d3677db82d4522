package publish

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// The suffixes of a mesh's files. Neither is the end of the other, so a file's
// name says one kind and one mesh: "x.outbounds.json" is the table of mesh
// "x.outbounds", and "x.outbounds.yaml" the outbounds of mesh "x".
const (
	tableSuffix     = ".json"
	outboundsSuffix = ".outbounds.yaml"
)

// maxStem is the greatest length of a mesh in a file's name, in bytes: systems
// take names of 255.
const maxStem = 255 - len(outboundsSuffix)

// stem returns mesh as it stands in a file's name: bytes other than a-z, 0-9,
// ".", "_" and "-", and a dot at the start, become "%" and two hexadecimal
// digits. Capitals too, because on a file system that ignores case the meshes
// "Prod" and "prod" would share a file. Kuma allows no capitals in the name of
// a mesh, so these escapes are rare.
func stem(mesh string) (string, error) {
	if mesh == "" {
		return "", errors.New("mesh has no name")
	}
	s := escape(mesh)
	if len(s) > maxStem {
		return "", fmt.Errorf("mesh %.80q: its name takes %d bytes in a file's name, of %d at most, so it has no files; give it a shorter one", mesh, len(s), maxStem)
	}
	return s, nil
}

func escape(mesh string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(mesh) {
		switch c := mesh[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '_', c == '-', c == '.' && i > 0:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return b.String()
}

// meshOf returns the mesh that stands as s in a file's name. Each mesh has one
// stem: an s that stem would not have made is an error, which says what to call
// the file.
func meshOf(s string) (string, error) {
	mesh, err := url.PathUnescape(s)
	if err != nil {
		return "", fmt.Errorf("the name is not that of a mesh: %w", err)
	}
	made, err := stem(mesh)
	if err != nil {
		return "", err
	}
	if made != s {
		return "", fmt.Errorf("the name is not that of a mesh; for mesh %.80q it is %s", mesh, made+tableSuffix)
	}
	return mesh, nil
}
