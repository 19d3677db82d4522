package etcdtest

import (
	"crypto/tls"
	"path/filepath"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// Addr returns where clients reach the node, "127.0.0.1:4711".
func (s *Server) Addr() string { return "127.0.0.1:" + s.client }

// Endpoint returns the URL of the node for clients.
func (s *Server) Endpoint() string {
	if s.files != nil {
		return "https://" + s.Addr()
	}
	return "http://" + s.Addr()
}

// Endpoints returns the URLs of all nodes of the cluster.
func (s *Server) Endpoints() []string {
	var all []string
	for _, m := range s.cluster {
		all = append(all, m.Endpoint())
	}
	return all
}

func (s *Server) peerURL() string { return "http://127.0.0.1:" + s.peer }

// data is the directory of the node's data.
func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// TLS returns the files of a client. The server was started WithTLS.
func (s *Server) TLS() TLS { return s.files.client }

// Log returns all that the node has printed, over restarts.
func (s *Server) Log() string { return s.out.String() }

// Pid returns the process of the node, or of its last run.
func (s *Server) Pid() int { return s.process.cmd.Process.Pid }

// Client returns a client of this node alone, which may do all that root may. It
// is closed with the test.
func (s *Server) Client(t testing.TB) *clientv3.Client {
	t.Helper()
	return s.clientOf(t, s.Endpoint())
}

// clientOf is Client of other endpoints.
func (s *Server) clientOf(t testing.TB, endpoints ...string) *clientv3.Client {
	t.Helper()
	config, err := s.tlsConfig()
	if err != nil {
		t.Fatal(err)
	}
	c := clientv3.Config{
		Endpoints: endpoints, TLS: config, DialTimeout: patience,
		DialKeepAliveTime: time.Second, DialKeepAliveTimeout: time.Second,
		Logger: zap.NewNop(),
	}
	if s.root != "" {
		c.Username, c.Password = "root", s.root
	}
	client, err := clientv3.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() }) // it says that its context ended
	return client
}

// tlsConfig is that of a client, nil where the server does without TLS.
func (s *Server) tlsConfig() (*tls.Config, error) {
	if s.files == nil {
		return nil, nil
	}
	return s.files.client.config()
}

// Kill ends the node with SIGKILL, and waits for its end.
func (s *Server) Kill() { s.process.kill() }

// Stop ends the node with SIGTERM, and waits for its end.
func (s *Server) Stop() {
	s.helper()
	s.must(s.process.terminate())
}

// Pause stops the node with SIGSTOP: it keeps its connections, and says nothing.
func (s *Server) Pause() {
	s.helper()
	s.must(s.process.pause())
}

// Resume lets a paused node go on.
func (s *Server) Resume() {
	s.helper()
	s.must(s.process.resume())
}

// Restart starts the node again on its data and ports, and waits until it answers:
// by itself, though the rest of its cluster may be away. One that runs is stopped
// before.
func (s *Server) Restart() {
	s.helper()
	s.must(s.restart())
}

func (s *Server) restart() error {
	if err := s.process.terminate(); err != nil {
		return err
	}
	return start([]*Server{s})
}

func (s *Server) helper() {
	if s.t != nil {
		s.t.Helper()
	}
}

// must fails the test on an error.
func (s *Server) must(err error) {
	if err == nil {
		return
	}
	if s.t == nil {
		panic(err)
	}
	s.t.Helper()
	s.t.Fatalf("%s: %v", s.name, err)
}
