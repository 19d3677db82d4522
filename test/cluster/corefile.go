package main

import (
	"fmt"
	"strings"
)

// place is where one replica is to listen, and find things.
type place struct {
	dns, ready, metrics string // ports of 127.0.0.1
	etcd                string // an endpoint
	resources           string
}

// localize makes a Corefile for replicas on machines of their own one that runs
// beside others on this machine. All else stays as it is.
func localize(corefile string, at place) (string, error) {
	var out strings.Builder
	missing := map[string]bool{"mesh": true, "ready": true, "prometheus": true, "source": true, "store": true}
	for line := range strings.Lines(corefile) {
		text := strings.TrimSpace(line)
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		first, rest, _ := strings.Cut(text, " ")
		if zone, _, isKey := strings.Cut(first, ":"); isKey && zone == "mesh" {
			first = zone
		}
		delete(missing, first)
		switch first {
		case "mesh": // the keys of the server block
			text = strings.ReplaceAll(text, ":53", ":"+at.dns) + "\n    bind 127.0.0.1"
		case "ready":
			text = "ready 127.0.0.1:" + at.ready
		case "prometheus":
			text = "prometheus 127.0.0.1:" + at.metrics
		case "source":
			text = "source file " + at.resources
		case "store":
			text = "store etcd " + at.etcd
			if strings.HasSuffix(rest, "{") {
				text += " {"
			}
		}
		out.WriteString(indent + text + "\n")
	}
	for what := range missing {
		return "", fmt.Errorf("the Corefile has no line that begins with %q", what)
	}
	return out.String(), nil
}
