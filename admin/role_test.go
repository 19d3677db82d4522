package admin_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/admin"
	"github.com/meshvip/coredns-meshvip/allocator"
)

// follower returns a rig that follows a server of that name.
func follower(t *testing.T, leader string) *rig {
	t.Helper()
	r := newRig(t, func(cfg *allocator.Config) { cfg.Follows = true })
	r.table.Replication = func() *admin.Replication {
		return &admin.Replication{Leader: leader, Lag: 3, Age: 1500 * time.Millisecond}
	}
	r.table.Sources = func() []admin.Source { return nil }
	return r
}

func TestAStatusTellsWhichPartAServerHas(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := must[admin.Status](t)(r.Status(t.Context()))
	if s.Role != admin.Single || s.Leader != "" || s.LagRevisions != nil || s.ContactAgeSeconds != nil {
		t.Errorf("alone: %+v", s)
	}
	r.table.Replication = func() *admin.Replication { return nil }
	if s = must[admin.Status](t)(r.Status(t.Context())); s.Role != admin.Single {
		t.Errorf("where nobody else has the table: %+v", s)
	}
	r.table.Replication = func() *admin.Replication { return &admin.Replication{Leads: true, Leader: "a"} }
	s = must[admin.Status](t)(r.Status(t.Context()))
	if s.Role != admin.Leads || s.Leader != "a" || s.LagRevisions == nil || *s.LagRevisions != 0 || s.ContactAgeSeconds == nil || *s.ContactAgeSeconds != 0 {
		t.Errorf("the leader: %+v", s)
	}
	s = must[admin.Status](t)(follower(t, "a").Status(t.Context()))
	if s.Role != admin.Follower || s.Leader != "a" || *s.LagRevisions != 3 || *s.ContactAgeSeconds != 1.5 {
		t.Errorf("a follower: %+v", s)
	}
	r.table.Offline = true
	if s = must[admin.Status](t)(r.Status(t.Context())); s.Role != "" || s.Leader != "a" || s.LagRevisions != nil {
		t.Errorf("a store that was read: %+v", s)
	}
	r.table.Replication = nil
	if s = must[admin.Status](t)(r.Status(t.Context())); s.Role != "" {
		t.Errorf("a store of one server that was read: %+v", s)
	}
}

func TestAFollowerRefusesChangesAndNamesWhoMakesThem(t *testing.T) {
	t.Parallel()
	for leader, want := range map[string]string{
		"cp-1:77": "cp-1:77 does, and this one only follows: ask that one",
		"":        "none is elected at present: try again",
	} {
		r := follower(t, leader)
		_, confirmed := r.ConfirmMoves(t.Context(), "1-abcdef")
		_, released := r.ReleaseHeld(t.Context(), "abcdef")
		for what, err := range map[string]error{"confirm": confirmed, "release": released} {
			var told *admin.Error
			if !errors.As(err, &told) || told.Status != http.StatusConflict || told.Code != admin.Conflict ||
				!strings.Contains(told.Message, "another replica allocates") || !strings.Contains(told.Message, want) {
				t.Errorf("%s, leader %q: %v", what, leader, err)
			}
		}
	}
}

func TestAFollowerDoesNotPassOffWhatItDoesNotKnowAsNothing(t *testing.T) {
	t.Parallel()
	r := follower(t, "a")
	sources := must[admin.Sources](t)(r.Sources(t.Context()))
	if sources.Sources == nil || len(sources.Sources) != 0 {
		t.Errorf("sources: %+v", sources)
	}
	if c := must[admin.Conflicts](t)(r.Conflicts(t.Context(), 0)); !slices.Equal(c.Unknown, []string{"moves", "held"}) {
		t.Errorf("unknown of conflicts is %q", c.Unknown)
	}
	e := must[admin.Explanation](t)(r.Explain(t.Context(), "240.0.0.1"))
	if !slices.Equal(e.Unknown, []string{"moves", "held", "resources"}) {
		t.Errorf("unknown of an address is %q", e.Unknown)
	}
	v, err := r.Verify(t.Context())
	if err != nil || !v.OK {
		t.Errorf("verified: %+v, %v", v, err)
	}
}
