package admin

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/meshvip/coredns-meshvip/allocator"
)

// replication returns the server's part in a table that others have too; nil
// where nobody else does.
func (h *handler) replication() *Replication {
	if h.t.Replication == nil {
		return nil
	}
	return h.t.Replication()
}

// follows reports whether another server allocates, or none.
func (h *handler) follows() bool {
	r := h.replication()
	return r != nil && !r.Leads
}

// unsaid returns the parts that are not known here: of one that allocates, what it
// does not write down.
func (h *handler) unsaid() []string {
	unknown := h.names.unknown()
	if h.follows() && !h.t.Offline {
		unknown = append(unknown, "moves", "held")
	}
	return unknown
}

// role adds to a status which part the server has.
func (h *handler) role(s *Status) {
	r := h.replication()
	switch {
	case r == nil && h.t.Offline:
		return
	case r == nil:
		s.Role = Single
		return
	}
	s.Leader = r.Leader
	if h.t.Offline {
		return
	}
	s.Role = Follower
	if r.Leads {
		s.Role = Leads
	}
	age := max(r.Age, 0).Seconds()
	s.LagRevisions, s.ContactAgeSeconds = &r.Lag, &age
}

// following returns the failure of a change that only the server that allocates
// can make, and err where it is something else.
func (h *handler) following(err error) error {
	if !errors.Is(err, allocator.ErrFollows) {
		return err
	}
	who := "none is elected at present: try again in a moment"
	if r := h.replication(); r != nil && r.Leader != "" && !r.Leads {
		who = fmt.Sprintf("%s does, and this one only follows: ask that one, at its own admin interface", r.Leader)
	}
	return failf(http.StatusConflict, Conflict, "%v: %s", allocator.ErrFollows, who)
}
