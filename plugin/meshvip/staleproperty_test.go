package meshvip

import (
	"strings"
	"testing"
)

func TestStaleServeIsOfABlockWhoseTableIsInEtcd(t *testing.T) {
	t.Parallel()
	c := mustParse(t, "store etcd http://a\nstale serve")
	if got := c.Block.StaleServe; got != (Stated[bool]{true, "Testfile:3"}) {
		t.Errorf("stale %+v", got)
	}
	// Other blocks of the table need not say the same.
	if _, err := group([]Config{c, mustParse(t, "ttl 5"), mustParse(t, "ttl 5\nstale serve")}); err != nil {
		t.Error(err)
	}
	for _, lines := range []string{"stale", "stale yes", "stale serve 5m"} {
		_, err := parseIn("", "meshvip mesh {\n"+lines+"\n}")
		if err == nil || !strings.Contains(err.Error(), "Testfile:2") || !strings.Contains(err.Error(), `"stale serve"`) {
			t.Errorf("%q: %v", lines, err)
		}
	}
}

func TestStaleServeWithoutReplicasIsAnError(t *testing.T) {
	t.Parallel()
	for store, shown := range map[string]string{"": "bolt /data/meshvip.db", "store bolt x.db": "bolt /data/x.db", "store memory": "memory"} {
		states := mustParse(t, "pool 240.0.0.0/8\nsource file r\n"+store)
		_, err := group([]Config{states, mustParse(t, "ttl 5\nstale serve")})
		if err == nil || !strings.HasPrefix(err.Error(), "Testfile:3: stale has no effect here") ||
			!strings.Contains(err.Error(), "the store "+shown) || !strings.Contains(err.Error(), "remove the line") {
			t.Errorf("%q: %v", store, err)
		}
	}
}

func TestAReplicaThatCouldNeverAnswerIsAnError(t *testing.T) {
	t.Parallel()
	const etcd = "store etcd http://a\ncooldown 30s\nttl 30"
	if _, err := group([]Config{mustParse(t, etcd+"\nstale serve")}); err != nil {
		t.Errorf("with stale serve: %v", err)
	}
	_, err := group([]Config{mustParse(t, etcd)})
	if err == nil || !strings.HasPrefix(err.Error(), "Testfile:3: cooldown is 30s, and the ttl (Testfile:4) too") {
		t.Errorf("%v", err)
	}
}
