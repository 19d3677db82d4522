//go:build !linux

package names

// collapse does nothing: other systems choose the size of pages by themselves.
func collapse(uintptr) {}
