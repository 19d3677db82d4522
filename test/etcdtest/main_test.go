package etcdtest

import (
	"context"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bounded returns a context for what should be answered.
func bounded(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// brief returns a context for what should not be answered.
func brief(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

func put(t testing.TB, c *clientv3.Client, key, value string) (revision int64) {
	t.Helper()
	r, err := c.Put(bounded(t), key, value)
	if err != nil {
		t.Fatal(err)
	}
	return r.Header.Revision
}

// holds fails the test unless the key has the value, "" for none.
func holds(t testing.TB, c *clientv3.Client, key, value string) (revision int64) {
	t.Helper()
	r, err := c.Get(bounded(t), key)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	if len(r.Kvs) > 0 {
		got = string(r.Kvs[0].Value)
	}
	if got != value {
		t.Errorf("%s is %q, want %q", key, got, value)
	}
	return r.Header.Revision
}

// silent fails the test if a node answers.
func silent(t testing.TB, c *clientv3.Client) {
	t.Helper()
	if _, err := c.Get(brief(t), "any"); err == nil {
		t.Error("it answers")
	}
}
