package boltstore_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/boltstore"
	"github.com/meshvip/coredns-meshvip/vip"
	"go.uber.org/goleak"
)

// childEnv names what this binary does when a test runs it as another process.
const childEnv = "MESHVIP_TEST_CHILD"

func TestMain(m *testing.M) {
	if role := os.Getenv(childEnv); role != "" {
		if err := runChild(role, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func runChild(role string, args []string) error {
	switch role {
	case "hold":
		return childHold(args[0])
	case "open":
		return childOpen(args[0])
	case "apply":
		return childApply(args[0], args[1])
	case "create":
		return childCreate(args[0], args[1], args[2])
	}
	return fmt.Errorf("no such role: %s", role)
}

// child returns a command that runs this binary in a role.
func child(t *testing.T, role string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), childEnv+"="+role)
	return cmd
}

// childHold opens a store, says so, and keeps it until its input ends.
func childHold(path string) error {
	s, _, err := boltstore.Open(path, boltstore.Options{})
	if err != nil {
		return err
	}
	fmt.Println("held")
	io.Copy(io.Discard, os.Stdin)
	return s.Close()
}

// childOpen opens every file of a directory, one after another, and says of
// each what came of it before it goes on.
func childOpen(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	for _, f := range files {
		s, _, err := boltstore.Open(filepath.Join(dir, f.Name()), boltstore.Options{})
		if err == nil {
			err = s.Close()
		}
		fmt.Fprintf(out, "%s\t%v\n", f.Name(), err != nil)
		if err := out.Flush(); err != nil {
			return err
		}
	}
	return nil
}

var pool = netip.MustParsePrefix("240.0.0.0/16")

// config is a configuration that releases whatever it is told to.
func config() allocator.Config {
	return allocator.Config{
		Layout: allocator.Ranges(pool, netip.MustParsePrefix("fd00::/64")), Cooldown: 24 * time.Hour,
		MaxRelease: allocator.Limit{Stated: true, N: 100, Percent: true},
	}
}

// openTable opens the allocator of a store; closing it is the caller's.
func openTable(t testing.TB, path string) *allocator.Allocator {
	t.Helper()
	a, err := tryTable(path, boltstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func tryTable(path string, o boltstore.Options) (*allocator.Allocator, error) {
	s, _, err := boltstore.Open(path, o)
	if err != nil {
		return nil, err
	}
	a, err := allocator.Open(context.Background(), s, config())
	if err != nil {
		s.Close()
		return nil, err
	}
	return a, nil
}

func apply(t testing.TB, a *allocator.Allocator, b vip.Batch) allocator.Report {
	t.Helper()
	r, err := a.Apply(context.Background(), b)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// request asks for a service.
func request(name string) vip.Request {
	return vip.Request{
		Entry:     vip.Entry{Name: name},
		Outbounds: []vip.Outbound{{Tags: []vip.Tag{{Key: vip.ServiceTag, Value: name}}, Origin: vip.OriginService}},
	}
}

// fleet is a full batch: n services in each of a few meshes, one of them
// shared, and a mesh so small that its table lies in its parent's page.
func fleet(n int) vip.Batch {
	b := vip.Batch{Full: true}
	for _, mesh := range []string{"blue", "default", "green"} {
		u := vip.MeshUpdate{Mesh: mesh, Set: []vip.Request{request("shared")}}
		for i := range n {
			u.Set = append(u.Set, request(fmt.Sprintf("svc-%04d_%s_svc_80", i, mesh)))
		}
		b.Meshes = append(b.Meshes, u)
	}
	b.Meshes = append(b.Meshes, vip.MeshUpdate{Mesh: "tiny", Set: []vip.Request{request("Shared"), request("lone")}})
	return b
}

// addresses returns the addresses of every entry of a table.
func addresses(a *allocator.Allocator) map[vip.Key]string {
	m := make(map[vip.Key]string)
	for _, r := range a.Rows() {
		m[r.Key()] = fmt.Sprint(r.V4, " ", r.V6)
	}
	return m
}

func verify(t testing.TB, a *allocator.Allocator) {
	t.Helper()
	if err := a.Verify(context.Background()); err != nil {
		t.Error(err)
	}
}

// within reports whether text names all of parts.
func within(text string, parts ...string) bool {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			return false
		}
	}
	return true
}
