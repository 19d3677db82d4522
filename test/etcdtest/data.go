package etcdtest

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// admin returns a client, and a context that bounds what is asked of it.
func (s *Server) admin(t testing.TB) (*clientv3.Client, context.Context) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return s.Client(t), ctx
}

// Compact forgets all revisions before the present one, and returns it. A watch
// that starts at an older one is refused from then on.
func (s *Server) Compact(t testing.TB) (revision int64) {
	t.Helper()
	client, ctx := s.admin(t)
	now, err := client.Get(ctx, "now")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Compact(ctx, now.Header.Revision, clientv3.WithCompactPhysical()); err != nil {
		t.Fatal(err)
	}
	return now.Header.Revision
}

// Defrag gives the space of what was forgotten back to the file system. The node
// answers nothing meanwhile.
func (s *Server) Defrag(t testing.TB) {
	t.Helper()
	client, ctx := s.admin(t)
	if _, err := client.Defragment(ctx, s.Endpoint()); err != nil {
		t.Fatal(err)
	}
}

// Snapshot returns the path of a snapshot of all that the node holds, as a backup
// of etcd is.
func (s *Server) Snapshot(t testing.TB) string {
	t.Helper()
	client, ctx := s.admin(t)
	r, err := client.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	path := filepath.Join(t.TempDir(), "snapshot.db")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.Copy(f, r); err != nil {
		t.Fatal(err)
	}
	return path
}

// Restore puts the content of a snapshot in place of the node's data, as an
// operator does by etcdutl with no further options: revisions go on where they were
// at the snapshot, so that clients see them a second time, for other changes. The
// node answers on its ports when Restore returns. Of a cluster, stop all and restore
// each.
func (s *Server) Restore(t testing.TB, snapshot string) {
	t.Helper()
	if err := s.restore(snapshot); err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
}

func (s *Server) restore(snapshot string) error {
	if err := s.process.terminate(); err != nil {
		return err
	}
	if err := os.RemoveAll(s.data()); err != nil {
		return err
	}
	args := append([]string{"snapshot", "restore", snapshot, "--data-dir=" + s.data()}, s.membership()...)
	if out, err := exec.Command(programPath("etcdutl"), args...).CombinedOutput(); err != nil {
		return fmt.Errorf("restoring %s: %w\n%s", snapshot, err, out)
	}
	return start([]*Server{s})
}

// EnableAuth gives root a password, adds a user who may read and write the keys
// below prefix and no others, and refuses whoever is neither from then on. Clients
// of Server.Client are root.
func (s *Server) EnableAuth(t testing.TB, rootPassword, user, password, prefix string) {
	t.Helper()
	client, ctx := s.admin(t)
	for _, step := range []func() error{
		func() error { _, err := client.UserAdd(ctx, "root", rootPassword); return err },
		func() error { _, err := client.UserGrantRole(ctx, "root", "root"); return err },
		func() error { _, err := client.RoleAdd(ctx, user); return err },
		func() error {
			all := clientv3.PermissionType(clientv3.PermReadWrite)
			_, err := client.RoleGrantPermission(ctx, user, prefix, clientv3.GetPrefixRangeEnd(prefix), all)
			return err
		},
		func() error { _, err := client.UserAdd(ctx, user, password); return err },
		func() error { _, err := client.UserGrantRole(ctx, user, user); return err },
		func() error { _, err := client.AuthEnable(ctx); return err },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range s.cluster {
		m.root = rootPassword
	}
}
