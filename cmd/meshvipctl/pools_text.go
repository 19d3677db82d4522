package main

import (
	"strconv"
	"strings"

	"github.com/meshvip/coredns-meshvip/admin"
)

// poolsText writes how far each pool is used.
func poolsText(p *page, list admin.Pools) {
	g := &grid{columns: []column{
		{head: "POOL"},
		{head: "SIZE", right: true},
		{head: "LIVE", right: true},
		{head: "COOLING", right: true},
		{head: "FREE", right: true},
		{head: "NEXT"},
		{head: "STATE"},
	}}
	for _, pool := range list.Pools {
		next := none
		if pool.Next.IsValid() {
			next = pool.Next.String()
		}
		g.add(pool.Prefix.String(), amount(pool.Size), number(pool.Live), number(pool.Cooling), amount(pool.Free), next, poolState(pool))
	}
	p.grid(g)
	for _, pool := range list.Pools {
		ranges(p, pool, "excludes", pool.Exclude, "nobody gets these")
		ranges(p, pool, "reserves", pool.Reserve, "only statics get these")
	}
}

// ranges writes which addresses of a pool are not for everybody.
func ranges(p *page, pool admin.Pool, verb string, list []string, who string) {
	if len(list) > 0 {
		p.line("%v %s %s (%s)", pool.Prefix, verb, strings.Join(list, ", "), who)
	}
}

// poolState says what hinders a pool from giving addresses, if anything does.
func poolState(pool admin.Pool) string {
	switch {
	case pool.Retired:
		return "retired"
	case pool.Drain:
		return "drain"
	case !pool.Next.IsValid():
		return "full"
	}
	return "open"
}

// endless is from where on amounts are of no meaning to people: IPv6 pools.
const endless = 1 << 40

// amount returns a number of addresses, a huge one as a power of two at least as
// small.
func amount(n uint64) string {
	if n < endless {
		return number(n)
	}
	return ">=2^" + strconv.Itoa(bitsOf(n)-1)
}

func bitsOf(n uint64) int { return len(strconv.FormatUint(n, 2)) }

func number[N int | uint64](n N) string { return strconv.FormatUint(uint64(n), 10) }
