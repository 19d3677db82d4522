package admin

import "context"

// StreamEvent is a change as it happens, or a place in the stream at which
// changes are missing: one of the two.
type StreamEvent struct {
	Change *Change
	Gap    *Gap
}

// Watch calls f with every change after since, as in [Client.Changes], as it
// happens; empty: from now on. When the connection is lost it connects again, and
// goes on where it was. It returns when ctx is done, when f returns an error, or
// when the server refuses; the error says why.
func (c *Client) Watch(ctx context.Context, since string, f func(StreamEvent) error) error {
	panic("not there yet")
}
