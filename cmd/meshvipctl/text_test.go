package main

import (
	"net/netip"
	"testing"
	"time"

	"github.com/meshvip/coredns-meshvip/admin"
)

// shown is what a text function writes, as a pipe has it.
func shown(text func(p *page)) string {
	p := wide()
	text(p)
	return p.String()
}

func TestAStatusSaysWhatWantsAttention(t *testing.T) {
	t.Parallel()
	s := admin.Status{
		Version: "v1.2.3", Store: "bolt /data/meshvip.db", StoreID: "ABC", Serial: 7, Revision: 8, Generation: 1,
		Loaded: true, Synced: true, Started: noon.Add(-48 * time.Hour), CooldownSeconds: 86400,
		MaxRelease: "the greater of 10 and 10%", Zones: []string{"mesh.", "corp."}, Confirm: "3-9f2a61c0",
		Counts: admin.Counts{Entries: 12, Meshes: 2, Waiting: 1, Refused: 2, Held: 3, Moves: 1, Damaged: 1, Repaired: 4},
	}
	same(t, shown(func(p *page) { statusText(p, s, noon) }), `
Server v1.2.3, up since 2026-10-31 12:00:00 UTC (2d0h ago)
  store       bolt /data/meshvip.db
  store id    ABC
  serial      7, revision 8, generation 1
  table       loaded, and its sources were read completely
  entries     12 in 2 meshes
  zones       mesh., corp.
  cooldown    1d0h
  max_release the greater of 10 and 10%
  confirm     3-9f2a61c0
  attention   1 entry without an address: meshvipctl conflicts
  attention   2 static addresses not had by those they are for: meshvipctl conflicts
  attention   3 entries no longer listed, and kept: meshvipctl release
  attention   1 move waiting for a word: meshvipctl plan
  attention   1 damaged record set aside: meshvipctl conflicts
  repaired    4 steps since the start, each of which is in the log
`)
	s = admin.Status{Offline: true, Store: "bolt meshvip.db", StoreID: "ABC", Loaded: true}
	same(t, shown(func(p *page) { statusText(p, s, noon) }), `
The store as it lies: no server has it open
  store       bolt meshvip.db
  store id    ABC
  serial      0, revision 0, generation 0
  table       loaded; the sources were never read completely, so that nothing is released and an unknown name is no NXDOMAIN
  entries     0 in 0 meshes
`)
}

func TestAStatusSaysWhoAllocates(t *testing.T) {
	t.Parallel()
	lag, age := uint64(1), 75.0
	for want, s := range map[string]admin.Status{
		`
  role        leader: it allocates, and all other replicas follow it
  in step     1 revision behind; known to be as etcd has it 1m15s ago
`: {Role: admin.Leads, Leader: "cp-1:77", LagRevisions: &lag, ContactAgeSeconds: &age},
		`
  role        follower of cp-1:77, which allocates
`: {Role: admin.Follower, Leader: "cp-1:77"},
		`
  role        follower, and none leads at present: nothing new is allocated
`: {Role: admin.Follower},
		`
  leader      cp-1:77 allocates
`: {Offline: true, Store: "etcd http://etcd:2379", Leader: "cp-1:77"},
		"\n": {Role: admin.Single},
	} {
		same(t, shown(func(p *page) { roleText(p, s) }), want)
	}
}

func TestSourcesTellWhatIsWrongWithThem(t *testing.T) {
	t.Parallel()
	s := admin.Sources{
		Sources: []admin.Source{
			{
				Name: "file /etc/meshvip", Synced: true, LastSync: noon.Add(-time.Second), Errors: 3,
				Problems: []admin.Problem{{Place: "web.yaml:12", What: "a tag is no address: write 240.0.0.9"}},
			},
			{Name: "kuma https://cp:5682"},
		},
		Incomplete: "kuma https://cp:5682: connection refused",
	}
	same(t, shown(func(p *page) { sourcesText(p, s, noon) }), `
file /etc/meshvip
  read        2026-11-02 11:59:59 UTC (1s ago)
  errors      3 since the start, 1 now
  problem     web.yaml:12: a tag is no address: write 240.0.0.9

kuma https://cp:5682
  read        never, since the server started
  errors      0 since the start, 0 now

  incomplete  nothing is released while this is not read: kuma https://cp:5682: connection refused
`)
}

func TestEveryConflictSaysWhatToDo(t *testing.T) {
	t.Parallel()
	c := admin.Conflicts{
		WaitingCount: 3, Waiting: []admin.Waiting{{Entry: "0:late", Family: "v4", Reason: "the pools are exhausted"}},
		RefusedCount: 1, Refused: []admin.Refused{{Entry: "0:web", Address: ip("240.0.0.9"), Reason: "0:backend has it"}},
		NamesCount: 2, Names: []admin.NameConflict{
			{Name: "a.mesh.", Winner: "2:a.mesh", Losers: []string{"0:a", "1:a.mesh"}},
			{Name: "ns.dns.mesh.", Losers: []string{"2:ns.dns.mesh"}},
		},
		Moves: admin.Moves{
			Plan: "3-9f2a61c0", Count: 1, Moves: []admin.Move{{Entry: "0:b", From: ip("240.0.0.1"), To: ip("241.0.0.1"), Why: "its pool is retired"}},
			StuckCount: 1, Stuck: []admin.Stuck{{Entry: "0:c", From: ip("240.0.0.2"), Why: "there is no other address"}},
		},
		HeldCount: 1, Held: []admin.Hold{{Name: "5d41402a", Mesh: "prod", Entries: []string{"0:x"}, Reason: "it would go with its entry"}},
		DamagedCount: 1, Damaged: []admin.Damage{{Record: "entries/0:z", Error: "checksum"}},
		Unknown: []string{"names"},
	}
	if quiet(c) || !quiet(admin.Conflicts{}) {
		t.Error("quiet is not about conflicts")
	}
	same(t, shown(func(p *page) { conflictsText(p, c) }), `
Without an address (3)
  0:late  v4: the pools are exhausted
  and 2 more

Static addresses that are not had (1): choose another address, or take the static away
  0:web  static address 240.0.0.9: 0:backend has it

Names that several claim (2): rename all but one; "meshvipctl explain NAME" tells by which rule it is decided
  a.mesh.  2:a.mesh has it, not 0:a, 1:a.mesh
  ns.dns.mesh.  the zone's name server has it, not 2:ns.dns.mesh

Moves that wait (1): "meshvipctl plan" shows them, "meshvipctl plan --apply" makes them
  0:b  240.0.0.1 to 241.0.0.1: its pool is retired

Should move, and cannot (1): add a pool
  0:c  240.0.0.2: there is no other address

Releases that are held (1): "meshvipctl release" shows them and lets them go
  5d41402a  mesh prod, 1 entry: it would go with its entry

Damaged records (1): "meshvipctl verify" reads all of the store; their addresses stay reserved
  entries/0:z  checksum

Not known here: names
`)
}

func TestEveryChangeIsOneLine(t *testing.T) {
	t.Parallel()
	c := admin.Change{ID: "7.8", Time: noon, Events: []admin.Event{
		{What: admin.Allocated, Entry: "0:a", To: ip("240.0.0.1")},
		{What: admin.Returned, Entry: "0:a", To: ip("240.0.0.1")},
		{What: admin.ReleasedAddr, Entry: "0:a", From: ip("240.0.0.1")},
		{What: admin.Moved, Entry: "0:a", From: ip("240.0.0.1"), To: ip("240.0.0.2"), Why: "static"},
		{What: admin.Moved, Entry: "0:a", From: ip("240.0.0.1"), To: ip("240.0.0.2")},
		{What: admin.Listed, Entry: "0:a", Mesh: "default"},
		{What: admin.Unlisted, Entry: "0:a", Mesh: "default"},
		{What: admin.Changed, Entry: "0:a", Mesh: "default"},
		{What: admin.GivenChanged, Entry: "3:default/a", Given: []netip.Addr{ip("241.0.0.1"), ip("fd00::1")}},
		{What: admin.GivenChanged, Entry: "3:default/a"},
		{What: admin.Forgotten, Entry: "0:a", From: ip("240.0.0.1")},
		{What: admin.MeshCreated, Mesh: "default"},
		{What: admin.MeshGone, Mesh: "default"},
		{What: "of_a_newer_server", Entry: "0:a\nb"},
	}}
	same(t, shown(func(p *page) { changeText(p, c) }), `
2026-11-02 12:00:00 UTC  7.8  0:a got 240.0.0.1
2026-11-02 12:00:00 UTC  7.8  0:a got 240.0.0.1 back
2026-11-02 12:00:00 UTC  7.8  0:a gave up 240.0.0.1
2026-11-02 12:00:00 UTC  7.8  0:a moved from 240.0.0.1 to 240.0.0.2: static
2026-11-02 12:00:00 UTC  7.8  0:a moved from 240.0.0.1 to 240.0.0.2
2026-11-02 12:00:00 UTC  7.8  0:a listed by mesh default
2026-11-02 12:00:00 UTC  7.8  0:a no longer listed by mesh default
2026-11-02 12:00:00 UTC  7.8  0:a changed by mesh default
2026-11-02 12:00:00 UTC  7.8  3:default/a given 241.0.0.1, fd00::1 by Kuma
2026-11-02 12:00:00 UTC  7.8  3:default/a given nothing by Kuma
2026-11-02 12:00:00 UTC  7.8  0:a no longer remembered at 240.0.0.1
2026-11-02 12:00:00 UTC  7.8  mesh default has a table
2026-11-02 12:00:00 UTC  7.8  mesh default has no table any more
2026-11-02 12:00:00 UTC  7.8  0:a\nb of_a_newer_server
`)
	same(t, shown(func(p *page) { changeText(p, admin.Change{ID: "7.9", Time: noon}) }), `
2026-11-02 12:00:00 UTC  7.9  nothing that entries see
`)
}

func TestTheTableSaysHowAddressesAreHad(t *testing.T) {
	t.Parallel()
	rows := []admin.Row{
		{
			Entry: "0:backend", Addresses: []netip.Addr{ip("240.0.0.1"), ip("fd00::1")}, Names: []string{"backend.mesh.", "b.mesh."},
			Listings: []admin.Listing{{Mesh: "default"}, {Mesh: "prod"}},
		},
		{Entry: "0:late", Waiting: true, Listings: []admin.Listing{{Mesh: "default"}}},
		{Entry: "0:web", Addresses: []netip.Addr{ip("240.0.0.9")}, Static: []netip.Addr{ip("240.0.0.9")}},
		{Entry: "3:default/a", Given: []netip.Addr{ip("241.0.0.1")}},
		{Entry: "3:default/b", Follows: true},
	}
	g := newTableGrid()
	for _, r := range rows {
		g.addRow(r)
	}
	same(t, shown(func(p *page) { p.grid(&g.grid) }), `
ENTRY        ADDRESS            HOW      NAMES                  MESHES
0:backend    240.0.0.1,fd00::1  auto     backend.mesh.,b.mesh.  default,prod
0:late       -                  waiting  -                      default
0:web        240.0.0.9          static   -                      -
3:default/a  241.0.0.1          given    -                      -
3:default/b  -                  -        -                      -
`)
}

func TestPoolsTellTheirState(t *testing.T) {
	t.Parallel()
	pools := admin.Pools{Pools: []admin.Pool{
		{Prefix: netip.MustParsePrefix("240.0.0.0/8"), Size: 100, Live: 60, Cooling: 10, Free: 30, Next: ip("240.0.0.61"), Exclude: []string{"240.0.0.1-240.0.0.5"}},
		{Prefix: netip.MustParsePrefix("fd00::/64"), Size: 1<<63 - 1, Free: 1<<63 - 1, Next: ip("fd00::1"), Drain: true, Reserve: []string{"fd00::1-fd00::9"}},
		{Prefix: netip.MustParsePrefix("241.0.0.0/30"), Size: 2, Live: 2},
		{Prefix: netip.MustParsePrefix("242.0.0.0/30"), Size: 2, Live: 1, Retired: true},
	}}
	same(t, shown(func(p *page) { poolsText(p, pools) }), `
POOL            SIZE  LIVE  COOLING    FREE  NEXT        STATE
240.0.0.0/8      100    60       10      30  240.0.0.61  open
fd00::/64     >=2^62     0        0  >=2^62  fd00::1     drain
241.0.0.0/30       2     2        0       0  -           full
242.0.0.0/30       2     1        0       0  -           retired
240.0.0.0/8 excludes 240.0.0.1-240.0.0.5 (nobody gets these)
fd00::/64 reserves fd00::1-fd00::9 (only statics get these)
`)
}

func TestHoldsAreShownWhole(t *testing.T) {
	t.Parallel()
	holds := []admin.Hold{
		{Name: "5d41402a", Mesh: "prod", Gone: true, Entries: []string{"0:a", "0:b"}, Reason: "it would go with its 2 entries"},
		{Name: "7d793037", Mesh: "default", Entries: make([]string, shownEntries+2), Reason: "too many"},
	}
	text := shown(func(p *page) { holdsText(p, holds[:1]) })
	same(t, text, `
5d41402a
  mesh        prod, which is no longer declared
  held        it would go with its 2 entries
  entries     0:a
              0:b
`)
	p := narrow()
	holdsText(p, holds[1:])
	if want := "              and 2 more\n"; p.String()[len(p.String())-len(want):] != want {
		t.Errorf("on a terminal:\n%s", p)
	}
}
