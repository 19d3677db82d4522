package etcdstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/meshvip/coredns-meshvip/allocator"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// errForeign: somebody has changed keys of the table who is no replica.
var errForeign = errors.New("somebody else has written to the table")

// decodeTxn makes a patch of the events of one transaction, those of elections
// left out, and says where the table is after it.
func decodeTxn(prefix string, events []*clientv3.Event) (allocator.Patch, position, error) {
	d := patchDecoder{prefix: prefix, texts: make(texts)}
	for _, e := range events {
		if e == nil || e.Kv == nil {
			return allocator.Patch{}, position{}, fmt.Errorf("%w: an event has no key", errForeign)
		}
		if err := d.event(e); err != nil {
			return allocator.Patch{}, position{}, fmt.Errorf("key %q: %w", e.Kv.Key, err)
		}
	}
	switch {
	case d.at.meta == nil:
		return allocator.Patch{}, position{}, fmt.Errorf("%w: without key %s", errForeign, keyMeta)
	case d.serial == 0:
		return allocator.Patch{}, position{}, fmt.Errorf("%w: without key %s", errForeign, keySerial)
	case d.at.rev == 0:
		return allocator.Patch{}, position{}, fmt.Errorf("%w: the table was begun anew", errForeign)
	}
	d.patch.Base, d.patch.Meta.Serial = d.at.rev-1, d.serial
	slices.Sort(d.patch.MeshesNew)
	slices.Sort(d.patch.MeshesGone)
	return d.patch, d.at, nil
}

type patchDecoder struct {
	prefix string
	texts  texts
	patch  allocator.Patch
	at     position
	serial uint32
}

func (d *patchDecoder) event(e *clientv3.Event) error {
	rel, ok := strings.CutPrefix(string(e.Kv.Key), d.prefix)
	if !ok {
		return errForeign
	}
	p, err := parseKey(rel)
	if err != nil {
		return fmt.Errorf("%w: %w", errForeign, err)
	}
	d.at.wrote = append(d.at.wrote, string(e.Kv.Key))
	gone := e.Type == clientv3.EventTypeDelete
	switch p.in {
	case keyAddresses:
		c := allocator.AddrPatch{Addr: p.addr}
		if !gone {
			h, err := decodeHolding(e.Kv.Value, d.texts)
			if err != nil {
				return fmt.Errorf("%w: %w", errForeign, err)
			}
			c.Holding = &h
		}
		d.patch.Addrs = append(d.patch.Addrs, c)
	case keyEntries:
		c := allocator.RowPatch{Key: p.key, Gone: gone}
		if !gone {
			if c.V4, c.V6, err = decodeEntry(e.Kv.Value); err != nil {
				return fmt.Errorf("%w: %w", errForeign, err)
			}
		}
		d.patch.Rows = append(d.patch.Rows, c)
	case keyMeshes:
		return d.mesh(p, e.Kv.Value, gone)
	case keyMeta:
		if gone {
			return fmt.Errorf("%w: the table was deleted", errForeign)
		}
		return d.meta(e)
	case keySerial:
		if !gone {
			if d.serial, err = decodeSerial(e.Kv.Value); err == nil {
				return nil
			}
		}
		return errForeign
	case keyFormat:
		if gone {
			return errForeign
		}
		if err := checkFormat(e.Kv.Value); err != nil {
			return err
		}
		return fmt.Errorf("%w: the table was begun anew", errForeign)
	default:
		return errForeign
	}
	return nil
}

func (d *patchDecoder) mesh(p place, value []byte, gone bool) error {
	switch {
	case p.listing():
		c := allocator.ListingPatch{Key: p.key, Mesh: p.mesh}
		if !gone {
			l, err := decodeListing(value, p.mesh, p.key.Name, d.texts)
			if err != nil {
				return fmt.Errorf("%w: %w", errForeign, err)
			}
			c.Listing = &l
		}
		d.patch.Listings = append(d.patch.Listings, c)
	case gone:
		d.patch.MeshesGone = append(d.patch.MeshesGone, p.mesh)
	default:
		if err := decodeMesh(value, p.mesh); err != nil {
			return fmt.Errorf("%w: %w", errForeign, err)
		}
		d.patch.MeshesNew = append(d.patch.MeshesNew, p.mesh)
	}
	return nil
}

func (d *patchDecoder) meta(e *clientv3.Event) error {
	m, at, err := decodeMeta(e.Kv.Value, e.Kv.ModRevision)
	if err == nil {
		d.patch.Meta, err = allocator.MetaOf(m.Meta)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errForeign, err)
	}
	at.wrote = d.at.wrote
	d.at = at
	return nil
}
