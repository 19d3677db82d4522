package meshvip

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// series reports whether the metric coredns_meshvip_NAME has a series with
// that label.
func series(t *testing.T, name, label, value string) bool {
	t.Helper()
	families, err := prometheus.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "coredns_meshvip_"+name {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == label && l.GetValue() == value {
					return true
				}
			}
		}
	}
	return false
}
