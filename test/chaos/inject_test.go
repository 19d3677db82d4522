package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/test/etcdtest"
	"github.com/miekg/dns"
)

// injector does harm to a cluster, one thing at a time or several.
type injector struct {
	*cluster
	t   testing.TB
	rnd *rand.Rand
	// settled: after each fault it waits until all is well.
	settled bool
	count   map[string]int // of faults, by kind
}

func newInjector(c *cluster, seed uint64) *injector {
	return &injector{cluster: c, t: c.t, rnd: rand.New(rand.NewPCG(seed, 2)), settled: true, count: make(map[string]int)}
}

// injection is a kind of fault.
type injection struct {
	kind string
	do   func(*injector)
}

// injections are kinds of all forms. Each leaves nothing broken behind.
var injections = []injection{
	{"kill a replica", (*injector).kill},
	{"end a replica", (*injector).terminate},
	{"stop the leader for longer than its lease", (*injector).freezeLeader},
	{"stop a follower", (*injector).freezeFollower},
	{"cut a replica off", (*injector).cut},
	{"cut a replica off for as long as it may answer", (*injector).cutForLong},
	{"let a replica's network stall", (*injector).blackhole},
	{"lose the replies to a replica", (*injector).dropReplies},
	{"revoke the leader's lease", (*injector).revoke},
	{"compact", (*injector).compact},
	{"defragment", (*injector).defragment},
	{"kill etcd", (*injector).killEtcd},
	{"stop etcd", (*injector).freezeEtcd},
	{"restore a snapshot of etcd", (*injector).restore},
	{"restore a snapshot of etcd of before a leader lost its replies", (*injector).restoreUnheard},
	{"reload with a changed option", (*injector).reload},
	{"two faults at once", (*injector).overlap},
}

// forLong are kinds that are for the long form, because they take so long; a test of
// its own has them beside (wakes_test.go).
var forLong = []injection{
	{"stop a replica for longer than the cooldown", (*injector).freezeForLong},
}

// inject does one kind of harm, notes it, and waits until it is got over.
func (i *injector) inject(in injection) {
	i.t.Helper()
	i.count[in.kind]++
	begun := i.h.now()
	i.t.Logf("%8.3fs %s", begun.Seconds(), in.kind)
	in.do(i)
	healed := i.h.now()
	if i.settled {
		i.healthy()
		i.t.Logf("%8.3fs healed, and %.3fs later all is well", healed.Seconds(), (i.h.now() - healed).Seconds())
	}
}

// victim returns any replica: the leader as often as all others together.
func (i *injector) victim() *replica {
	if i.rnd.IntN(2) == 0 {
		return i.leader()
	}
	return i.replicas[i.rnd.IntN(len(i.replicas))]
}

// sleep lets a fault last. It is no wait for anything: longer is only more harm.
func (i *injector) sleep(least, most time.Duration) {
	<-time.After(least + time.Duration(i.rnd.Int64N(int64(most-least))))
}

func (i *injector) kill() {
	r := i.victim()
	healed := i.h.harm("kill", r.n, true)
	r.kill()
	i.sleep(0, 2*lease)
	r.start()
	i.answers(r)
	healed()
}

func (i *injector) terminate() {
	r := i.victim()
	healed := i.h.harm("end", r.n, true)
	r.stop()
	i.sleep(0, lease)
	r.start()
	i.answers(r)
	healed()
}

func (i *injector) freezeLeader() {
	i.freezeReplica(i.leader())
}

func (i *injector) freezeFollower() {
	leader := i.leader()
	i.freezeReplica(i.replicas[(leader.n+1)%len(i.replicas)])
}

// freezeForLong stops a replica until others may have the addresses that it knows.
func (i *injector) freezeForLong() {
	i.freezeFor(i.victim(), i.h.cooldown, i.h.cooldown+3*lease)
}

// freezeReplica stops a replica for longer than the lease; the others elect
// another, and what this one was about to write when it goes on must not count.
func (i *injector) freezeReplica(r *replica) {
	i.freezeFor(r, lease+lease/2, 3*lease)
}

func (i *injector) freezeFor(r *replica, least, most time.Duration) {
	healed := i.h.harm("stop", r.n, true)
	r.freeze()
	i.sleep(least, most)
	r.thaw()
	healed()
}

func (i *injector) cut() {
	i.broken("cut", (*etcdtest.Proxy).Cut)
}

func (i *injector) blackhole() {
	i.broken("stall", (*etcdtest.Proxy).Blackhole)
}

func (i *injector) dropReplies() {
	i.broken("lose replies", (*etcdtest.Proxy).DropReplies)
}

// broken breaks the network of a replica for a while.
func (i *injector) broken(kind string, by func(*etcdtest.Proxy)) {
	r := i.victim()
	healed := i.h.harm(kind, r.n, false)
	r.network(by)
	i.sleep(lease/2, 3*lease)
	r.network((*etcdtest.Proxy).Heal)
	healed()
}

// breaks are the ways in which a network breaks.
var breaks = []func(*etcdtest.Proxy){(*etcdtest.Proxy).Cut, (*etcdtest.Proxy).Blackhole, (*etcdtest.Proxy).DropReplies}

// cutForLong cuts a replica off until it refuses to answer.
func (i *injector) cutForLong() {
	r := i.victim()
	healed := i.h.harm("cut", r.n, false)
	r.network(breaks[i.rnd.IntN(len(breaks))])
	i.refuses(r)
	r.network((*etcdtest.Proxy).Heal)
	healed()
}

// refuses waits until a replica answers that it does not know.
func (i *injector) refuses(r *replica) {
	eventually(i.t, fmt.Sprintf("replica %d to refuse to answer", r.n), func() bool {
		_, rcode := r.addr4(i.h.stable[0])
		return rcode == dns.RcodeServerFailure
	})
}

func (i *injector) reload() {
	r := i.victim()
	healed := i.h.harm("reload", r.n, false)
	r.reload()
	healed()
}

// overlap breaks something while a replica cannot reach etcd.
func (i *injector) overlap() {
	r := i.victim()
	healed := i.h.harm("cut", r.n, false)
	r.network(breaks[i.rnd.IntN(len(breaks))])
	i.sleep(0, lease)
	switch i.rnd.IntN(5) {
	case 0:
		i.killEtcd()
	case 1:
		i.freezeEtcd()
	case 2:
		i.revoke()
		i.compact()
	default:
		i.freezeReplica(i.replicas[(r.n+1)%len(i.replicas)])
	}
	r.network((*etcdtest.Proxy).Heal)
	healed()
}

// within bounds what the injector asks of etcd.
func (i *injector) within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), patience)
}
