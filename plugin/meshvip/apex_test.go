package meshvip

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestTheNameServersAddressIsWhereItListensElseTheMachines(t *testing.T) {
	t.Parallel()
	machine := func() ([]net.Addr, error) {
		return []net.Addr{
			&net.IPNet{IP: net.IPv4(127, 0, 0, 1), Mask: net.CIDRMask(8, 32)},
			&net.IPNet{IP: net.ParseIP("fe80::1"), Mask: net.CIDRMask(64, 128)},
			&net.UnixAddr{Name: "odd"},
			&net.IPNet{IP: net.IPv4(192, 0, 2, 7), Mask: net.CIDRMask(24, 32)},
			&net.IPNet{IP: net.ParseIP("2001:db8::7"), Mask: net.CIDRMask(64, 128)},
		}, nil
	}
	broken := func() ([]net.Addr, error) { return nil, errors.New("no interfaces here") }
	for _, tc := range []struct {
		binds      []string
		interfaces func() ([]net.Addr, error)
		want       []string
	}{
		{[]string{""}, machine, []string{"192.0.2.7"}},
		{nil, machine, []string{"192.0.2.7"}},
		{[]string{"0.0.0.0", "::"}, machine, []string{"192.0.2.7"}},
		{[]string{"127.0.0.1"}, machine, []string{"127.0.0.1"}},
		{[]string{"192.0.2.1", "fe80::5%eth0", "192.0.2.1", "0.0.0.0"}, machine, []string{"192.0.2.1", "fe80::5"}},
		{[]string{""}, broken, nil},
		{[]string{""}, func() ([]net.Addr, error) { return nil, nil }, nil},
	} {
		var got []string
		for _, a := range nsAddresses(tc.binds, tc.interfaces) {
			got = append(got, a.String())
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("bound to %q: %v, want %v", tc.binds, got, tc.want)
		}
	}
}

func TestASecondaryNeverOutlivesACooldown(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ttl := rapid.Uint32Range(0, maxTTL).Draw(t, "ttl")
		cooldown := time.Duration(rapid.Int64Range(1, int64(100*365*24*time.Hour)).Draw(t, "cooldown"))
		a := newApex(BlockConfig{TTL: Stated[uint32]{Value: ttl}}, cooldown)
		if got := time.Duration(a.expire+ttl) * time.Second; a.expire > 0 && got > cooldown {
			t.Fatalf("expire %d s and ttl %d s are more than the cooldown of %v", a.expire, ttl, cooldown)
		}
		if a.expire > 7*24*3600 {
			t.Fatalf("expire %d s", a.expire)
		}
	})
}

func TestAddressesOfTheNameServerAreV4First(t *testing.T) {
	t.Parallel()
	ns := []netip.Addr{netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.0")}
	a := newApex(BlockConfig{NS: Stated[[]netip.Addr]{Value: ns}}, time.Hour)
	if want := []netip.Addr{ns[1], ns[2], ns[0]}; !slices.Equal(a.ns, want) {
		t.Errorf("%v, want %v", a.ns, want)
	}
}
