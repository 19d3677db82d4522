package etcdstore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/record"
	"github.com/meshvip/coredns-meshvip/vip"
)

// formatVersion is the version of keys and values. A store of a higher one is
// refused.
const formatVersion = 1

type (
	formatRecord struct {
		Format int `json:"format"`
	}
	serialRecord struct {
		Serial uint32 `json:"serial"`
	}
	entryRecord struct {
		V4 netip.Addr `json:"v4,omitzero"`
		V6 netip.Addr `json:"v6,omitzero"`
	}
	meshRecord struct {
		Mesh record.Text `json:"mesh"`
	}
	importRecord struct {
		Import string `json:"import"` // a random name of this attempt
	}
)

// encode writes a value. None of the records has anything that JSON has not.
func encode(rec any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(rec); err != nil {
		panic(fmt.Sprintf("etcdstore: writing %T: %v", rec, err))
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// errObject: a value is not even a JSON object.
var errObject = errors.New("the value is no JSON object")

// decode reads a value.
func decode(value []byte, rec any) error {
	if v := bytes.TrimLeft(value, " \t\r\n"); len(v) == 0 || v[0] != '{' {
		return errObject
	}
	return json.Unmarshal(value, rec)
}

// checkFormat refuses a store of a newer format.
func checkFormat(value []byte) error {
	var rec formatRecord
	switch err := decode(value, &rec); {
	case err != nil:
		return fmt.Errorf("%w: key %s: %w", allocator.ErrDamaged, keyFormat, err)
	case rec.Format > formatVersion:
		return fmt.Errorf("%w: format %d, this version knows %d", allocator.ErrNewer, rec.Format, formatVersion)
	case rec.Format < 1:
		return fmt.Errorf("%w: there is no format %d", allocator.ErrDamaged, rec.Format)
	}
	return nil
}

func decodeSerial(value []byte) (uint32, error) {
	var rec serialRecord
	err := decode(value, &rec)
	if err == nil && rec.Serial == 0 {
		err = errors.New("there is no serial 0")
	}
	return rec.Serial, err
}

func decodeEntry(value []byte) (v4, v6 netip.Addr, err error) {
	scan := scanner{b: value}
	rec, ok := scan.entry()
	if !ok {
		rec = entryRecord{}
		if err := decode(value, &rec); err != nil {
			return v4, v6, err
		}
	}
	if rec.V4.IsValid() && !rec.V4.Is4() || rec.V6.IsValid() && !rec.V6.Is6() || rec.V6.Zone() != "" {
		return v4, v6, fmt.Errorf("addresses %v and %v are of the wrong families", rec.V4, rec.V6)
	}
	return rec.V4, rec.V6, nil
}

func decodeHolding(value []byte, in texts) (allocator.Holding, error) {
	scan := scanner{b: value, texts: in}
	rec, ok := scan.holding()
	if !ok {
		rec = record.Holding{}
		if err := decode(value, &rec); err != nil {
			return allocator.Holding{}, err
		}
	}
	return allocator.HoldingOf(rec, in.intern)
}

// decodeListing reads what mesh says of the entry called name, as its key has it.
func decodeListing(value []byte, mesh, name string, in texts) (vip.Listing, error) {
	scan := scanner{b: value, texts: in, known: name}
	rec, ok := scan.listing()
	if !ok {
		rec = record.Listing{}
		if err := decode(value, &rec); err != nil {
			return vip.Listing{}, err
		}
	}
	l := rec.In(mesh, name, in.intern)
	if vip.Fold(l.Name) != name {
		return vip.Listing{}, fmt.Errorf("the entry is spelled %q", l.Name)
	}
	return l, nil
}

// decodeMesh reads the value of a mesh's own key.
func decodeMesh(value []byte, mesh string) error {
	var rec meshRecord
	err := decode(value, &rec)
	if err == nil && string(rec.Mesh) != mesh {
		err = fmt.Errorf("it is said to be of mesh %q", rec.Mesh)
	}
	return err
}

// texts gives equal texts one string, for those that recur.
type texts map[record.Text]string

func (t texts) intern(text record.Text) string {
	s, ok := t[text]
	if !ok {
		s = string(text)
		t[text] = s
	}
	return s
}
