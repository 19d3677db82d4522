//go:build !failpoints

package failpoint

// Hit marks a point at which a test can kill the process. Here it does nothing.
func Hit(string) {}
