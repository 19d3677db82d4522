package meshvip

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// merge joins what two server blocks that share one runtime say of it. A
// property that both state must be the same in both; the error names the two
// lines.
func merge(a, b RuntimeConfig) (RuntimeConfig, error) {
	m := a
	if !a.Stated() && b.Stated() {
		m.Place = b.Place
	}
	var err error
	if m.Pools, err = mergePools(a.Pools, b.Pools); err != nil {
		return RuntimeConfig{}, err
	}
	if m.Statics, err = mergeStatics(a.Statics, b.Statics); err != nil {
		return RuntimeConfig{}, err
	}
	if m.Sources, err = mergeSources(a.Sources, b.Sources); err != nil {
		return RuntimeConfig{}, err
	}
	mergeStated(&err, "store", &m.Store, b.Store)
	mergeStated(&err, "cooldown", &m.Cooldown, b.Cooldown)
	mergeStated(&err, "kuma_zone", &m.KumaZone, b.KumaZone)
	mergeStated(&err, "kuma_domain", &m.KumaDomain, b.KumaDomain)
	mergeStated(&err, "max_release", &m.MaxRelease, b.MaxRelease)
	mergeStated(&err, "confirm", &m.Confirm, b.Confirm)
	mergeStated(&err, "repair", &m.Repair, b.Repair)
	mergeStated(&err, "publish", &m.Publish, b.Publish)
	mergeStated(&err, "admin", &m.Admin, b.Admin)
	if err != nil {
		return RuntimeConfig{}, err
	}
	return m, nil
}

// mergeStated puts b into a where only b is stated. Where both are and differ
// it sets err, unless it is set already.
func mergeStated[T comparable](err *error, property string, a *Stated[T], b Stated[T]) {
	switch {
	case !b.Stated():
	case !a.Stated():
		*a = b
	case a.Value != b.Value && *err == nil:
		*err = conflict(property, a.Place, fmt.Sprint(a.Value), b.Place, fmt.Sprint(b.Value))
	}
}

// conflict is the error of a property that two blocks state differently.
func conflict(property, placeA, a, placeB, b string) error {
	return fmt.Errorf("%s: %s is %s, but %s has %s: server blocks that share a store share this property; "+
		"state it in one of them, or the same in both", placeB, property, b, placeA, a)
}

// mergePools returns the pools that both lists state, or those of the one that
// states any.
func mergePools(a, b []PoolConfig) ([]PoolConfig, error) {
	switch {
	case len(b) == 0:
		return a, nil
	case len(a) == 0:
		return b, nil
	case !slices.EqualFunc(a, b, func(p, q PoolConfig) bool { return p.Prefix == q.Prefix }):
		return nil, conflict("pool", a[0].Place, poolRanges(a), b[0].Place, poolRanges(b))
	}
	for i := range a {
		if !a[i].equal(b[i]) {
			return nil, conflict("pool", a[i].Place, a[i].String(), b[i].Place, b[i].String())
		}
	}
	return a, nil
}

// complete returns an error that says which line to add if r lacks a property
// that has no default. It is asked once all blocks of a runtime are merged.
func complete(r RuntimeConfig) error {
	if !r.Stated() {
		return fmt.Errorf("%s: meshvip has neither a pool nor a source here, and no other server block states them: "+
			"add the lines \"pool 240.0.0.0/8\" and \"source file DIR\", with your own range and directory", r.Place)
	}
	if len(r.Sources) == 0 && r.Store.Value.Kind == storeEtcd {
		return completeAdmin(r) // it follows what another replica allocates
	}
	if len(r.Pools) == 0 {
		return fmt.Errorf("%s: meshvip has no pool to take addresses from: "+
			"add a line such as \"pool 240.0.0.0/8\"", r.Place)
	}
	if len(r.Sources) == 0 {
		return fmt.Errorf("%s: meshvip has no source of services: "+
			"add a line such as \"source file resources\", with the directory of your resource files, "+
			"or \"source kuma http://127.0.0.1:5681\", with the address of your control plane", r.Place)
	}
	return completeAdmin(r)
}

// completeAdmin returns an error if the admin interface of r has no address.
func completeAdmin(r RuntimeConfig) error {
	if r.Admin.Value == adminBeside && r.Store.Value.Path == "" {
		return fmt.Errorf("%s: admin has no address, and a store in %s has no file beside which its socket could be: "+
			"write for example \"admin unix:meshvip.sock\"", r.Admin.Place, r.Store.Value.Kind)
	}
	return nil
}

// fits returns an error if the block of c cannot be served from the runtime r:
// a resolver may keep an answer for ttl, and by then its address must not have
// been given to another entry.
func fits(r RuntimeConfig, c Config) error {
	ttl := c.Block.TTL
	if r.Cooldown.Value >= time.Duration(ttl.Value)*time.Second {
		return nil
	}
	return fmt.Errorf("%s: cooldown is %v, which is shorter than the ttl of %d s (%s): "+
		"raise cooldown to %ds or more, or lower ttl",
		cmp.Or(r.Cooldown.Place, r.Place), r.Cooldown.Value, ttl.Value, cmp.Or(ttl.Place, c.Place+", by default"), ttl.Value)
}
