package allocator

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/allocator/record"
	"github.com/meshvip/coredns-meshvip/vip"
)

// BackupVersion is the version of the backups that are written. Those of a higher
// one are refused with ErrNewer.
const BackupVersion = 1

// State returns everything that the table holds, as its store has it: what
// [WriteBackup] writes. The table stands still only while it is copied; its rows
// are not. It returns ErrClosed, and an error where the store may be ahead of the
// table, or breaks invariants.
func (a *Allocator) State(ctx context.Context) (State, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.settle(ctx); err != nil {
		return State{}, err
	}
	if a.broken {
		return State{}, errors.New("the table breaks invariants: let it be repaired first (see verify)")
	}
	s := a.t.state(slices.Clone(a.damaged))
	s.Meta.Pools, s.Meta.Quarantine = slices.Clone(s.Meta.Pools), slices.Clone(s.Meta.Quarantine)
	s.Meta.Clock = a.clock() // what cools down has come this far
	return s, nil
}

// WriteBackup writes a backup of a state, whatever it holds, one line after
// another: it takes no memory that grows with the state but four bytes a record.
// The same state gives the same bytes.
//
// A backup is lines of JSON, each an object: a header, then as many meshes, rows,
// addresses and damaged records as it says, in this order, each kind sorted, and
// last the SHA-256 of all bytes before it. Texts are strings, or objects
// {"base64": ...} where they are not UTF-8; times of the table's clock are
// nanoseconds, others Unix seconds; what is zero is left out.
//
//	{"meshvip":"backup","version":1,"id":…,"serial":…,"revision":…,"clock":…,"generation":…,"synced":…,"options":…,
//	 "pools":[{"prefix":…,"next":…,"retired":…}],"quarantine":[{"from":…,"to":…,"until":…}],"meshes":N,"rows":N,"addresses":N,"damaged":N}
//	{"mesh":…}
//	{"kind":…,"of":…,"name":…,"v4":…,"v6":…,"listings":[{"mesh":…,"name":…,"outbounds":[{"port":…,"tags":[["key","value"]],"origin":…}],
//	 "static":[…],"given":[…],"hostnames":[…],"follow":…}]}
//	{"address":…,"owner":{"kind":…,"of":…,"name":…},"released":…,"at":…,"mesh":…,"since":…}
//	{"place":…,"error":…,"address":…}
//	{"sha256":…}
//
// "of" is the mesh of entries that are keyed by theirs.
func WriteBackup(w io.Writer, s State) error {
	b := newBackupWriter(w)
	b.line(headerOf(s))
	meshes := slices.Clone(s.Meshes)
	slices.Sort(meshes)
	for _, m := range meshes {
		b.line(meshRecord{Mesh: record.Text(m)})
	}
	for _, i := range inOrder(s.Rows, func(a, b *vip.Row) int { return a.Key().Compare(b.Key()) }) {
		b.line(recordOf(s.Rows[i]))
	}
	for _, i := range inOrder(s.Addrs, func(a, b Held) int { return a.Addr.Compare(b.Addr) }) {
		b.line(heldRecordOf(s.Addrs[i]))
	}
	for _, i := range inOrder(s.Damaged, func(a, b Damage) int { return strings.Compare(a.Place, b.Place) }) {
		b.line(damageRecordOf(s.Damaged[i]))
	}
	return b.close()
}

// inOrder returns the numbers of a list's elements in their order. Large elements
// stay where they are.
func inOrder[E any](list []E, compare func(a, b E) int) []int32 {
	order := make([]int32, len(list))
	for i := range order {
		order[i] = int32(i)
	}
	if !slices.IsSortedFunc(list, compare) {
		slices.SortFunc(order, func(i, j int32) int { return cmp.Or(compare(list[i], list[j]), cmp.Compare(i, j)) })
	}
	return order
}

// backupWriter writes lines, and sums them. The first error stays.
type backupWriter struct {
	out *bufio.Writer
	sum hash.Hash
	enc *json.Encoder
	err error
}

func newBackupWriter(w io.Writer) *backupWriter {
	b := &backupWriter{out: bufio.NewWriterSize(w, 64<<10), sum: sha256.New()}
	b.enc = json.NewEncoder(io.MultiWriter(b.out, b.sum))
	b.enc.SetEscapeHTML(false)
	return b
}

func (b *backupWriter) line(record any) {
	if b.err == nil {
		b.err = b.enc.Encode(record)
	}
}

// close writes the sum.
func (b *backupWriter) close() error {
	b.line(sumRecord{SHA256: hex.EncodeToString(b.sum.Sum(nil))})
	if b.err == nil {
		b.err = b.out.Flush()
	}
	if b.err != nil {
		return fmt.Errorf("writing a backup: %w", b.err)
	}
	return nil
}
