package test

import (
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/meshvip/coredns-meshvip/test/etcdtest"
)

// documented is a Corefile from a document, made to run here: in a directory of
// its own with a copy of examples/resources, on free ports of 127.0.0.1.
type documented struct {
	dir      string
	corefile string
	blocks   []documentedBlock
	ready    string // the address of plugin ready, or empty
	metrics  string // the address of plugin prometheus, or empty
	publish  string // the directory that is published to, or empty
	pools    []netip.Prefix
}

// documentedBlock is a server block that has meshvip.
type documentedBlock struct {
	addr   string   // where it answers
	zones  []string // its forward zones, without a final dot but for "."
	meshes []string
	ns     []string
	from   string // where its clients are, by plugin view; empty: anywhere
}

// serverBlock is one server block of a Corefile, by lines.
type serverBlock struct {
	keys  []string
	bind  string
	lines []string // between the braces
}

// serverBlocks splits a Corefile. Documents have one property a line, and
// neither snippets nor imports.
func serverBlocks(t testing.TB, corefile string) []serverBlock {
	t.Helper()
	var blocks []serverBlock
	depth := 0
	for line := range strings.Lines(corefile) {
		text := strings.TrimSpace(line)
		fields := strings.Fields(text)
		switch {
		case text == "" || text[0] == '#':
			continue
		case text == "}":
			depth--
		case depth == 0 && fields[len(fields)-1] == "{":
			blocks = append(blocks, serverBlock{keys: fields[:len(fields)-1]})
			depth++
			continue
		case depth == 0:
			t.Fatalf("%q stands outside of a server block", text)
		case fields[len(fields)-1] == "{":
			depth++
		}
		if b := &blocks[len(blocks)-1]; depth == 1 && fields[0] == "bind" {
			b.bind = fields[1]
		} else if depth > 0 {
			b.lines = append(b.lines, text)
		}
	}
	if depth != 0 {
		t.Fatalf("the braces of the Corefile do not match:\n%s", corefile)
	}
	return blocks
}

// document makes a Corefile run here. upstream is who answers for the servers
// that its forward lines name.
func document(t testing.TB, corefile, upstream string) *documented {
	t.Helper()
	d := &documented{dir: t.TempDir()}
	ports := make(map[string]string) // free ones for documented ones
	port := func(documented string) string {
		if ports[documented] == "" {
			ports[documented] = freePort(t)
		}
		return ports[documented]
	}
	var out strings.Builder
	for _, b := range serverBlocks(t, corefile) {
		d.block(t, &out, b, port, upstream)
	}
	d.corefile = out.String()
	return d
}

// viewClient is a client in the network that plugin view asks for.
const viewClient = "127.0.0.2"

// clientsOfView is a network in an expression of plugin view.
var clientsOfView = regexp.MustCompile(`[0-9.]+/[0-9]+`)

// zoneAndPort splits a server block's key.
var zoneAndPort = regexp.MustCompile(`^(.*?)(?::(\d+))?$`)

// block writes one server block to out.
func (d *documented) block(t testing.TB, out *strings.Builder, b serverBlock, port func(string) string, upstream string) {
	t.Helper()
	own := documentedBlock{}
	root := d.dir
	var keys []string
	for _, key := range b.keys {
		parts := zoneAndPort.FindStringSubmatch(strings.TrimSuffix(key, ","))
		p := port("dns " + b.bind + " " + parts[2])
		own.addr = "127.0.0.1:" + p
		keys = append(keys, parts[1]+":"+p)
		own.zones = append(own.zones, parts[1])
	}
	out.WriteString(strings.Join(keys, " ") + " {\nbind 127.0.0.1\n")
	found, inEtcd := false, false
	for _, line := range b.lines {
		fields := strings.Fields(line)
		args := slices.Clip(fields[1:])
		switch fields[0] {
		case "ready", "prometheus", "health":
			addr := "127.0.0.1:" + port(strings.Join(fields, " "))
			line = fields[0] + " " + addr
			switch fields[0] {
			case "ready":
				d.ready = addr
			case "prometheus":
				d.metrics = addr
			}
		case "forward":
			line = "forward " + args[0] + " " + upstream
		case "to": // secondaries
			line = "to " + upstream
		case "root":
			root = d.place(d.dir, args[0])
			line = "root " + root
		case "source":
			if args[0] == "kuma" {
				line = "source kuma " + exampleControlPlane(t) + strings.TrimPrefix(line, "source kuma "+args[1])
				break
			}
			dir := d.place(root, args[1])
			line = "source file " + dir
			if _, err := os.Stat(dir); err != nil {
				copyTree(t, filepath.Join(top, "examples", "resources"), dir)
			}
		case "store":
			if args[0] == "etcd" {
				block := args[len(args)-1] == "{"
				line = "store etcd " + etcdtest.Start(t, etcdtest.WithUnsafeNoFsync()).Endpoint()
				if block {
					line, inEtcd = line+" {", true
				}
			}
			if args[0] == "bolt" {
				path := d.place(root, args[1])
				line = "store bolt " + path
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
			}
		case "publish":
			d.publish = d.place(root, args[0])
			line = "publish " + d.publish
		case "pool":
			for _, a := range args {
				if a != "{" {
					d.pools = append(d.pools, netip.MustParsePrefix(a))
				}
			}
		case "ca", "cert", "key", "credentials": // the control plane and the etcd here speak plain http, with anybody
			continue
		case "tls":
			if inEtcd {
				continue
			}
		case "}":
			inEtcd = false
		case "admin":
			if len(args) > 0 && strings.HasPrefix(args[0], "unix:") {
				line = "admin unix:" + filepath.Join(socketDir(t), "admin.sock")
			}
		case "token_file":
			line = "token_file " + d.place(root, args[0])
			write(t, filepath.Dir(d.place(root, args[0])), filepath.Base(args[0]), "token\n")
		case "follow":
			if len(args) == 1 {
				line = "follow " + d.place(root, args[0])
				d.tables(t, d.place(root, args[0]))
			}
		case "expr": // of plugin view
			own.from = viewClient
			line = strings.Replace(line, clientsOfView.FindString(line), viewClient+"/32", 1)
		case "meshes":
			own.meshes = args
		case "ns":
			own.ns = args
		case "meshvip":
			found = true
			if zones := slices.DeleteFunc(args, func(a string) bool { return a == "{" }); len(zones) > 0 {
				own.zones = zones
			}
		}
		out.WriteString(line + "\n")
	}
	out.WriteString("}\n")
	if found {
		own.zones = slices.DeleteFunc(own.zones, func(z string) bool { return strings.Contains(z, "/") })
		d.blocks = append(d.blocks, own)
	}
}

// socketDir returns a directory whose path leaves room for the name of a socket.
func socketDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "meshvip")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// place returns where a path of the Corefile lies here: all of them below the
// directory of d, absolute ones too.
func (d *documented) place(root, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Join(d.dir, path)
	}
	return filepath.Join(root, path)
}

// hasV6 reports whether entries get IPv6 addresses.
func (d *documented) hasV6() bool {
	return slices.ContainsFunc(d.pools, func(p netip.Prefix) bool { return p.Addr().Is6() })
}
