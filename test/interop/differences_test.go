package interop

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

// difference is a way in which our answers are not those of another server
// which has the same zone, and why they are meant to be so.
type difference struct {
	peer string // "NSD" or "file"
	what string
	why  string
	// forgive makes theirs like ours in this way, and reports whether it was
	// not.
	forgive func(q question, ours answer, theirs *answer) bool
}

// differences is all of them. One that no question shows is an error, too.
var differences = []difference{
	{
		"NSD", "name servers beside an answer",
		"a server may add them (RFC 1034, 4.3.2), and no resolver needs them: they make every reply larger",
		nsAdded,
	},
	{"file", "name servers beside an answer", "as for NSD", nsAdded},
	{
		"NSD", "records for the type ANY",
		"nobody needs them (RFC 8482): plugin any is there for who asks, and without it there is no record of that type",
		anyAnswered,
	},
	{
		"NSD", "the outer zone's SOA for DS at an inner zone",
		"RFC 4035, 3.1.4.1 asks the parent, which has delegated; our zones within one another are not delegated, so that none has a DS",
		innerDS,
	},
	{"file", "the outer zone's SOA for DS in an inner zone", "as for NSD; and the server sends all DS questions there, below the inner zone as well", innerDS},
	{
		"file", "no name between an outer zone and an inner one",
		"a name exists where there is one below it (RFC 8020), and ours know of each other; of files, each is alone",
		func(q question, ours answer, theirs *answer) bool {
			if q.name != "corp.mesh." || ours.rcode != "NOERROR" || theirs.rcode != "NXDOMAIN" {
				return false
			}
			theirs.rcode = ours.rcode
			return true
		},
	},
	{
		"file", "the SOA's own TTL in negative answers",
		"RFC 2308, 3: it is the SOA's minimum where that is less",
		func(_ question, ours answer, theirs *answer) bool {
			if len(ours.answer) > 0 || theirs.ttl <= ours.ttl || len(theirs.authority) != 1 {
				return false
			}
			theirs.authority = []string{strings.Replace(theirs.authority[0], fmt.Sprintf(" %d in soa ", theirs.ttl), fmt.Sprintf(" %d in soa ", ours.ttl), 1)}
			theirs.ttl = ours.ttl
			return true
		},
	},
}

// anyAnswered: theirs has records for the type ANY.
func anyAnswered(q question, ours answer, theirs *answer) bool {
	if q.qtype != dns.TypeANY || theirs.rcode != ours.rcode || len(theirs.answer) == 0 || len(ours.answer) > 0 {
		return false
	}
	*theirs = ours
	return true
}

// innerDS: theirs denies a DS from the zone around the one that the name is in.
func innerDS(q question, ours answer, theirs *answer) bool {
	if q.qtype != dns.TypeDS || len(ours.answer)+len(theirs.answer) > 0 || len(ours.authority) != 1 || len(theirs.authority) != 1 {
		return false
	}
	inner, outer := strings.Fields(ours.authority[0])[0], strings.Fields(theirs.authority[0])[0]
	if inner == outer || !dns.IsSubDomain(outer, inner) {
		return false
	}
	*theirs = ours
	return true
}

// nsAdded: theirs has the zone's NS records in addition, and their addresses.
func nsAdded(_ question, ours answer, theirs *answer) bool {
	other := func(rr string) bool { return !strings.Contains(rr, " in ns ") }
	if len(ours.authority) > 0 || len(theirs.answer) == 0 || len(theirs.authority) == 0 || slices.ContainsFunc(theirs.authority, other) {
		return false
	}
	theirs.authority = nil
	theirs.additional = slices.DeleteFunc(theirs.additional, func(rr string) bool {
		return strings.HasPrefix(rr, "ns.dns.") && !slices.Contains(ours.additional, rr)
	})
	return true
}

func TestAnswersAreThoseOfOtherServersWithTheSameZones(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.plugins = "transfer {\n\t\tto *\n\t}"
	// A zone within another, and a pool that is smaller than a label: each of
	// its addresses is a zone, with the PTR at its apex.
	s.keys = append(s.keys, "svc.corp.mesh", "198.18.0.0/30")
	s.properties = []string{"pool 198.18.0.0/30", "static web 198.18.0.1"}
	zones := append(slices.Clone(zones), "svc.corp.mesh.")
	for i := range 4 {
		zones = append(zones, fmt.Sprintf("%d.0.18.198.in-addr.arpa.", i))
	}
	d := s.start()
	dir := t.TempDir()
	var asked []question
	for _, zone := range zones {
		text := transferred(t, d, zone)
		write(t, dir, zone, text)
		asked = append(asked, questions(zone, owners(t, text))...)
	}
	for _, qtype := range types { // between the two
		asked = append(asked, question{"corp.mesh.", qtype})
	}
	peers := map[string]*daemon{"NSD": startNSDWith(t, dir, zones), "file": startFile(t, dir, zones)}
	used := make([]int, len(differences))
	wrong := make(map[string]int) // by kind
	for _, q := range asked {
		ours := d.compared(q)
		if !ours.kept {
			t.Errorf("the answer to %v does not spell its owner like the question", q)
		}
		for name, peer := range peers {
			theirs := peer.compared(q)
			like := theirs
			for i, d := range differences {
				if d.peer == name && d.forgive(q, ours, &like) {
					used[i]++
				}
			}
			if like.whole() == ours.whole() {
				continue
			}
			kind := fmt.Sprintln(name, ours.shape(), like.shape())
			if wrong[kind]++; wrong[kind] == 1 {
				t.Errorf("%v\n ours: %s\n %s: %s", q, ours.whole(), name, theirs.whole())
			}
		}
	}
	for _, n := range wrong {
		if n > 1 {
			t.Errorf("and %d like one of those", n-1)
		}
	}
	for i, d := range differences {
		if used[i] == 0 {
			t.Errorf("%s: %s: no question shows this difference any more", d.peer, d.what)
		}
		told(t, "%s: %d answers differ: %s (%s)", d.peer, used[i], d.what, d.why)
	}
	told(t, "%d questions about %d zones have our answers from NSD and from plugin file, too: rcode, AA, records, SOA and its TTL", len(asked), len(zones))
}
