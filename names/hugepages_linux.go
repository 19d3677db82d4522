package names

import "golang.org/x/sys/unix"

// collapse makes one huge page of the memory from page on, as MADV_COLLAPSE of
// madvise(2) does since Linux 6.1. Where it cannot, nothing changes: the memory is as
// good, and slower. The address is a number to the end, for the page may have parts
// that are not the heap's.
func collapse(page uintptr) {
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, page, hugePage, unix.MADV_COLLAPSE)
}
