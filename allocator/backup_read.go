package allocator

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"

	"github.com/meshvip/coredns-meshvip/allocator/record"
	"github.com/meshvip/coredns-meshvip/vip"
)

// ErrBackup: what was read is no backup, or not a whole one.
var ErrBackup = errors.New("not a whole backup")

// backupLine bounds a line of a backup in bytes, so that what is none takes no
// memory: an entry that ten thousand meshes list has a line of a few megabytes.
const backupLine = 256 << 20

// ReadBackup reads what [WriteBackup] wrote, to the end of r. It returns an error
// that wraps ErrBackup, and names the line, if that is cut short, changed or
// something else; ErrNewer if a newer version wrote it; or r's. The state need not
// be sound: see [Check].
func ReadBackup(r io.Reader) (State, error) {
	b := backupReader{in: bufio.NewReaderSize(r, 64<<10), sum: sha256.New(), texts: make(map[record.Text]string)}
	s, err := b.read()
	switch {
	case err == nil:
		return s, nil
	case errors.Is(err, ErrNewer), errors.Is(err, errRead):
		return State{}, fmt.Errorf("reading a backup: %w", err)
	}
	return State{}, fmt.Errorf("%w: line %d: %w", ErrBackup, b.lines, err)
}

var errRead = errors.New("it cannot be read")

type backupReader struct {
	in    *bufio.Reader
	sum   hash.Hash
	lines int
	buf   []byte
	texts map[record.Text]string
}

// next reads a line into record, and adds it to the sum.
func (b *backupReader) next(record any) error {
	b.lines++
	line, err := b.line()
	if err != nil {
		return err
	}
	b.sum.Write(line)
	return json.Unmarshal(line, record)
}

// line returns the next line with its end.
func (b *backupReader) line() ([]byte, error) {
	b.buf = b.buf[:0]
	for {
		part, err := b.in.ReadSlice('\n')
		b.buf = append(b.buf, part...)
		switch {
		case err == nil:
			return b.buf, nil
		case errors.Is(err, io.EOF):
			return nil, errors.New("it ends here, and is cut short")
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("%w: %w", errRead, err)
		case len(b.buf) > backupLine:
			return nil, errors.New("it is too long")
		}
	}
}

func (b *backupReader) read() (s State, err error) {
	h, err := b.header()
	if err != nil {
		return State{}, err
	}
	if s.Meta, err = MetaOf(h.Meta); err != nil {
		return State{}, err
	}
	for range h.Meshes {
		var rec meshRecord
		if err := b.next(&rec); err != nil {
			return State{}, err
		}
		s.Meshes = append(s.Meshes, b.intern(rec.Mesh))
	}
	for range h.Rows {
		var rec rowRecord
		if err := b.next(&rec); err != nil {
			return State{}, err
		}
		s.Rows = append(s.Rows, rec.row(b.intern))
	}
	for range h.Addresses {
		var rec heldRecord
		if err := b.next(&rec); err != nil {
			return State{}, err
		}
		held, err := rec.held(b.intern)
		if err != nil {
			return State{}, err
		}
		s.Addrs = append(s.Addrs, held)
	}
	for range h.Damaged {
		var rec damageRecord
		if err := b.next(&rec); err != nil {
			return State{}, err
		}
		s.Damaged = append(s.Damaged, rec.damage())
	}
	shareOwners(s)
	return s, b.end()
}

// header reads the first line, of which an older version must understand only
// that it is newer.
func (b *backupReader) header() (h headerRecord, err error) {
	b.lines = 1
	line, err := b.line()
	if err != nil {
		return h, err
	}
	var kind struct {
		Meshvip string
		Version int
	}
	switch err := json.Unmarshal(line, &kind); {
	case err != nil || kind.Meshvip != "backup" || kind.Version < 1:
		return h, errors.New("it is no backup of meshvip")
	case kind.Version > BackupVersion:
		return h, fmt.Errorf("%w: version %d, this version knows %d", ErrNewer, kind.Version, BackupVersion)
	}
	b.sum.Write(line)
	if err = json.Unmarshal(line, &h); err == nil && min(h.Meshes, h.Rows, h.Addresses, h.Damaged) < 0 {
		err = errors.New("it counts less than none")
	}
	return h, err
}

// end reads the last line, and that nothing follows.
func (b *backupReader) end() error {
	want, err := json.Marshal(sumRecord{SHA256: hex.EncodeToString(b.sum.Sum(nil))})
	if err != nil {
		return err
	}
	b.lines++
	line, err := b.line()
	if err != nil {
		return err
	}
	if !bytes.Equal(line, append(want, '\n')) {
		return errors.New("the lines before it do not match its SHA-256: somebody has changed them, or the disk")
	}
	switch _, err := b.in.ReadByte(); {
	case err == nil:
		b.lines++
		return errors.New("something follows the end")
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("%w: %w", errRead, err)
	}
	return nil
}

// intern returns one string for equal texts, of those that recur.
func (b *backupReader) intern(t record.Text) string {
	s, ok := b.texts[t]
	if !ok {
		s = string(t)
		b.texts[t] = s
	}
	return s
}

// shareOwners lets the owners of addresses have the texts of their rows.
func shareOwners(s State) {
	for i := range s.Addrs {
		h := &s.Addrs[i]
		j, ok := slices.BinarySearchFunc(s.Rows, h.Owner, func(r *vip.Row, k vip.Key) int { return r.Key().Compare(k) })
		if ok && s.Rows[j].Entry == vip.Entry(h.Owner) {
			h.Owner = vip.Key(s.Rows[j].Entry)
		}
	}
}
