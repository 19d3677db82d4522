package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// watch tells who ends and who leads, until ctx ends.
func (c *cluster) watch(ctx context.Context) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	var dead []*child
	leaders := c.leaders(ctx)
	for {
		select {
		case <-ctx.Done():
			fmt.Println()
			tell("ending all")
			return
		case <-tick.C:
		}
		for _, p := range c.children() {
			if p.ended() && !slices.Contains(dead, p) {
				dead = append(dead, p)
				tell("%v has ended (%v) and is left dead; to start it again:\n             %s", p, p.cmd.ProcessState, p.command())
			}
		}
		if now := c.leaders(ctx); !slices.Equal(now, leaders) && ctx.Err() == nil {
			leaders = now
			tell("%s", describe(leaders))
		}
	}
}

// tell prints what has happened, and when.
func tell(format string, args ...any) {
	fmt.Printf("%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}

// children returns all processes.
func (c *cluster) children() []*child {
	all := []*child{c.etcd}
	for _, r := range c.replicas {
		all = append(all, r.child)
	}
	return all
}

// describe says who leads.
func describe(leaders []*replica) string {
	var names []string
	for _, r := range leaders {
		names = append(names, r.String())
	}
	switch len(names) {
	case 0:
		return "nobody leads: names are answered, and nothing new gets an address until somebody does"
	case 1:
		return names[0] + " leads"
	}
	return strings.Join(names, " and ") + " say that they lead; etcd heeds one of them"
}

// leaders returns the replicas that say they lead. One that was started again by
// hand, on the same Corefile, is asked too.
func (c *cluster) leaders(ctx context.Context) []*replica {
	var found []*replica
	for _, r := range c.replicas {
		metrics, err := get(ctx, "http://127.0.0.1:"+r.metrics+"/metrics")
		if err != nil {
			continue // it is dead, or paused
		}
		for line := range strings.Lines(metrics) {
			if strings.HasPrefix(line, "coredns_meshvip_leader{") && strings.HasSuffix(strings.TrimSpace(line), "} 1") {
				found = append(found, r)
			}
		}
	}
	return found
}

// answers reports whether a URL is answered with 200.
func answers(ctx context.Context, url string) bool {
	_, err := get(ctx, url)
	return err == nil
}

// get returns what is answered with 200.
func get(ctx context.Context, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	if err == nil && reply.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, reply.Status)
	}
	return string(body), err
}
