package names

import (
	"fmt"
	"net/netip"
	"testing"
	"unsafe"

	"github.com/meshvip/coredns-meshvip/vip"
)

// TestALargeIndexLiesInHugePages: those that are asked for hold nearly all of its
// records, none is asked for twice until the index has doubled, and nothing is
// answered in another way.
func TestALargeIndexLiesInHugePages(t *testing.T) {
	t.Parallel()
	rows := make([]*vip.Row, hugeFrom+10_000)
	for i := range rows {
		rows[i] = &vip.Row{
			Entry: vip.Entry{Name: fmt.Sprintf("service-%d_ns_svc_80", i)},
			V4:    netip.AddrFrom4([4]byte{240, byte(i >> 16), byte(i >> 8), byte(i)}),
		}
	}
	x := NewIndex()
	x.SetZones([]string{"mesh."})
	x.Fill(rows[:hugeFrom-1])
	if x.inHugePages != 0 {
		t.Errorf("asked with %d records", x.Len())
	}
	var more []Change
	for _, row := range rows[hugeFrom-1:] {
		more = append(more, Change{New: row})
	}
	x.Apply(more)
	if x.inHugePages != int64(len(rows)) {
		t.Errorf("asked with %d records, want %d", x.inHugePages, len(rows))
	}
	x.Apply([]Change{{Old: rows[0]}})
	if x.inHugePages != int64(len(rows)) {
		t.Error("asked again after one change")
	}
	x.Apply([]Change{{New: rows[0]}})

	huge := make(map[uintptr]bool)
	for _, page := range x.hugePages() {
		if page%hugePage != 0 || huge[page] {
			t.Errorf("%#x is no huge page, or there twice", page)
		}
		huge[page] = true
	}
	in := 0
	v := x.View(nil)
	defer v.Close()
	for _, row := range rows {
		r, result := v.Forward(row.Entry.Name+".mesh.", "mesh.")
		if result != Found || r.Row != row {
			t.Fatalf("%s: %v", row.Entry.Name, result)
		}
		if name := v.PTR(row.V4, []string{"mesh."}); name == "" {
			t.Fatalf("%v has no PTR", row.V4)
		}
		if huge[uintptr(unsafe.Pointer(r))&^(hugePage-1)] {
			in++
		}
	}
	if in < len(rows)/2 {
		t.Errorf("%d of %d records lie in %d huge pages", in, len(rows), len(huge))
	}
}
