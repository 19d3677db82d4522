package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/meshvip/coredns-meshvip/admin"
	"github.com/meshvip/coredns-meshvip/allocator"
)

// fileKind is what a file holds.
type fileKind int

const (
	kindStore  fileKind = iota // a table in a bbolt file, or what is left of one
	kindBackup                 // a backup of ours
	kindTable                  // a table of Kuma's, or several
)

// backupHead is how every backup begins, see [allocator.WriteBackup].
const backupHead = `{"meshvip":"backup"`

// kindOf tells what the file at path holds, by how it begins.
func kindOf(path string) (fileKind, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	head := make([]byte, 4096)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return 0, err
	}
	head = head[:n]
	switch {
	case bytes.HasPrefix(bytes.TrimSpace(head), []byte(backupHead)):
		return kindBackup, nil
	// The first page of a store is mostly zeros. An empty one was cut short.
	case bytes.IndexByte(head, 0) >= 0, n == 0 && strings.HasSuffix(path, ".db"):
		return kindStore, nil
	}
	return kindTable, nil
}

// isServer reports whether the name of a table is that of a server: unix:PATH, a
// URL, or HOST:PORT where there is no such file.
func isServer(name string) bool {
	if strings.HasPrefix(name, "unix:") || strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://") {
		return true
	}
	return strings.Contains(name, ":") && name != stdStream && !exists(name)
}

// serverState returns the whole table of a server.
func (s *session) serverState(ctx context.Context, address string) (allocator.State, error) {
	c, err := s.reach(ctx, target{admin: address, by: "the command line"})
	if err != nil {
		return allocator.State{}, unreached(target{admin: address, by: "the command line"}, err)
	}
	return downloadState(ctx, c.Client)
}

// wholeState returns the whole table that the flags and the environment name: of
// its server, or of its store where no server has it open.
func (s *session) wholeState(ctx context.Context) (allocator.State, error) {
	t, err := s.find()
	if err != nil {
		return allocator.State{}, err
	}
	if t.admin != "" {
		c, missed := s.reach(ctx, t)
		switch {
		case missed == nil:
			return downloadState(ctx, c.Client)
		case ctx.Err() != nil:
			return allocator.State{}, ctx.Err()
		case !t.local() || !nobody(missed):
			return allocator.State{}, unreached(t, missed)
		}
	}
	store, _, err := s.openTable(ctx, t, toRead)
	if err != nil {
		return allocator.State{}, unread(t, err)
	}
	return store.Load(ctx)
}

// downloadState takes a backup of a table and reads it.
func downloadState(ctx context.Context, c *admin.Client) (allocator.State, error) {
	r, err := c.Backup(ctx)
	if err != nil {
		return allocator.State{}, unopened("taking a snapshot of the table: %w", err)
	}
	defer r.Close()
	state, err := allocator.ReadBackup(r)
	if err != nil {
		return allocator.State{}, unopened("taking a snapshot of the table: %w", err)
	}
	return state, nil
}

// fileState returns the table of a store file, through its server where one has
// it open, or of a backup.
func (s *session) fileState(ctx context.Context, path string, kind fileKind) (allocator.State, error) {
	if kind == kindBackup {
		return readBackupFile(path)
	}
	own := *s
	own.admin, own.corefile, own.store, own.open = "", "", path, nil
	state, err := own.wholeState(ctx)
	return state, errors.Join(err, own.close())
}

// readBackupFile reads the backup at path.
func readBackupFile(path string) (allocator.State, error) {
	f, err := os.Open(path)
	if err != nil {
		return allocator.State{}, unopened("%w", err)
	}
	defer f.Close()
	state, err := allocator.ReadBackup(f)
	if err != nil {
		return allocator.State{}, unopened("backup %s: %w", path, err)
	}
	return state, nil
}
