package file

import (
	"path/filepath"
	"strings"
)

// isHidden reports whether a file or directory of this name is skipped.
func isHidden(name string) bool { return strings.HasPrefix(name, ".") }

// isResource reports whether a file of this name is read: by its ending, and
// unless it is hidden or something that an editor leaves behind.
func isResource(name string) bool {
	if isHidden(name) || strings.HasPrefix(name, "#") || strings.HasPrefix(name, "~") {
		return false
	}
	switch filepath.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// isSwap reports whether a name is one that Kubernetes moves when it replaces
// the files of a mounted volume: the files themselves are links through it,
// and see no event.
func isSwap(name string) bool { return strings.HasPrefix(name, "..") }
