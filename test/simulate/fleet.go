package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/meshvip/coredns-meshvip/vip"
)

const (
	// perMesh is how many services a mesh has unless the flags say otherwise.
	perMesh = 100
	// mostServices keeps the numbers of services within 32 bits.
	mostServices = 50_000_000
	// meanChange and mostChange are how many services one change of a mesh takes
	// away, on average and at most; as many come with it.
	meanChange, mostChange = 3, 10
)

// fleet is what the sources list: meshes with services, which come and go. It
// knows nothing of addresses, and is what the table is held to.
type fleet struct {
	r       *rand.Rand
	returns float64
	// cooldown is how long ago a service is gone recently.
	cooldown time.Duration
	meshes   []fleetMesh
	live     int
	services uint32 // how many there ever were
	named    int    // how many meshes there ever were
	gone     ledger
	// tally counts what happened since it was last reset.
	tally tally
}

type fleetMesh struct {
	name string
	live []uint32 // numbers of services
}

// tally counts services that went, that came for the first time, and that came back
// within the cooldown and after it.
type tally struct{ went, fresh, soon, late int }

func (t tally) came() int { return t.fresh + t.soon + t.late }

func (t *tally) add(o tally) {
	t.went += o.went
	t.fresh += o.fresh
	t.soon += o.soon
	t.late += o.late
}

// newFleet returns a fleet without meshes.
func newFleet(s settings) *fleet {
	return &fleet{r: rand.New(rand.NewPCG(s.Seed, uint64(s.Entries))), returns: s.Returns, cooldown: s.Cooldown}
}

// begin returns the first batch: all services, spread over the meshes.
func (f *fleet) begin(entries, meshes int) vip.Batch {
	b := vip.Batch{Full: true}
	for i := range meshes {
		n := entries*(i+1)/meshes - entries*i/meshes
		b.Meshes = append(b.Meshes, f.found(0, n))
	}
	f.tally = tally{}
	return b
}

// found makes a mesh of n services, all of them new.
func (f *fleet) found(now time.Duration, n int) vip.MeshUpdate {
	f.meshes = append(f.meshes, fleetMesh{name: fmt.Sprintf("mesh-%06d", f.named), live: make([]uint32, 0, n)})
	f.named++
	return vip.MeshUpdate{Mesh: f.meshes[len(f.meshes)-1].name, Set: f.come(len(f.meshes)-1, now, n, 0)}
}

// change lets some services of one mesh go, and as many come.
func (f *fleet) change(now time.Duration) vip.Batch {
	i := f.r.IntN(len(f.meshes))
	m := &f.meshes[i]
	n := 1
	for n < mostChange && f.r.IntN(meanChange) > 0 {
		n++
	}
	u := vip.MeshUpdate{Mesh: m.name}
	// Who comes is chosen first: none goes and comes at once.
	u.Set = f.come(i, now, n, f.returns)
	for range min(n, len(m.live)-n) {
		j := f.r.IntN(len(m.live) - n) // of those that were there before
		u.Drop = append(u.Drop, request(m.live[j]).Entry.Key())
		f.leave(m.live[j], now)
		m.live = slices.Delete(m.live, j, j+1)
	}
	return vip.Batch{Meshes: []vip.MeshUpdate{u}}
}

// end lets a mesh go with its services; it returns how many.
func (f *fleet) end(now time.Duration) (vip.Batch, int) {
	i := f.r.IntN(len(f.meshes))
	m := f.meshes[i]
	for _, id := range m.live {
		f.leave(id, now)
	}
	f.meshes = slices.Delete(f.meshes, i, i+1)
	return vip.Batch{Meshes: []vip.MeshUpdate{{Mesh: m.name, Gone: true}}}, len(m.live)
}

// start lets a mesh come with n services.
func (f *fleet) start(now time.Duration, n int) vip.Batch {
	return vip.Batch{Meshes: []vip.MeshUpdate{f.found(now, n)}}
}

// come adds n services to the i-th mesh, a share of which were there before.
func (f *fleet) come(i int, now time.Duration, n int, returns float64) []vip.Request {
	requests := make([]vip.Request, 0, n)
	for range n {
		id, back := uint32(0), false
		if f.r.Float64() < returns {
			soon := f.r.IntN(2) == 0
			if id, back = f.gone.take(f.r, now-f.cooldown, soon); back && soon {
				f.tally.soon++
			} else if back {
				f.tally.late++
			}
		}
		if !back {
			id = f.services
			f.services++
			f.tally.fresh++
		}
		f.live++
		f.meshes[i].live = append(f.meshes[i].live, id)
		requests = append(requests, request(id))
	}
	return requests
}

// leave notes that a service is gone.
func (f *fleet) leave(id uint32, now time.Duration) {
	f.gone.add(id, now)
	f.live--
	f.tally.went++
}

// bytes is about what the fleet takes of the heap.
func (f *fleet) bytes() int {
	n := f.gone.bytes()
	for _, m := range f.meshes {
		n += 64 + 4*cap(m.live)
	}
	return n
}

// request is what a mesh says of a service.
func request(id uint32) vip.Request {
	name := service(id)
	return vip.Request{
		Entry:     vip.Entry{Name: name},
		Outbounds: []vip.Outbound{{Tags: []vip.Tag{{Key: vip.ServiceTag, Value: name}}, Origin: vip.OriginService}},
	}
}

// service is the name of a service, in the form of Kubernetes. Numbers that follow
// each other have names that lie far apart, as those of people do: the multiplier
// is odd, so that no two numbers have one name.
func service(id uint32) string {
	return fmt.Sprintf("svc-%08x_ns-%03d_svc_8080", id*2_654_435_761, id%1000)
}
