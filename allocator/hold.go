package allocator

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"

	"github.com/meshvip/coredns-meshvip/vip"
)

// Limit is how many entries may be released at once without somebody's word
// for it. The zero Limit is the default: the greater of 10 entries and 10 %,
// and no mesh that has entries.
type Limit struct {
	// Stated: the operator has named the limit, so that a mesh may go with its
	// entries where it allows as many.
	Stated bool
	// N is a number of entries, or a percentage where Percent is true.
	N       int
	Percent bool
}

// ParseLimit reads "N" or "N%".
func ParseLimit(s string) (Limit, error) {
	digits, percent := strings.CutSuffix(s, "%")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 || percent && n > 100 || strings.HasPrefix(digits, "+") {
		return Limit{}, fmt.Errorf("%q is not a number of entries (50) or a percentage (20%%)", s)
	}
	return Limit{Stated: true, N: n, Percent: percent}, nil
}

// String returns the limit as ParseLimit reads it, or the default in words.
func (l Limit) String() string {
	switch {
	case !l.Stated:
		return "the greater of 10 and 10%"
	case l.Percent:
		return strconv.Itoa(l.N) + "%"
	}
	return strconv.Itoa(l.N)
}

// allows reports whether n of total entries may be released at once.
func (l Limit) allows(n, total int) bool {
	switch {
	case !l.Stated:
		return n <= max(10, total/10)
	case l.Percent:
		return n*100 <= total*l.N
	}
	return n <= l.N
}

// Held releases are what sources no longer list, and the table keeps all the
// same: too many at once, or drawn from a source that is not whole.
type heldBack map[string]*meshHold // by mesh

// meshHold is what is held of one mesh.
type meshHold struct {
	gone bool // the mesh itself
	keys map[vip.Key]struct{}
}

// Hold is one mesh's held releases, for reports.
type Hold struct {
	// Name is a digest of what is held: the mesh, whether it is gone, and the
	// entries. Another hold has another name.
	Name    string
	Mesh    string
	Gone    bool // the whole mesh is no longer declared
	Entries []vip.Key
	Reason  string
}

// name returns the name of the hold of mesh on keys, which are sorted.
func (h *meshHold) name(mesh string, keys []vip.Key) string {
	digest := sha256.New()
	fmt.Fprintf(digest, "%q %v\n", mesh, h.gone)
	var line []byte
	for _, k := range keys {
		line = append(strconv.AppendQuote(line[:0], k.String()), '\n')
		digest.Write(line)
	}
	return fmt.Sprintf("%x", digest.Sum(nil)[:6])
}

// drops are the releases that a batch asks for, by mesh, with those that were
// held before.
type drops map[string]*meshHold

// of returns the drops of mesh, made on first use.
func (d drops) of(mesh string) *meshHold {
	h := d[mesh]
	if h == nil {
		h = &meshHold{keys: make(map[vip.Key]struct{})}
		d[mesh] = h
	}
	return h
}

// judge splits the wanted drops of a batch into those that may go and those
// that are held, each hold with its reason.
func judge(t *table, want drops, incomplete string, limit Limit) (allowed drops, held heldBack, reasons map[string]string) {
	allowed, held, reasons = make(drops), make(heldBack), make(map[string]string)
	hold := func(mesh, reason string) {
		held[mesh] = want[mesh]
		reasons[mesh] = reason
		delete(allowed, mesh)
	}
	all := 0
	for mesh, h := range want {
		n, total := len(h.keys), len(t.meshes[mesh])
		switch {
		case n == 0 && !h.gone:
		case n == 0:
			if incomplete != "" {
				hold(mesh, "the source could not be read completely: "+incomplete)
			} else {
				allowed[mesh] = h
			}
		case incomplete != "":
			hold(mesh, "the source could not be read completely: "+incomplete)
		case h.gone && !limit.Stated:
			hold(mesh, fmt.Sprintf("mesh %q would go with its %d entries", mesh, n))
		case !limit.allows(n, total):
			hold(mesh, fmt.Sprintf("%d of the %d entries of mesh %q would be released, max_release is %v", n, total, mesh, limit))
		default:
			allowed[mesh] = h
			all += n
		}
	}
	if !limit.allows(all, t.listed) {
		for mesh := range allowed {
			if len(allowed[mesh].keys) > 0 {
				hold(mesh, fmt.Sprintf("%d of all %d entries would be released at once, max_release is %v", all, t.listed, limit))
			}
		}
	}
	return allowed, held, reasons
}
