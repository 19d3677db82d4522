package watcher

import (
	"fmt"
	"slices"

	"github.com/meshvip/coredns-meshvip/watcher/kuma"
)

// Resource is one resource as a place declares it.
type Resource struct {
	kuma.ID
	// Where is the resource's place for messages, such as "web.yaml:12".
	Where string
	// Claims are what it asks for, sorted, without repetition.
	Claims []kuma.Claim
	// Part is what counts only together with others; nil for most resources.
	Part kuma.Part
}

// Read turns a resource that was decoded at where into what a place declares.
// The problems are what an operator should know of it although it counts. The
// error says why it cannot count.
func Read(r kuma.Resource, where string, home kuma.Home) (Resource, []Problem, error) {
	claims, err := r.Claims(home.Zone)
	if err != nil {
		return Resource{}, nil, err
	}
	part, faults := r.Part(home)
	var ps []Problem
	if remark := r.Remark(); remark != "" {
		ps = append(ps, Problem{where, fmt.Sprintf("%s %s", r.ID, remark)})
	}
	for _, fault := range slices.Concat(r.Faults, faults) {
		ps = append(ps, Problem{where, fmt.Sprintf("%s: %v (all else of it counts)", r.ID, fault)})
	}
	return Resource{ID: r.ID, Where: where, Claims: claims, Part: part}, ps, nil
}

// Equal reports whether r and o are the same resource and ask for the same.
func (r *Resource) Equal(o *Resource) bool {
	return r.ID == o.ID && slices.EqualFunc(r.Claims, o.Claims, kuma.Claim.Equal) && samePart(r.Part, o.Part)
}

func samePart(a, b kuma.Part) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Same(b)
}
