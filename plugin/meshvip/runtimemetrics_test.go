package meshvip

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// series reports whether the metric coredns_meshvip_NAME has a series with
// that label.
func series(t *testing.T, name, label, value string) bool {
	t.Helper()
	_, ok := sample(t, name, label, value)
	return ok
}

// sample returns the value of a series, a gauge's or a counter's, and whether
// there is one.
func sample(t *testing.T, name, label, value string) (float64, bool) {
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
					return m.GetGauge().GetValue() + m.GetCounter().GetValue(), true
				}
			}
		}
	}
	return 0, false
}

// counts waits until a metric of the site's store has a value.
func (s *site) counts(name string, want float64) {
	s.t.Helper()
	store := s.runtime().m.store
	s.wait(name, func() bool {
		got, ok := sample(s.t, name, "store", store)
		return ok && got == want
	})
}
