package chaos

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// register is the state of one address: who has it, or had it last.
type register struct {
	holding
	seq int // of the transaction that wrote it
}

// operation is what happens to a register.
type operation struct {
	addr netip.Addr
	// A read is a claim that name has the address.
	name string
	// The seq-th write, by a transaction at a time of the table's clock. Writes
	// take effect in their order, which etcd's revisions tell.
	write    bool
	seq      int
	holding  holding
	clock    time.Duration
	cooldown time.Duration
}

// step is the register as a sequential machine.
func (o operation) step(s register) (bool, register) {
	if !o.write {
		return s.owner == o.name && !s.released, s
	}
	if o.seq != s.seq+1 {
		return false, s
	}
	return o.holding.mayFollow(s.holding, o.clock, o.cooldown), register{o.holding.after(s.holding), o.seq}
}

// after returns the value of an address that was held as was when h is written. Who
// had an address and is forgotten had it all the same: to forget is allowed at any
// time, if the address is kept from others by other means.
func (h holding) after(was holding) holding {
	if h.owner == "" {
		return was
	}
	return h
}

// mayFollow reports whether an address may be held so after it was held as was,
// when the table's clock is at clock.
func (h holding) mayFollow(was holding, clock, cooldown time.Duration) bool {
	switch {
	case h.released && h.at > clock:
		return false
	case was.owner == "": // nobody's
		return true
	case h.owner == "": // forgotten
		return was.released
	case h.owner == was.owner: // given back, taken again
		return !h.released || !was.released || h.at >= was.at
	default: // another's
		return was.released && clock-was.at >= cooldown
	}
}

// addressModel is the registers of all addresses, each of them on its own.
var addressModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byAddr := make(map[netip.Addr][]porcupine.Operation)
		for _, o := range history {
			addr := o.Input.(operation).addr
			byAddr[addr] = append(byAddr[addr], o)
		}
		parts := make([][]porcupine.Operation, 0, len(byAddr))
		for _, part := range byAddr {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return register{} },
	Step: func(state, input, _ any) (bool, any) {
		return input.(operation).step(state.(register))
	},
	Hash: func(state any) uint64 { return uint64(state.(register).seq) },
	DescribeOperation: func(input, _ any) string {
		o := input.(operation)
		if o.write {
			return fmt.Sprintf("write %+v at %v", o.holding, o.clock)
		}
		return "read " + o.name
	},
}

// operations returns the history as porcupine reads it. Of the claims of one
// replica that one name has an address, those are left out that follow another
// within thin: their number decides how long the search takes. owners_test.go
// looks at all of them.
func (h *history) operations(thin time.Duration) []porcupine.Operation {
	var ops []porcupine.Operation
	for addr, writes := range h.writes() {
		for i, w := range writes {
			ops = append(ops, porcupine.Operation{
				Input: operation{addr: addr, write: true, seq: i + 1, holding: w.holding, clock: w.clock, cooldown: h.cooldown},
				Call:  int64(w.lo), Return: int64(w.hi),
			})
		}
	}
	for addr, claims := range h.claims() {
		for _, a := range thinned(claims, thin) {
			ops = append(ops, porcupine.Operation{
				ClientId: a.replica + 1,
				Input:    operation{addr: addr, name: a.name},
				Call:     int64(a.start - h.stale()), Return: int64(a.end),
			})
		}
	}
	return ops
}

// thinned leaves out the claims between others of the same kind, but for the first
// and the last of each.
func thinned(claims []answer, thin time.Duration) (kept []answer) {
	type kind struct {
		name    string
		replica int
	}
	last := make(map[kind]answer) // that was kept
	left := make(map[kind]answer) // that was not, and is the last so far
	for _, a := range claims {
		k := kind{a.name, a.replica}
		if was, ok := last[k]; ok && a.start-was.start < thin {
			left[k] = a
			continue
		}
		if was, ok := left[k]; ok && a.start-was.start > thin { // the end of a run
			kept = append(kept, was)
		}
		delete(left, k)
		last[k] = a
		kept = append(kept, a)
	}
	for _, a := range left {
		kept = append(kept, a)
	}
	return kept
}

// linearizable checks the registers with porcupine. It returns the addresses
// whose history is none of a register, and those that it could not decide within
// the time.
func (h *history) linearizable(thin, limit time.Duration) (illegal, undecided []netip.Addr) {
	for _, part := range addressModel.Partition(h.operations(thin)) {
		addr := part[0].Input.(operation).addr
		switch porcupine.CheckOperationsTimeout(addressModel, part, limit) {
		case porcupine.Illegal:
			illegal = append(illegal, addr)
		case porcupine.Unknown:
			undecided = append(undecided, addr)
		}
	}
	slices.SortFunc(illegal, netip.Addr.Compare)
	slices.SortFunc(undecided, netip.Addr.Compare)
	return illegal, undecided
}
