package etcdtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

func TestThePinnedVersionIsBuilt(t *testing.T) {
	t.Parallel()
	etcd, etcdutl := Binary(t)
	pins, err := os.ReadFile(filepath.Join(top, "tools", "etcd", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	pin := regexp.MustCompile(`go\.etcd\.io/etcd/server/v3 v(\S+)`).FindSubmatch(pins)
	if pin == nil {
		t.Fatal("tools/etcd/go.mod pins no etcd")
	}
	for _, command := range [][]string{{etcd, "--version"}, {etcdutl, "version"}} {
		out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), string(pin[1])) {
			t.Errorf("%v: %v, want version %s in\n%s", command, err, pin[1], out)
		}
	}
}

func TestWhatWasAnsweredSurvivesEachKindOfEnd(t *testing.T) {
	t.Parallel()
	s := Start(t)
	c := s.Client(t)
	for value, end := range map[string]func(){"killed": s.Kill, "stopped": s.Stop, "neither": func() {}} {
		put(t, c, "key", value)
		endpoint, pid := s.Endpoint(), s.Pid()
		end()
		if value != "neither" {
			silent(t, c)
		}
		s.Restart()
		if s.Pid() == pid || s.Endpoint() != endpoint {
			t.Errorf("%s: was process %d at %s, is %d at %s", value, pid, endpoint, s.Pid(), s.Endpoint())
		}
		holds(t, c, "key", value)
	}
	if n := strings.Count(s.Log(), "ready to serve client requests"); n != 4 {
		t.Errorf("the log has %d starts, want all 4", n)
	}
}

func TestAPausedServerIsSilentAndThenGoesOn(t *testing.T) {
	t.Parallel()
	s := Start(t, WithUnsafeNoFsync())
	c := s.Client(t)
	put(t, c, "key", "value")
	s.Pause()
	silent(t, c)
	s.Resume()
	holds(t, c, "key", "value")
	s.Pause()
	s.Stop() // does not wait for a Resume
	s.Restart()
	holds(t, c, "key", "value")
}

func TestServersEndWithTheirTest(t *testing.T) {
	t.Parallel()
	var pids []int
	t.Run("tests", func(t *testing.T) {
		for _, s := range StartCluster(t, 2) {
			pids = append(pids, s.Pid())
		}
		s := Start(t)
		s.Pause()
		pids = append(pids, s.Pid())
	})
	s, stop, err := StartMain(WithUnsafeNoFsync())
	if err != nil {
		t.Fatal(err)
	}
	put(t, s.Client(t), "key", "value")
	stop()
	if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
		t.Errorf("the data is still there (%v)", err)
	}
	for _, pid := range append(pids, s.Pid()) {
		if err := syscall.Kill(pid, 0); err == nil {
			t.Errorf("process %d is still there", pid)
		}
	}
}

func TestTwoOfThreeMembersGoOn(t *testing.T) {
	t.Parallel()
	all := StartCluster(t, 3, WithUnsafeNoFsync())
	c := all[0].clientOf(t, all[0].Endpoints()...)
	put(t, c, "key", "three")
	all[2].Kill()
	// What was under way when a leader died is answered late, or never.
	if err := poll("another leader", all[0].process.done, func() (bool, error) {
		_, err := c.Put(brief(t), "key", "two")
		return err == nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	holds(t, all[1].Client(t), "key", "two")
	all[1].Kill()
	silent(t, c)
	all[2].Restart() // sees what it missed
	holds(t, all[2].Client(t), "key", "two")
	holds(t, c, "key", "two")
}

func TestTLSIsAskedOfClients(t *testing.T) {
	t.Parallel()
	s := Start(t, WithTLS(), WithUnsafeNoFsync())
	put(t, s.Client(t), "key", "value")
	if s.Restart(); !strings.HasPrefix(s.Endpoint(), "https://") {
		t.Errorf("the endpoint is %s", s.Endpoint())
	}
	holds(t, s.Client(t), "key", "value")
	good, err := s.TLS().config()
	if err != nil {
		t.Fatal(err)
	}
	anonymous, stranger := good.Clone(), good.Clone()
	anonymous.Certificates = nil
	stranger.RootCAs = nil
	for _, config := range []clientv3.Config{
		{Endpoints: []string{"http://" + s.Addr()}},
		{Endpoints: s.Endpoints(), TLS: anonymous},
		{Endpoints: s.Endpoints(), TLS: stranger},
	} {
		config.Logger = zap.NewNop()
		c, err := clientv3.New(config)
		if err != nil {
			t.Fatal(err)
		}
		silent(t, c)
		c.Close()
	}
}

func TestArgumentsAreEtcds(t *testing.T) {
	t.Parallel()
	s := Start(t, WithArgs("--max-txn-ops=2", "--quota-backend-bytes=33554432"), WithUnsafeNoFsync())
	op := clientv3.OpPut
	c := s.Client(t)
	if _, err := c.Txn(bounded(t)).Then(op("a", ""), op("b", "")).Commit(); err != nil {
		t.Error(err)
	}
	if _, err := c.Txn(bounded(t)).Then(op("a", ""), op("b", ""), op("c", "")).Commit(); err == nil {
		t.Error("three operations where two are the limit")
	}
}
