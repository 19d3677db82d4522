package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
)

// explain says what runs, and what to try.
func (c *cluster) explain(w io.Writer) {
	fmt.Fprintf(w, "%-10s pid %-7d %s\n", "etcd", c.etcd.cmd.Process.Pid, c.endpoint)
	for _, r := range c.replicas {
		fmt.Fprintf(w, "%-10s pid %-7d dns 127.0.0.1:%s, http://127.0.0.1:%s/metrics, %s\n", r.name, r.cmd.Process.Pid, r.dns, r.metrics, r.log)
	}
	leaders := c.leaders(context.Background())
	fmt.Fprintln(w, describe(leaders))
	leader := c.replicas[0]
	if len(leaders) > 0 {
		leader = leaders[0]
	}
	other := c.replicas[0]
	if other == leader {
		other = c.replicas[1]
	}
	fmt.Fprintf(w, `
In another terminal, at the top of the repository (dig is Debian's dnsutils):

`)
	for i, r := range c.replicas {
		remark := ""
		if i > 0 {
			remark = "   # the same"
		}
		fmt.Fprintf(w, "  dig @127.0.0.1 -p %s backend.mesh +short%s\n", r.dns, remark)
	}
	fmt.Fprintf(w, `
Kill the replica that leads. The others answer all the while, and one of them takes
its place when the lease that the Corefile states is over:

  kill -9 %d

Add a service, then or before. The replica that leads gives it an address, and all
have it at once:

  cat >%s <<'END'
  type: Dataplane
  mesh: default
  name: added-1
  networking:
    address: 192.0.2.1
    inbound:
      - port: 8080
        tags:
          kuma.io/service: added
  END
  dig @127.0.0.1 -p %s added.mesh +short

Kill etcd: every name is answered from memory for as long as cooldown less ttl, and
then none is.

  kill -9 %d

Ctrl-C ends all.

`, leader.cmd.Process.Pid, filepath.Join(c.kept(), "added.yaml"), other.dns, c.etcd.cmd.Process.Pid)
}
