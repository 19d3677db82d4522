package main

import (
	"bytes"
	"context"
	"net"
	"strings"
	"testing"
	"time"
)

// silent listens at a port, takes every connection and answers none. It calls
// taken for each.
func silent(t *testing.T, taken func()) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			taken()
		}
	}()
	return l.Addr().String()
}

func TestAServerThatDoesNotAnswerIsNotCalledAbsent(t *testing.T) {
	t.Parallel()
	var errs bytes.Buffer
	s := newSession(strings.NewReader(""), &bytes.Buffer{}, &errs, func(string) string { return "" })
	s.patience = time.Second
	if code := run(t.Context(), s, []string{"--admin", silent(t, func() {}), "status"}); code != codeUnopened {
		t.Errorf("exit code %d", code)
	}
	if got := errs.String(); !strings.Contains(got, "it took the connection and did not answer within 1s") {
		t.Errorf("it said %s", got)
	}
}

func TestAnInterruptWhileAServerIsAskedIsTold(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var errs bytes.Buffer
	s := newSession(strings.NewReader(""), &bytes.Buffer{}, &errs, func(string) string { return "" })
	if code := run(ctx, s, []string{"--admin", silent(t, interrupt), "status"}); code != codeInterrupted {
		t.Errorf("exit code %d", code)
	}
	if got := errs.String(); got != "meshvipctl: interrupted\n" {
		t.Errorf("it said %s", got)
	}
}
