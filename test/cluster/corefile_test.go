package main

import (
	"os"
	"strings"
	"testing"
)

var here = place{dns: "1054", ready: "8182", metrics: "9154", etcd: "http://127.0.0.1:2379", resources: "/data/resources"}

func TestTheExampleRunsBesideOthers(t *testing.T) {
	t.Parallel()
	example, err := os.ReadFile("../../examples/replicas/Corefile")
	if err != nil {
		t.Fatal(err)
	}
	got, err := localize(string(example), here)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\nmesh:1054 240.0.0.0/8:1054 {\n    bind 127.0.0.1\n",
		"\n    ready 127.0.0.1:8182\n",
		"\n    prometheus 127.0.0.1:9154\n",
		"\n        source file /data/resources\n",
		"\n        store etcd http://127.0.0.1:2379 {\n            #",
		"\n            lease 10s\n        }\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "192.0.2.") || strings.Contains(got, ":53 ") {
		t.Errorf("something is as on a machine of its own:\n%s", got)
	}
}

func TestACorefileThatIsNotUnderstoodIsRefused(t *testing.T) {
	t.Parallel()
	const whole = "mesh:53 {\nready\nprometheus\nmeshvip {\nsource file x\nstore etcd http://etcd:2379\n}\n}\n"
	if _, err := localize(whole, here); err != nil {
		t.Error(err)
	}
	for _, line := range []string{"mesh:53 {", "ready", "prometheus", "source file x", "store etcd http://etcd:2379"} {
		if _, err := localize(strings.Replace(whole, line+"\n", "", 1), here); err == nil {
			t.Errorf("nobody misses %q", line)
		}
	}
}
