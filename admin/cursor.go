package admin

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// cursor is a place between two changes. The revision says it exactly. A serial
// alone means: after all that has it, for a commit that no query can see raises
// the revision only.
type cursor struct {
	serial   uint32
	revision uint64 // anyRevision: it is not said
}

const anyRevision = math.MaxUint64

// parseCursor reads "SERIAL" or "SERIAL.REVISION".
func parseCursor(s string) (cursor, error) {
	text, revision, exact := strings.Cut(s, ".")
	serial, err := strconv.ParseUint(text, 10, 32)
	c := cursor{uint32(serial), anyRevision}
	if err == nil && exact {
		c.revision, err = strconv.ParseUint(revision, 10, 64)
	}
	if err != nil {
		return cursor{}, fmt.Errorf("%.40q is not a serial, or the id of a change (SERIAL.REVISION)", s)
	}
	return c, nil
}

// String returns c as parseCursor reads it.
func (c cursor) String() string {
	if c.revision == anyRevision {
		return strconv.FormatUint(uint64(c.serial), 10)
	}
	return fmt.Sprintf("%d.%d", c.serial, c.revision)
}

// before reports whether a change with the exact cursor o comes after c.
func (c cursor) before(o cursor) bool {
	if c.revision == anyRevision {
		return c.serial < o.serial
	}
	return c.revision < o.revision
}
