package admin

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// StreamEvent is a change as it happens, or a place in the stream at which
// changes are missing: one of the two.
type StreamEvent struct {
	Change *Change
	Gap    *Gap
}

// errTaken is what the caller of Watch has returned.
type errTaken struct{ error }

// Watch calls f with every change after since, as in [Client.Changes], as it
// happens; empty: from now on. When the connection is lost it connects again, and
// goes on where it was. It returns when ctx is done, when f returns an error,
// when the server refuses, or when it cannot be reached at first; the error says
// why.
func (c *Client) Watch(ctx context.Context, since string, f func(StreamEvent) error) error {
	if since == "" {
		// Or what happens while the connection is lost would be missed.
		now, err := c.Status(ctx)
		if err != nil {
			return err
		}
		since = cursor{now.Serial, now.Revision}.String()
	}
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = 100*time.Millisecond, 10*time.Second
	for first := true; ; first = false {
		err := c.stream(ctx, &since, func(e StreamEvent) error {
			pause.Reset()
			return f(e)
		})
		var refused *Error
		var taken errTaken
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &taken):
			return taken.error
		case errors.As(err, &refused) && (first || refused.Code != Unavailable), err != nil && first && errors.As(err, new(*connectError)):
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause.NextBackOff()):
		}
	}
}

// connectError is that of a stream that never began.
type connectError struct{ error }

// Unwrap returns what is wrong.
func (e *connectError) Unwrap() error { return e.error }

// stream follows one connection, and keeps in since where it is.
func (c *Client) stream(ctx context.Context, since *string, f func(StreamEvent) error) error {
	resp, err := c.do(ctx, http.MethodGet, "/v1/stream", values("since", *since), nil)
	if err != nil {
		return &connectError{err}
	}
	defer resp.Body.Close()
	r := bufio.NewReader(resp.Body)
	var name, id string
	var data []byte
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil // the server has ended, or cut us off
			}
			return err
		}
		line = bytes.TrimRight(line, "\r\n")
		field, value, _ := bytes.Cut(line, []byte(": "))
		switch string(field) {
		case "event":
			name = string(value)
		case "id":
			id = string(value)
		case "data":
			data = value
		}
		if len(line) > 0 || data == nil {
			continue
		}
		e, err := streamEvent(name, data)
		if err != nil {
			return err
		}
		if e != (StreamEvent{}) {
			if err := f(e); err != nil {
				return errTaken{err}
			}
		}
		*since, name, data = id, "", nil
	}
}

// streamEvent reads an event. One that this version does not know is empty.
func streamEvent(name string, data []byte) (e StreamEvent, err error) {
	switch name {
	case "change":
		e.Change = new(Change)
		err = json.Unmarshal(data, e.Change)
	case "gap":
		e.Gap = new(Gap)
		err = json.Unmarshal(data, e.Gap)
	}
	if err != nil {
		return StreamEvent{}, fmt.Errorf("an event of the stream cannot be read: %w", err)
	}
	return e, nil
}
