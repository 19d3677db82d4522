package admin

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// maxSocketPath is how many bytes the path of a unix socket may have.
const maxSocketPath = len(syscall.RawSockaddrUnix{}.Path) - 1

// Listen opens the address of an interface: "unix:PATH" or "HOST:PORT". A socket
// can be reached by its owner only, from its first moment on. One that a dead
// server left is replaced, one of a living server is not. The directory must be
// there.
func Listen(address string) (net.Listener, error) {
	path, unix := strings.CutPrefix(address, "unix:")
	if !unix {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return nil, fmt.Errorf("admin %s: %w: choose another address, or end what has it", address, err)
		}
		return l, nil
	}
	l, err := listenUnix(path)
	if err != nil {
		return nil, fmt.Errorf("admin %s: %w", address, err)
	}
	return l, nil
}

// listenUnix makes the socket in a directory that nobody else can enter, and
// moves it to its place when its mode is right.
func listenUnix(path string) (net.Listener, error) {
	if len(path) > maxSocketPath {
		return nil, tooLong(path)
	}
	if err := vacant(path); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".")
	if err != nil {
		return nil, fmt.Errorf("the socket needs a directory that the server can write to: %w", err)
	}
	defer os.RemoveAll(dir)
	made := filepath.Join(dir, "s")
	if len(made) > maxSocketPath {
		return nil, tooLong(path)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: made, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	if err = os.Chmod(made, 0o600); err == nil {
		err = os.Rename(made, path)
	}
	is, statErr := os.Lstat(path)
	if err = errors.Join(err, statErr); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &socket{UnixListener: l, path: path, is: is}, nil
}

func tooLong(path string) error {
	return fmt.Errorf("the path has %d bytes, and a socket's can have about %d: write a shorter one, for example \"admin unix:/run/meshvip.sock\"",
		len(path), maxSocketPath)
}

// vacant returns an error unless there is nothing at path, or a socket on which
// nobody listens.
func vacant(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return errors.New("there is something that is no socket: remove it, or choose another path")
	}
	c, err := net.DialTimeout("unix", path, time.Second)
	switch {
	case err == nil:
		c.Close()
		return errors.New("another server listens there: end it, or choose another path")
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil
	}
	return fmt.Errorf("who listens there cannot be found out: %w", err)
}

// socket is a listener that removes its file at the end, unless that is another's
// by then.
type socket struct {
	*net.UnixListener
	path string
	is   fs.FileInfo
	once sync.Once
}

// Addr returns the address of the socket's file.
func (s *socket) Addr() net.Addr { return &net.UnixAddr{Name: s.path, Net: "unix"} }

// Close implements [net.Listener].
func (s *socket) Close() error {
	s.once.Do(func() {
		if now, err := os.Lstat(s.path); err == nil && os.SameFile(now, s.is) {
			os.Remove(s.path)
		}
	})
	return s.UnixListener.Close()
}
