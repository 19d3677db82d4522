package etcdstore

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"net/netip"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/record"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// transaction is a delta on its way to etcd.
type transaction struct {
	prefix string
	delta  allocator.Delta
	at     position // what it is made on
	then   position // what the table is at afterwards
	fence  *fence
	// ifs compare the fence, the meta and then addrs, in this order; elses read
	// the same keys, to tell which of them it was.
	ifs   []clientv3.Cmp
	elses []clientv3.Op
	addrs []netip.Addr
	ops   []clientv3.Op
	wrote []string
}

// transaction makes the transaction of a delta. held says when the addresses that
// somebody has, or had, were written. s is locked.
func (s *Store) transaction(d allocator.Delta, f *fence, at position, held map[netip.Addr]int64) (*transaction, error) {
	was, _, err := decodeMeta(at.meta, at.modRev)
	if err != nil {
		return nil, err
	}
	m := was.next(d.Meta, f.term, rand.Text(), s.cooldownNow())
	m.Reconciling = s.reconciling.Load()
	meta := encode(m)
	_, then, err := decodeMeta([]byte(meta), 0)
	if err != nil {
		return nil, fmt.Errorf("the meta cannot be written: %w", err)
	}
	t := &transaction{prefix: s.prefix, delta: d, at: at, then: then, fence: f}
	t.ifs = append(t.ifs, clientv3.Compare(clientv3.CreateRevision(f.key), "=", f.rev),
		clientv3.Compare(clientv3.Value(s.prefix+keyMeta), "=", string(at.meta)))
	t.elses = append(t.elses, clientv3.OpGet(f.key), clientv3.OpGet(s.prefix+keyMeta))
	t.put(keyMeta, meta)
	t.put(keySerial, encode(serialRecord{d.Meta.Serial}))
	t.addresses(d.Addrs, held)
	for _, name := range d.MeshesNew {
		t.put(meshKey(name), encode(meshRecord{record.Text(name)}))
	}
	for _, c := range d.Rows {
		t.row(c)
	}
	for _, name := range d.MeshesGone {
		t.delete(meshKey(name))
	}
	t.purge(s.aside.with(d))
	return t, nil
}

func (t *transaction) put(key, value string) {
	key = t.prefix + key
	t.ops, t.wrote = append(t.ops, clientv3.OpPut(key, value)), append(t.wrote, key)
}

func (t *transaction) delete(key string) {
	key = t.prefix + key
	t.ops, t.wrote = append(t.ops, clientv3.OpDelete(key)), append(t.wrote, key)
}

// addresses writes the address keys, each only if it still says what the plan was
// made on. This is what makes an address unique.
func (t *transaction) addresses(changes []allocator.AddrChange, held map[netip.Addr]int64) {
	for _, c := range changes {
		key := t.prefix + addressKey(c.Addr)
		if c.Old == nil {
			t.ifs = append(t.ifs, absent(key))
		} else {
			t.ifs = append(t.ifs, clientv3.Compare(clientv3.ModRevision(key), "=", held[c.Addr]))
		}
		t.elses = append(t.elses, clientv3.OpGet(key, clientv3.WithKeysOnly()))
		t.addrs = append(t.addrs, c.Addr)
		if c.New == nil {
			t.delete(addressKey(c.Addr))
		} else {
			t.put(addressKey(c.Addr), encode(allocator.HoldingRecord(*c.New)))
		}
	}
}

// row writes what differs between two versions of a row.
func (t *transaction) row(c allocator.RowChange) {
	switch {
	case c.New == nil:
		t.delete(entryKey(c.Key))
	case c.Old == nil || c.Old.V4 != c.New.V4 || c.Old.V6 != c.New.V6:
		t.put(entryKey(c.Key), encode(entryRecord{c.New.V4, c.New.V6}))
	}
	for mesh, now := range c.Listings() {
		if now == nil {
			t.delete(listingKey(mesh, c.Key))
		} else {
			t.put(listingKey(mesh, c.Key), encode(record.ListingOf(*now)))
		}
	}
}

// purge deletes as many keys as there is room for, but those that are written.
func (t *transaction) purge(keys []string) {
	if len(keys) == 0 {
		return
	}
	wrote := make(map[string]bool, len(t.wrote))
	for _, key := range t.wrote {
		wrote[key] = true
	}
	for _, key := range keys {
		if len(t.ops) < maxKeys && !wrote[key] {
			t.ops, t.wrote = append(t.ops, clientv3.OpDelete(key)), append(t.wrote, key)
		}
	}
}

// refused says why etcd has refused the transaction. Where it has not, but did
// what it was asked twice, it says when it was written.
func (t *transaction) refused(resp *clientv3.TxnResponse) (modRev int64, err error) {
	meta := one(resp.Responses[1])
	if meta != nil && bytes.Equal(meta.Value, t.then.meta) {
		return meta.ModRevision, nil
	}
	if leader := one(resp.Responses[0]); leader == nil || leader.CreateRevision != t.fence.rev {
		return 0, fmt.Errorf("this replica is the leader no more: %w", allocator.ErrFollows)
	}
	if meta == nil {
		return 0, fmt.Errorf("the table has gone: %w", allocator.ErrConflict)
	}
	if !bytes.Equal(meta.Value, t.at.meta) {
		_, now, err := decodeMeta(meta.Value, meta.ModRevision)
		if err != nil {
			return 0, fmt.Errorf("key %s: %w: %w", keyMeta, err, allocator.ErrConflict)
		}
		return 0, fmt.Errorf("it is at revision %d of commit %s, want %d of %s: %w", now.rev, now.commit, t.at.rev, t.at.commit, allocator.ErrConflict)
	}
	for i, addr := range t.addrs {
		if kv := one(resp.Responses[2+i]); kv != nil {
			err = fmt.Errorf("address %v, or another, has changed hands: %w", addr, allocator.ErrConflict)
			break
		}
	}
	if err == nil {
		err = allocator.ErrConflict
	}
	return 0, err
}
