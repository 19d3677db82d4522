package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/meshvip/coredns-meshvip/test/figures"
)

// changed are the results of our server over resource files.
type changed struct {
	Services       int
	Without, While []sample // by round
}

// changes measures our server over resource files of n services, with and without
// changes of them, in turn.
func (b *bench) changes(ctx context.Context, n int) (*changed, error) {
	dir := filepath.Join(b.dir, "changes")
	s := site{dir, n}
	r, err := newResources(s.path("resources"), n)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := s.text("questions", s.questions); err != nil {
		return nil, err
	}
	k := coredns(ours, b.kind(ours).binary, nil, "NXDOMAIN", func(s site) string {
		return strings.ReplaceAll(meshvipLines(s), "source kuma http://127.0.0.1:1", "source file "+r.dir)
	})
	p, err := start(ctx, k, s, s.lastName())
	if err != nil {
		return nil, err
	}
	defer p.stop()
	if _, err := b.measure(ctx, p, s, 0); err != nil {
		return nil, err
	}
	b.say("%s services: with and without %d changes of files a second, %d rounds", figures.Thousands(n), changesASecond, b.Rounds)
	c := &changed{Services: n}
	for round := range b.Rounds {
		for turn := range 2 {
			if (round+turn)%2 == 0 {
				one, err := b.measure(ctx, p, s, 0)
				if err != nil {
					return nil, err
				}
				c.Without = append(c.Without, one)
				continue
			}
			one, err := b.whileChanging(ctx, p, s, r)
			if err != nil {
				return nil, err
			}
			c.While = append(c.While, one)
		}
	}
	return c, nil
}

// whileChanging measures while files change, and then waits until the server
// answers for the last change of each: they all came through.
func (b *bench) whileChanging(ctx context.Context, p *process, s site, r *resources) (sample, error) {
	stop := r.keepChanging()
	one, err := b.measure(ctx, p, s, 0)
	n, failed := stop()
	if err == nil {
		err = failed
	}
	if err != nil {
		return one, err
	}
	one.Changes = n
	for i := range changing {
		if err := p.answers(ctx, r.changed(i)+"."+zone); err != nil {
			return one, fmt.Errorf("after %d changes: %w", n, err)
		}
	}
	return one, nil
}
