package main

import (
	"bufio"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/vip"
)

// opener returns a table: nil where none is open yet, and none is needed.
type opener func(need bool) (*allocator.Allocator, error)

// spec is what a script says of a table, line by line:
//
//	pool 240.0.0.0/24            the pools are these from here on
//	static 0:web 240.0.0.9       an address by the Corefile
//	max_release 50%              a limit, stated
//	mesh default 0:web:80 1:x.y  the mesh asks for just these, an outbound each
//	mesh default                 it asks for nothing
//	gone default                 the mesh is no more
//
// Each mesh and gone is a batch of its own.
type spec struct {
	cfg    allocator.Config
	asked  map[string][]vip.Key // what each mesh asks for
	synced bool
}

// specTime is the wall clock of tables in scripts, so that serials are known.
var specTime = time.Date(2026, 11, 2, 10, 0, 0, 0, time.UTC)

func newSpec() *spec {
	return &spec{
		cfg: allocator.Config{
			Cooldown: time.Hour,
			Now:      func() time.Time { return specTime },
		},
		asked: make(map[string][]vip.Key),
	}
}

// play brings what text says into the table that a returns. While there is none,
// and none is needed, a returns nil.
func (s *spec) play(text string, a opener) error {
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if err := s.line(words, a); err != nil {
			return fmt.Errorf("%s: %w", lines.Text(), err)
		}
	}
	return nil
}

func (s *spec) line(words []string, a opener) error {
	switch words[0] {
	case "pool":
		s.cfg.Layout.Pools = nil
		for _, w := range words[1:] {
			p, err := netip.ParsePrefix(w)
			if err != nil {
				return err
			}
			s.cfg.Layout.Pools = append(s.cfg.Layout.Pools, allocator.Range{Prefix: p})
		}
	case "static":
		e, err := vip.ParseEntry(words[1])
		if err != nil {
			return err
		}
		s.cfg.Layout.Statics = append(s.cfg.Layout.Statics, allocator.Static{Key: e.Key(), Addr: netip.MustParseAddr(words[2])})
	case "max_release":
		l, err := allocator.ParseLimit(words[1])
		if err != nil {
			return err
		}
		s.cfg.MaxRelease = l
	case "mesh", "gone":
		return s.apply(words, a)
	default:
		return fmt.Errorf("a spec has no %q", words[0])
	}
	alloc, err := a(false)
	if err != nil || alloc == nil {
		return err
	}
	if err := alloc.Configure(s.cfg); err != nil {
		return err
	}
	return alloc.Tick(context.Background())
}

// apply applies one mesh.
func (s *spec) apply(words []string, a opener) error {
	alloc, err := a(true)
	if err != nil {
		return err
	}
	mesh := words[1]
	u := vip.MeshUpdate{Mesh: mesh, Gone: words[0] == "gone"}
	var keys []vip.Key
	for _, w := range words[2:] {
		r, err := request(mesh, w)
		if err != nil {
			return err
		}
		u.Set = append(u.Set, r)
		keys = append(keys, r.Entry.Key())
	}
	for _, k := range s.asked[mesh] {
		if !u.Gone && !slices.Contains(keys, k) {
			u.Drop = append(u.Drop, k)
		}
	}
	s.asked[mesh] = keys
	full := !s.synced
	s.synced = true
	_, err = alloc.Apply(context.Background(), vip.Batch{Full: full, Meshes: []vip.MeshUpdate{u}})
	return err
}

// request reads "0:web", "0:web:8080" or "0:web@240.0.0.9", or both.
func request(mesh, word string) (vip.Request, error) {
	var r vip.Request
	word, static, ok := strings.Cut(word, "@")
	if ok {
		a, err := netip.ParseAddr(static)
		if err != nil {
			return r, err
		}
		r.Terms = &vip.Terms{Static: []netip.Addr{a}}
	}
	var port uint16
	if i := strings.LastIndex(word, ":"); i > 1 {
		if _, err := fmt.Sscan(word[i+1:], &port); err != nil {
			return r, err
		}
		word = word[:i]
	}
	e, err := vip.ParseEntry(word)
	if err != nil {
		return r, err
	}
	r.Entry = e
	if port > 0 {
		r.Outbounds = []vip.Outbound{{Port: port, Tags: vip.NewTags(map[string]string{vip.ServiceTag: e.Name})}}
	}
	return r, nil
}
