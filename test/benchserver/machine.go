package main

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/meshvip/coredns-meshvip/test/figures"
)

// machine is where, and with what, was measured.
type machine struct {
	CPU, Kernel string
	Processors  int
	Versions    map[string]string // of each server and of dnsperf
}

// thisMachine finds out.
func thisMachine(ctx context.Context, perf string, kinds []kind) machine {
	m := machine{
		CPU: figures.Processor(), Kernel: firstLine(os.ReadFile("/proc/sys/kernel/osrelease")),
		Processors: runtime.NumCPU(), Versions: map[string]string{"dnsperf": version(ctx, perf, "-h")},
	}
	for _, k := range kinds {
		switch k.name {
		case nsd:
			m.Versions[nsd] = version(ctx, k.binary, "-v")
		case knot:
			m.Versions[knot] = version(ctx, k.binary, "-V")
		default:
			m.Versions[k.name] = version(ctx, k.binary, "-version")
		}
	}
	return m
}

// version returns the line of what a program prints that tells its version: the
// last that has a digit in it for dnsperf, the first for others.
func version(ctx context.Context, binary, flag string) string {
	out, _ := exec.CommandContext(ctx, binary, flag).CombinedOutput() // some end with 1 all the same
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	for _, line := range lines {
		if flag != "-h" || strings.HasPrefix(line, "Version") {
			return strings.TrimSpace(line)
		}
	}
	return "of an unknown version"
}

func firstLine(data []byte, err error) string {
	if err != nil {
		return err.Error()
	}
	line, _, _ := strings.Cut(string(data), "\n")
	return line
}
