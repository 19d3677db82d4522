package main

import (
	"github.com/meshvip/coredns-meshvip/admin"
	"github.com/meshvip/coredns-meshvip/allocator"
	"go4.org/netipx"
)

// wireLayout returns a layout as the interface takes it.
func wireLayout(l allocator.Layout) admin.Layout {
	var w admin.Layout
	for _, r := range l.Pools {
		w.Pools = append(w.Pools, admin.LayoutPool{
			Prefix: r.Prefix, Exclude: rangeTexts(r.Exclude), Reserve: rangeTexts(r.Reserve), Drain: r.Drain,
		})
	}
	for _, s := range l.Statics {
		w.Statics = append(w.Statics, admin.LayoutStatic{Entry: s.Key.String(), Address: s.Addr})
	}
	return w
}

// rangeTexts returns ranges as "FROM-TO".
func rangeTexts(ranges []netipx.IPRange) []string {
	var texts []string
	for _, r := range ranges {
		texts = append(texts, r.String())
	}
	return texts
}
