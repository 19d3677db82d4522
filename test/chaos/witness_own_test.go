package chaos

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/allocator/record"
	"github.com/meshvip/coredns-meshvip/test/etcdtest"
	"github.com/meshvip/coredns-meshvip/vip"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// table writes a table as replicas do, as far as the witness looks.
type table struct {
	t        *testing.T
	client   *clientv3.Client
	revision uint64
}

func (b *table) write(addr string, h record.Holding) {
	b.t.Helper()
	b.revision++
	put := func(key string, value any) clientv3.Op {
		v, err := json.Marshal(value)
		if err != nil {
			b.t.Fatal(err)
		}
		return clientv3.OpPut(prefix+key, string(v))
	}
	if _, err := b.client.Txn(b.t.Context()).Then(
		put("meta", record.Meta{ID: "id", Revision: b.revision, Clock: time.Duration(b.revision)}),
		put("serial", map[string]uint64{"serial": 100 + b.revision}),
		put("addresses/"+addr, h),
	).Commit(); err != nil {
		b.t.Fatal(err)
	}
}

func TestTheWitnessSeesEachTransactionOverRestartsAndRestores(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t)
	client := etcd.Client(t)
	h := newHistory(time.Minute, time.Second, nil)
	w := newWitness(t, h, client, prefix)
	w.watch(1)
	b := &table{t: t, client: client}
	owner := record.KeyOf(vip.Entry{Name: "a_b"})

	before := h.now()
	b.write("240.0.0.1", record.Holding{Owner: owner})
	after := h.now()
	b.write("240.0.0.1", record.Holding{Owner: owner, Released: true, At: 2})
	w.caughtUp()
	snapshot := etcd.Snapshot(t)
	b.write("240.0.0.2", record.Holding{Owner: owner})
	etcd.Kill()
	etcd.Restart()
	b.write("240.0.0.3", record.Holding{Owner: owner})
	w.caughtUp()
	w.rest()
	etcd.Restore(t, snapshot)
	at, err := client.Get(t.Context(), "none")
	if err != nil {
		t.Fatal(err)
	}
	w.restored(at.Header.Revision)
	b.write("240.0.0.4", record.Holding{Owner: owner})
	w.caughtUp()
	w.rest()

	var got []string
	for _, x := range h.txns {
		for _, c := range x.changes {
			got = append(got, fmt.Sprintf("%d %d %d %v %s %v %d", x.epoch, x.revision, x.serial, c.addr, c.owner, c.released, c.at))
		}
		if x.lo > x.hi {
			t.Errorf("%v took place before it could have", x)
		}
	}
	want := []string{
		"0 1 101 240.0.0.1 a.b false 0",
		"0 2 102 240.0.0.1 a.b true 2",
		"0 3 103 240.0.0.2 a.b false 0",
		"0 4 104 240.0.0.3 a.b false 0",
		"1 5 105 240.0.0.4 a.b false 0",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("saw\n%v\nwant\n%v", got, want)
	}
	if first := h.txns[0]; first.lo > after || first.hi < before {
		t.Errorf("%v took place between %v and %v", first, before, after)
	}
	if has := h.owners(); has[netip.MustParseAddr("240.0.0.3")] != "a.b" {
		t.Errorf("the addresses are %v", has)
	}
}
