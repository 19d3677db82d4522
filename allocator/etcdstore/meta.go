package etcdstore

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/record"
)

// maxTerms is how many terms a table remembers.
const maxTerms = 64

// metaRecord is the value of the meta key, but for the serial, which has a key of
// its own. Every transaction on the table writes it.
type metaRecord struct {
	record.Meta
	// Cooldown is that of the replica which allocates. All honour it.
	Cooldown time.Duration `json:"cooldown,omitempty"`
	// Commit is the random name of the transaction that wrote this, and After
	// that of the one before it.
	Commit string `json:"commit"`
	After  string `json:"after,omitempty"`
	// Terms are the last terms of leaders, with their first revisions.
	Terms []termRecord `json:"terms,omitempty"`
	// Reconciling: the table has gone back, and is being brought to what a
	// replica remembers. Until that is done it is no replica's to read.
	Reconciling bool `json:"reconciling,omitempty"`
	// Reconciled counts how often that was done.
	Reconciled uint64 `json:"reconciled,omitempty"`
}

type termRecord struct {
	ID   string `json:"id"`
	From uint64 `json:"from"`
}

// position is what is known of a table at one of its revisions.
type position struct {
	meta   []byte // the value of the meta key, as it stands
	modRev int64  // of etcd, when it was written
	rev    uint64 // of the table
	id     string // of the table
	term   string // that wrote it; "" where no leader has
	commit string
	after  string
	// reconciled is how often the table had been brought to what a replica remembers.
	reconciled uint64
	// wrote are the keys that the transaction wrote; not known where the table
	// was read.
	wrote []string
}

// decodeMeta reads the value of the meta key that was written at modRev.
func decodeMeta(value []byte, modRev int64) (metaRecord, position, error) {
	var m metaRecord
	if err := decode(value, &m); err != nil {
		return metaRecord{}, position{}, err
	}
	_, err := allocator.MetaOf(m.Meta)
	switch {
	case err != nil:
	case m.ID == "" || m.Commit == "":
		err = errors.New("it does not name its table, or its commit")
	case m.Serial != 0:
		err = errors.New("the serial has a key of its own")
	case m.Cooldown < 0:
		err = errors.New("the cooldown is negative")
	case !slices.IsSortedFunc(m.Terms, func(a, b termRecord) int { return cmp.Compare(a.From, b.From) }):
		err = errors.New("the terms are out of order")
	}
	if err != nil {
		return metaRecord{}, position{}, err
	}
	return m, position{
		meta: slices.Clone(value), modRev: modRev, rev: m.Revision, id: string(m.ID),
		term: m.term(), commit: m.Commit, after: m.After, reconciled: m.Reconciled,
	}, nil
}

// term returns the term that wrote m.
func (m metaRecord) term() string {
	if len(m.Terms) == 0 {
		return ""
	}
	return m.Terms[len(m.Terms)-1].ID
}

// next returns the meta of a commit on m.
func (m metaRecord) next(now allocator.Meta, term, commit string, cooldown time.Duration) metaRecord {
	n := metaRecord{Meta: allocator.MetaRecord(now), Cooldown: cooldown, Commit: commit, After: m.Commit, Terms: m.Terms, Reconciled: m.Reconciled}
	n.Serial = 0
	if n.ID == "" {
		n.ID = m.ID
	}
	if m.term() != term {
		n.Terms = append(slices.Clone(m.Terms), termRecord{term, n.Revision})
		n.Terms = n.Terms[max(0, len(n.Terms)-maxTerms):]
	}
	return n
}

// descends reports whether the table has p in its history: every commit up to p
// is in it.
func (m metaRecord) descends(p position) bool {
	if m.Reconciling {
		return false
	}
	if p.rev == 0 {
		return true
	}
	if p.id != "" && p.id != string(m.ID) {
		return false
	}
	if len(m.Terms) == 0 {
		return p.term == "" && p.rev <= m.Revision
	}
	i := slices.IndexFunc(m.Terms, func(t termRecord) bool { return t.ID == p.term })
	switch {
	case i < 0:
		// Before the first term is what was imported, or what is forgotten.
		return p.rev < m.Terms[0].From && (p.term == "" || len(m.Terms) == maxTerms)
	case p.rev < m.Terms[i].From:
		return false
	case i+1 < len(m.Terms):
		return p.rev < m.Terms[i+1].From
	}
	return p.rev <= m.Revision
}
