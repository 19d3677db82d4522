package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/meshvip/coredns-meshvip/test/figures"
)

// peers are the modules that rows compare with, and the directories whose go.mod
// pins them.
var peers = []struct{ name, module, dir string }{
	{"CoreDNS", "github.com/coredns/coredns", "."},
	{"bbolt", "go.etcd.io/bbolt", "."},
	{"Docker", "github.com/docker/docker", "test/peers"},
	{"etcd", "go.etcd.io/etcd/server/v3", "tools/etcd"},
}

// thisMachine tells where and with what is measured; top is the top of the
// repository.
func thisMachine(ctx context.Context, top string) []fact {
	var pinned []string
	for _, p := range peers {
		if v := output(ctx, filepath.Join(top, p.dir), "go", "list", "-m", "-f", "{{.Version}}", p.module); v != "" {
			pinned = append(pinned, p.name+" "+v)
		}
	}
	load, _, _ := strings.Cut(file("/proc/loadavg"), " ")
	return []fact{
		{"commit", output(ctx, top, "git", "describe", "--always", "--dirty")},
		{"machine", strings.Join([]string{figures.Processor(), plural(runtime.NumCPU(), "core"), runtime.GOOS + " " + file("/proc/sys/kernel/osrelease"), runtime.Version()}, ", ")},
		{"peers", strings.Join(pinned, ", ")},
		{"load", load + " before the first round"},
	}
}

// output returns the first line that a command prints, "" if it fails.
func output(ctx context.Context, dir, name string, args ...string) string {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return line
}

// file returns the first line of a file, "unknown" if there is none.
func file(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	line, _, _ := strings.Cut(string(data), "\n")
	return line
}
