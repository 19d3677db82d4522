package file

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/meshvip/coredns-meshvip/watcher"
)

func TestConstantWritesDoNotStarveADebounce(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.yaml")
	write(t, path, dp("a", "a"))
	synctest.Test(t, func(t *testing.T) {
		n := newScripted()
		s := New(dir, Options{})
		s.notify = func() (notifier, error) { return n, nil }
		ctx, stop := context.WithCancel(t.Context())
		var at []time.Time
		ended := make(chan error)
		go func() {
			ended <- runBoth(ctx, s, watcher.NewUnion(dir), func(vip.Batch) error { at = append(at, time.Now()); return nil })
		}()
		synctest.Wait()
		began := time.Now()
		write(t, path, dp("a", "b"))
		for range 150 {
			n.events <- fsnotify.Event{Name: path, Op: fsnotify.Write}
			time.Sleep(10 * time.Millisecond) // on the bubble's clock
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Run returned %v", err)
		}
		if len(at) != 2 || at[1].Sub(began) != maxDebounce {
			t.Errorf("batches %v after the first write at %v", at, began)
		}
	})
}

func TestAChangeWaitsForTheDebounce(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.yaml")
	write(t, path, dp("a", "a"))
	synctest.Test(t, func(t *testing.T) {
		n := newScripted()
		s := New(dir, Options{})
		s.notify = func() (notifier, error) { return n, nil }
		ctx, stop := context.WithCancel(t.Context())
		var batches atomic.Int32
		u := watcher.NewUnion(dir)
		ended := make(chan error)
		go func() {
			ended <- runBoth(ctx, s, u, func(vip.Batch) error {
				if batches.Add(1) == 2 {
					return errDisk
				}
				return nil
			})
		}()
		synctest.Wait()
		write(t, path, dp("a", "b"))
		n.events <- fsnotify.Event{Name: path, Op: fsnotify.Write}
		time.Sleep(19 * time.Millisecond)
		synctest.Wait()
		if batches.Load() != 1 {
			t.Errorf("%d batches before the debounce was over, want 1", batches.Load())
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if batches.Load() != 2 {
			t.Errorf("%d batches after the debounce, want 2", batches.Load())
		}
		if u.Status().Errors != 1 {
			t.Errorf("status %+v after a batch was refused", u.Status())
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if batches.Load() != 3 || len(u.Status().Problems) != 0 {
			t.Errorf("%d batches after the backoff, want 3; status %+v", batches.Load(), u.Status())
		}
		stop()
		<-ended
	})
}

func TestAWindowEndsAfterQuietOrAtItsLimit(t *testing.T) {
	t.Parallel()
	w := window{quiet: 2 * time.Second, limit: 5 * time.Second}
	now := time.Unix(0, 0)
	if w.over(now) || w.open() {
		t.Error("a window is open before it was opened")
	}
	for range 5 {
		w.extend(now)
		if w.over(now) {
			t.Errorf("over at %v", now)
		}
		now = now.Add(time.Second)
	}
	if !w.over(now) {
		t.Error("not over at its limit")
	}
	w.close()
	w.extend(now)
	if !w.end().Equal(now.Add(2 * time.Second)) {
		t.Errorf("ends at %v", w.end())
	}
}
