package etcdtest

// Option changes how a server is started.
type Option func(*settings)

// settings are what options change.
type settings struct {
	tls     bool
	noFsync bool
	args    []string
}

// WithTLS lets the server speak TLS, and only with clients whose certificate its
// authority has signed: those that have the files of Server.TLS.
func WithTLS() Option { return func(s *settings) { s.tls = true } }

// WithUnsafeNoFsync lets the server answer before data is on disk, which is
// faster. It is for tests that do not kill it.
func WithUnsafeNoFsync() Option { return func(s *settings) { s.noFsync = true } }

// WithArgs adds arguments to etcd's command line.
func WithArgs(args ...string) Option {
	return func(s *settings) { s.args = append(s.args, args...) }
}
