package etcdstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator"
	"github.com/meshvip/coredns-meshvip/allocator/record"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// errNone: there is no table.
var errNone error = noTable{}

type noTable struct{}

func (noTable) Error() string { return "there is no table" }

// Is lets callers of Read ask for an error that they know.
func (noTable) Is(target error) bool { return target == fs.ErrNotExist }

// look reads what the table says of itself, linearizably, and etcd's revision.
// none: there is no table.
func (s *Store) look(ctx context.Context) (m metaRecord, p position, etcd int64, none bool, err error) {
	m, p, header, err := s.readMeta(ctx)
	if errors.Is(err, errNone) {
		none, err = true, nil
	}
	return m, p, header.GetRevision(), none, err
}

// readMeta is look with an error that wraps errNone.
func (s *Store) readMeta(ctx context.Context) (metaRecord, position, *pb.ResponseHeader, error) {
	resp, err := s.ask(ctx,
		clientv3.OpGet(s.prefix+keyFormat), clientv3.OpGet(s.prefix+keyImport),
		clientv3.OpGet(s.prefix+keyMeta), clientv3.OpGet(s.prefix+keySerial))
	if err != nil {
		return metaRecord{}, position{}, nil, err
	}
	m, p, err := openMeta(one(resp.Responses[0]), one(resp.Responses[1]), one(resp.Responses[2]), one(resp.Responses[3]))
	return m, p, resp.Header, err
}

// askAgain is the pause before etcd is asked again.
const askAgain = 50 * time.Millisecond

// ask reads keys at once, linearizably. While etcd elects a leader of its own, or
// a member of it ends, it asks again: the client does so by itself for single
// reads only.
func (s *Store) ask(ctx context.Context, gets ...clientv3.Op) (*clientv3.TxnResponse, error) {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	var last error
	for {
		resp, err := s.client.Txn(ctx).Then(gets...).Commit()
		switch {
		case err == nil:
			return resp, nil
		case ctx.Err() != nil:
			return nil, errors.Join(ctx.Err(), last)
		case !unavailable(err):
			return nil, err
		}
		last = err
		select {
		case <-ctx.Done():
		case <-time.After(askAgain):
		}
	}
}

// unavailable reports whether an error says that etcd cannot answer now.
func unavailable(err error) bool {
	var known rpctypes.EtcdError
	return status.Code(err) == codes.Unavailable || errors.As(err, &known) && known.Code() == codes.Unavailable
}

// one returns the key that a read of one found, or nil.
func one(r *pb.ResponseOp) *mvccpb.KeyValue {
	if kvs := r.GetResponseRange().GetKvs(); len(kvs) > 0 {
		return kvs[0]
	}
	return nil
}

// openMeta makes a meta of the keys that stand before a table; nil is a key that
// is not there. The serial stands in it.
func openMeta(format, marker, meta, serial *mvccpb.KeyValue) (metaRecord, position, error) {
	if format != nil {
		if err := checkFormat(format.Value); err != nil {
			return metaRecord{}, position{}, err
		}
	}
	switch {
	case marker != nil:
		return metaRecord{}, position{}, ErrImport
	case format == nil && meta == nil:
		return metaRecord{}, position{}, errNone
	case format == nil:
		return metaRecord{}, position{}, fmt.Errorf("%w: key %s is missing", allocator.ErrDamaged, keyFormat)
	case meta == nil:
		return metaRecord{}, position{}, fmt.Errorf("%w: key %s is missing", allocator.ErrDamaged, keyMeta)
	}
	m, p, err := decodeMeta(meta.Value, meta.ModRevision)
	if err != nil {
		return metaRecord{}, position{}, fmt.Errorf("%w: key %s: %w", allocator.ErrDamaged, keyMeta, err)
	}
	switch {
	case serial != nil:
		m.Serial, err = decodeSerial(serial.Value)
	case p.rev > 0:
		err = errors.New("it is missing")
	}
	if err != nil {
		return metaRecord{}, position{}, fmt.Errorf("%w: key %s: %w", allocator.ErrDamaged, keySerial, err)
	}
	return m, p, nil
}

// begun is readMeta that begins a table where there is none.
func (s *Store) begun(ctx context.Context) (metaRecord, position, *pb.ResponseHeader, error) {
	m, p, header, err := s.readMeta(ctx)
	if !errors.Is(err, errNone) {
		return m, p, header, err
	}
	if err := s.initialise(ctx); err != nil {
		return m, p, header, err
	}
	return s.readMeta(ctx)
}

// initialise makes an empty table, unless somebody else does.
func (s *Store) initialise(ctx context.Context) error {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	key := func(name string) string { return s.prefix + name }
	// All keys but those of an election, which may begin before there is a table.
	before, err := s.client.Get(ctx, s.prefix, clientv3.WithRange(key(keyLeader)), clientv3.WithLimit(1), clientv3.WithKeysOnly())
	if err != nil {
		return err
	}
	after, err := s.client.Get(ctx, clientv3.GetPrefixRangeEnd(key(keyLeader)), clientv3.WithRange(clientv3.GetPrefixRangeEnd(s.prefix)),
		clientv3.WithLimit(1), clientv3.WithKeysOnly())
	if err != nil {
		return err
	}
	for _, kv := range append(before.Kvs, after.Kvs...) {
		switch name := string(kv.Key[len(s.prefix):]); name {
		case keyFormat, keyMeta, keyImport: // somebody else has begun since
		default:
			return fmt.Errorf("%w: there are keys of that prefix, such as %q, and key %s is missing", allocator.ErrDamaged, kv.Key, keyMeta)
		}
	}
	m := metaRecord{Meta: record.Meta{ID: record.Text(rand.Text())}, Commit: rand.Text()}
	_, err = s.client.Txn(ctx).If(absent(key(keyFormat)), absent(key(keyImport)), absent(key(keyMeta))).
		Then(clientv3.OpPut(key(keyFormat), encode(formatRecord{formatVersion})), clientv3.OpPut(key(keyMeta), encode(m))).Commit()
	return err
}

// absent compares a key with none.
func absent(key string) clientv3.Cmp { return clientv3.Compare(clientv3.CreateRevision(key), "=", 0) }
