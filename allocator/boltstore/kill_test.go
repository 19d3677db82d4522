package boltstore_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/boltstore"
	"github.com/meshvip/coredns-meshvip/vip"
)

// childApply opens a table and changes it without end. Before each batch it
// says which entries the batch touches, and after it, when it is durable, what
// addresses they have.
func childApply(path, seed string) error {
	n, err := strconv.ParseUint(seed, 10, 64)
	if err != nil {
		return err
	}
	rnd := rand.New(rand.NewPCG(n, 0))
	a, err := tryTable(path, boltstore.Options{})
	if err != nil {
		return err
	}
	for {
		var b vip.Batch
		var names []string
		for _, mesh := range []string{"blue", "default"} {
			u := vip.MeshUpdate{Mesh: mesh}
			for range rnd.IntN(6) {
				name := fmt.Sprintf("%s-%d", mesh, rnd.IntN(60))
				if strings.Contains(strings.Join(names, " ")+" ", name+" ") {
					continue
				}
				names = append(names, name)
				if r := request(name); rnd.IntN(3) > 0 {
					u.Set = append(u.Set, r)
				} else {
					u.Drop = append(u.Drop, r.Entry.Key())
				}
			}
			b.Meshes = append(b.Meshes, u)
		}
		fmt.Println("begin", strings.Join(names, " "))
		if _, err := a.Apply(context.Background(), b); err != nil {
			return err
		}
		addrs := addresses(a)
		for _, name := range names {
			if addr := addrs[vip.Key{Name: name}]; addr != "" {
				fmt.Println("has", name, addr)
			} else {
				fmt.Println("none", name)
			}
		}
		fmt.Println("end")
	}
}

// acknowledged is what killed processes have said of one store.
type acknowledged struct {
	ever map[string]string // the addresses that an entry was ever told to have
	now  map[string]bool   // whether it is in the table
	// open are the entries of a batch that was begun, whose end nobody heard.
	open map[string]bool
}

// hear takes a line of a child's output; true at the end of a batch.
func (k *acknowledged) hear(t *testing.T, line string) bool {
	t.Helper()
	switch verb, rest, _ := strings.Cut(line, " "); verb {
	case "begin":
		k.open = make(map[string]bool)
		for _, name := range strings.Fields(rest) {
			k.open[name] = true
		}
	case "has":
		name, addr, _ := strings.Cut(rest, " ")
		if was, ok := k.ever[name]; ok && was != addr {
			t.Errorf("entry %s moved from %s to %s", name, was, addr)
		}
		k.ever[name], k.now[name] = addr, true
		delete(k.open, name)
	case "none":
		k.now[rest] = false
		delete(k.open, rest)
	case "end":
		return true
	}
	return false
}

// run lets a child change the store at path and kills it after so many batches.
func (k *acknowledged) run(t *testing.T, path string, seed, batches int) {
	t.Helper()
	cmd := child(t, "apply", path, strconv.Itoa(seed))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for killed := false; ; {
		if batches == 0 && !killed {
			killed = true
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
		line, err := lines.ReadString('\n')
		if err != nil {
			break // a line that was cut off was not heard
		}
		if k.hear(t, strings.TrimSpace(line)) && !killed {
			batches--
		}
	}
	if err := cmd.Wait(); !isKilled(err) {
		t.Fatalf("the child ended by itself: %v\n%s", err, stderr.Bytes())
	}
}

func isKilled(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && !exit.Exited()
}

// check holds the store that a killed process left against what it said.
func (k *acknowledged) check(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && len(k.ever) == 0 {
		return // killed before the store had its name
	}
	s, created, err := boltstore.Open(path, boltstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	state, err := s.Load(context.Background())
	if err != nil || created || len(state.Damaged) > 0 {
		t.Fatalf("created %v, damaged %v, %v", created, state.Damaged, err)
	}
	if err := allocator.Check(state); err != nil {
		t.Error(err)
	}
	rows := make(map[string]string)
	for _, r := range state.Rows {
		rows[r.Entry.Name] = fmt.Sprint(r.V4, " ", r.V6)
	}
	for name, addr := range k.ever {
		switch got, live := rows[name]; {
		case live && got != addr:
			t.Errorf("entry %s has %s, was told %s", name, got, addr)
		case live != k.now[name] && !k.open[name]:
			t.Errorf("entry %s: in the table %v, was told %v", name, live, k.now[name])
		}
	}
	for name := range rows {
		if !k.now[name] && !k.open[name] {
			t.Errorf("entry %s is in the table, and nobody said so", name)
		}
	}
	// What was in doubt is settled now.
	for name := range k.open {
		_, k.now[name] = rows[name]
	}
	k.open = nil
}

func TestAKilledProcessLosesNothingThatItAcknowledged(t *testing.T) {
	t.Parallel()
	rounds := 100
	if testing.Short() {
		rounds = 10
	}
	rnd := rand.New(rand.NewPCG(uint64(os.Getpid()), 7))
	var k acknowledged
	var path string
	enough := time.Now().Add(20 * time.Second) // on a slow machine, with a quarter of the rounds
	for i := range rounds {
		if i > rounds/4 && time.Now().After(enough) {
			break
		}
		if i%20 == 0 { // creating a store is killed too
			path = filepath.Join(t.TempDir(), "t.db")
			k = acknowledged{ever: make(map[string]string), now: make(map[string]bool)}
		}
		batches := rnd.IntN(8)
		if i%20 < 3 {
			batches = 0
		}
		k.run(t, path, i, batches)
		k.check(t, path)
		if t.Failed() {
			t.Fatalf("in round %d, after %d batches", i, batches)
		}
	}
	if len(k.ever) == 0 {
		t.Error("no batch was ever acknowledged")
	}
}

func TestAStoreIsReleasedByItsHoldersDeath(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "t.db")
	cmd := child(t, "hold", path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("the holder said %q, %v", line, err)
	}
	if _, _, err := boltstore.Open(path, boltstore.Options{}); !errors.Is(err, allocator.ErrLocked) || !within(err.Error(), path, "stop the other process") {
		t.Errorf("a store in use by another process: %v", err)
	}
	if err := errors.Join(cmd.Process.Kill(), in.Close()); err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, out)
	if err := cmd.Wait(); !isKilled(err) {
		t.Fatal(err)
	}
	mustOpen(t, path)
}
