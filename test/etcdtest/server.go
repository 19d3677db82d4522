package etcdtest

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meshvip/coredns-meshvip/test/loopback"
)

// ports are those of the servers. Several test binaries run at once and draw from
// them, so one may find that another was faster: launch then draws again.
var ports = loopback.Ports{First: 4_000, Count: 7_000}

// Server is one node of etcd, on ports of 127.0.0.1 that stay its own over
// restarts.
type Server struct {
	t    testing.TB // whom to tell what goes wrong; nil where TestMain started it
	dir  string     // of its data, below "data", and its certificates
	name string
	settings
	client, peer string // its ports
	cluster      []*Server
	files        *files
	root         string // the password of root, where EnableAuth was called
	out          output
	process      *process
}

// Start starts one node, which ends with the test. It answers when Start returns.
// What it printed is shown if the test fails.
func Start(t testing.TB, o ...Option) *Server {
	t.Helper()
	return StartCluster(t, 1, o...)[0]
}

// StartCluster starts the n members of one cluster, as Start does one.
func StartCluster(t testing.TB, n int, o ...Option) []*Server {
	t.Helper()
	members, err := launch(t.TempDir(), n, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range members {
		s.t = t
	}
	t.Cleanup(func() {
		for _, s := range members {
			s.process.kill()
			if t.Failed() {
				t.Logf("%s printed:\n%s", s.name, tail(s.Log(), 30))
			}
		}
	})
	return members
}

// StartMain is Start for a TestMain. stop ends the node and removes its data; it
// has to be called before the process exits.
func StartMain(o ...Option) (s *Server, stop func(), err error) {
	dir, err := os.MkdirTemp("", "etcdtest")
	if err != nil {
		return nil, nil, err
	}
	members, err := launch(dir, 1, o)
	if err != nil {
		os.RemoveAll(dir)
		return nil, nil, err
	}
	return members[0], func() {
		members[0].process.kill()
		os.RemoveAll(dir)
	}, nil
}

// launch starts n nodes with their data below dir, and waits until they answer.
func launch(dir string, n int, o []Option) ([]*Server, error) {
	if err := built(); err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		members, err := prepare(filepath.Join(dir, fmt.Sprintf("try%d", try)), n, o)
		if err != nil {
			return nil, err
		}
		if err = start(members); err == nil {
			return members, nil
		}
		taken := false
		for _, s := range members {
			if s.process != nil {
				s.process.kill()
			}
			taken = taken || strings.Contains(s.Log(), "address already in use")
			err = fmt.Errorf("%w; %s printed:\n%s", err, s.name, tail(s.Log(), 30))
		}
		if !taken || try == 10 {
			return nil, err
		}
	}
}

// prepare returns n nodes that have all they need to run.
func prepare(dir string, n int, o []Option) ([]*Server, error) {
	var members []*Server
	for i := range n {
		s := &Server{name: fmt.Sprintf("etcd%d", i), dir: filepath.Join(dir, fmt.Sprintf("etcd%d", i))}
		for _, option := range o {
			option(&s.settings)
		}
		if err := os.MkdirAll(s.dir, 0o700); err != nil {
			return nil, err
		}
		members = append(members, s)
	}
	for i, s := range members {
		s.cluster = members
		var err error
		if s.client, err = ports.Find(); err != nil {
			return nil, err
		}
		if s.peer, err = ports.Find(); err != nil {
			return nil, err
		}
		switch {
		case s.tls && i == 0:
			if s.files, err = newFiles(s.dir); err != nil {
				return nil, err
			}
		case s.tls:
			s.files = members[0].files
		}
	}
	return members, nil
}

// start starts nodes, and waits until each of them answers.
func start(members []*Server) error {
	before := make([]int, len(members)) // what each had printed
	for i, s := range members {
		before[i] = len(s.Log())
		var err error
		if s.process, err = run(&s.out, programPath("etcd"), s.command()...); err != nil {
			return err
		}
	}
	for i, s := range members {
		if err := s.ready(before[i]); err != nil {
			return fmt.Errorf("starting %s: %w", s.name, err)
		}
	}
	return nil
}

// command returns the arguments of etcd.
func (s *Server) command() []string {
	args := append(s.membership(), "--data-dir="+s.data(),
		"--listen-peer-urls="+s.peerURL(),
		"--listen-client-urls="+s.Endpoint(), "--advertise-client-urls="+s.Endpoint(),
		"--log-format=console")
	if s.files != nil {
		args = append(args, "--cert-file="+s.files.serverCert, "--key-file="+s.files.serverKey,
			"--client-cert-auth", "--trusted-ca-file="+s.files.client.CA)
	}
	if len(s.cluster) == 1 {
		// It elects itself after a while that is for others, who are not there.
		args = append(args, "--heartbeat-interval=20", "--election-timeout=200")
	}
	if s.noFsync {
		args = append(args, "--unsafe-no-fsync")
	}
	return append(args, s.args...)
}

// membership returns the arguments that tell which cluster the node is of.
func (s *Server) membership() []string {
	var peers []string
	for _, m := range s.cluster {
		peers = append(peers, m.name+"="+m.peerURL())
	}
	return []string{
		"--name=" + s.name, "--initial-cluster=" + strings.Join(peers, ","),
		"--initial-advertise-peer-urls=" + s.peerURL(), "--initial-cluster-token=" + s.cluster[0].dir,
	}
}

// ready waits until the node answers. It does so by itself, not by way of another
// node of its cluster. A stranger may listen where it could not, so its own word is
// asked for: what it printed since before.
func (s *Server) ready(before int) error {
	config, err := s.tlsConfig()
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	return poll("an answer", s.process.done, func() (bool, error) {
		if !strings.Contains(s.Log()[before:], "ready to serve client requests") {
			return false, nil
		}
		return healthy(&client, s.Endpoint()), nil
	})
}

// healthy reports whether a node answers reads of its own copy, though it may be
// without a leader, or without space.
func healthy(client *http.Client, endpoint string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint+"/health?serializable=true&exclude=NOSPACE", nil)
	if err != nil {
		return false
	}
	reply, err := client.Do(r)
	if err != nil {
		return false
	}
	reply.Body.Close()
	return reply.StatusCode == http.StatusOK
}

// tail returns the last n lines of text.
func tail(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
