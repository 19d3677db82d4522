package test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

// beside returns a Corefile with other plugins, one a line, in the server block
// of meshvip, whose zones stay mesh and 240.0.0.0/8 whatever keys the block has.
// properties are those of meshvip.
func (p *site) beside(plugins []string, properties ...string) string {
	c := p.corefile(properties...)
	return strings.Replace(c, "\tmeshvip {", "\t"+strings.Join(plugins, "\n\t")+"\n\tmeshvip mesh 240.0.0.0/8 {", 1)
}

// neighbourly is a site for tests with other plugins, and what there is to ask:
// backend.mesh at ADDR, whose reverse name is REV, and wide.mesh at WIDE with 40
// ports.
func neighbourly(t testing.TB) *site {
	p := newSite(t)
	write(t, p.resources, "backend.yaml", dataplane("default", "backend", "backend"))
	var wide strings.Builder
	for n := range 40 {
		wide.WriteString(outside("default", "wide", 9000+n))
		wide.WriteString("---\n")
	}
	write(t, p.resources, "wide.yaml", wide.String())
	return p
}

// shown returns an answer as text: how it ends and its flags, the records of
// the answer, sorted; of the other sections, the records' names, TTLs and types.
func shown(r *dns.Msg) string {
	head := []string{dns.RcodeToString[r.Rcode]}
	for _, flag := range []struct {
		name string
		set  bool
	}{{"aa", r.Authoritative}, {"tc", r.Truncated}, {"ra", r.RecursionAvailable}} {
		if flag.set {
			head = append(head, flag.name)
		}
	}
	var answer []string
	for _, rr := range r.Answer {
		answer = append(answer, strings.Join(strings.Fields(repeatable(rr.String())), " "))
	}
	slices.Sort(answer)
	parts := []string{strings.Join(head, " "), strings.Join(answer, ", ")}
	for _, section := range [][]dns.RR{r.Ns, r.Extra} {
		var short []string
		for _, rr := range section {
			if h := rr.Header(); h.Rrtype != dns.TypeOPT {
				short = append(short, fmt.Sprintf("%s %d %s", h.Name, h.Ttl, dns.TypeToString[h.Rrtype]))
			}
		}
		parts = append(parts, strings.Join(short, ", "))
	}
	return strings.TrimRight(strings.Join(parts, " | "), " |")
}

// The answers of the site where no other plugin has a say.
const (
	backendA  = "NOERROR aa | backend.mesh. 60 IN A ADDR"
	backendNo = "NOERROR aa |  | mesh. 5 SOA"
	backendIn = "NOERROR aa | backend.mesh. 60 IN SRV 0 100 80 backend.mesh. |  | backend.mesh. 60 A"
	nopeA     = "NXDOMAIN aa |  | mesh. 5 SOA"
	revPTR    = "NOERROR aa | REV 60 IN PTR backend.mesh."
	freePTR   = "NXDOMAIN aa |  | 240.in-addr.arpa. 5 SOA"
)

// plain are the questions whose answers most plugins do not change.
var plain = map[string]string{
	"backend.mesh. A":             backendA,
	"backend.mesh. AAAA":          backendNo,
	"backend.mesh. SRV":           backendIn,
	"backend.mesh. ANY":           backendNo,
	"nope.mesh. A":                nopeA,
	"REV PTR":                     revPTR,
	"9.9.9.240.in-addr.arpa. PTR": freePTR,
	"mesh. NS":                    "NOERROR aa | mesh. 60 IN NS ns.dns.mesh. |  | ns.dns.mesh. 60 A",
}

// neighbours are plugins in the server block of meshvip, and how questions are
// answered there. What is not asked in a row is answered as in plain, unless it
// is asked to be otherwise.
var neighbours = []struct {
	name       string
	keys       string // of the block beside its zones
	plugins    []string
	properties []string
	from       string // who asks
	differ     map[string]string
	alone      bool // nothing of plain is asked
}{
	{name: "nobody"},
	{name: "errors, debug, log", plugins: []string{"debug", "log"}},
	{name: "multisocket", plugins: []string{"multisocket 2"}},
	{name: "loop", plugins: []string{"loop"}},
	{name: "any", plugins: []string{"any"}, differ: map[string]string{
		"backend.mesh. ANY": `NOERROR | backend.mesh. 8482 IN HINFO "ANY obsoleted" "See RFC 8482"`,
	}},
	{name: "minimal", plugins: []string{"minimal"}, differ: map[string]string{
		"backend.mesh. SRV": "NOERROR aa | backend.mesh. 60 IN SRV 0 100 80 backend.mesh.",
		"mesh. NS":          "NOERROR aa | mesh. 60 IN NS ns.dns.mesh.",
	}},
	{name: "loadbalance", plugins: []string{"loadbalance round_robin"}},
	{name: "header", plugins: []string{"header {\n\t\tresponse clear aa\n\t\tresponse set ra\n\t}"}, alone: true, differ: map[string]string{
		"backend.mesh. A": "NOERROR ra | backend.mesh. 60 IN A ADDR",
		"nope.mesh. A":    "NXDOMAIN ra |  | mesh. 5 SOA",
	}},
	{name: "rewrite of a name", keys: "svc.example", plugins: []string{"rewrite name suffix .svc.example. .mesh. answer auto"}, differ: map[string]string{
		"backend.svc.example. A":    "NOERROR aa | backend.svc.example. 60 IN A ADDR",
		"BACKEND.svc.EXAMPLE. A":    "NOERROR aa | backend.svc.example. 60 IN A ADDR", // it lowers the case
		"backend.svc.example. AAAA": backendNo,
		"nope.svc.example. A":       nopeA,
	}},
	{name: "rewrite of a type and a TTL", plugins: []string{"rewrite continue type ANY A", "rewrite ttl exact backend.mesh. 7"}, alone: true, differ: map[string]string{
		"backend.mesh. ANY": "NOERROR aa | backend.mesh. 7 IN A ADDR",
		"wide.mesh. A":      "NOERROR aa | wide.mesh. 60 IN A WIDE",
	}},
	{name: "acl that lets pass", plugins: []string{"acl {\n\t\tblock net 127.0.0.2/32\n\t}"}},
	{name: "acl that blocks", plugins: []string{"acl {\n\t\tblock net 127.0.0.2/32\n\t}"}, from: viewClient, alone: true, differ: map[string]string{
		"backend.mesh. A": "REFUSED",
		"nope.mesh. A":    "REFUSED",
		"REV PTR":         "REFUSED",
	}},
	{name: "acl that filters", plugins: []string{"acl {\n\t\tfilter type SRV net *\n\t}"}, differ: map[string]string{
		"backend.mesh. SRV": "NOERROR",
	}},
	{name: "template", plugins: []string{"template IN TXT mesh {\n\t\tanswer \"{{ .Name }} 1 IN TXT by-template\"\n\t}"}, differ: map[string]string{
		"backend.mesh. TXT": `NOERROR aa | backend.mesh. 1 IN TXT "by-template"`,
		"backend.mesh. ANY": `NOERROR aa | backend.mesh. 1 IN TXT "by-template"`,
	}},
	{name: "hosts behind a zone that does not fall through", plugins: []string{"hosts {\n\t\t192.0.2.7 old.mesh backend.mesh\n\t}"}, differ: map[string]string{
		"old.mesh. A": nopeA,
	}},
	{
		name: "hosts behind a zone that falls through", plugins: []string{"hosts {\n\t\t192.0.2.7 old.mesh backend.mesh\n\t\tfallthrough\n\t}", "whoami"},
		properties: []string{"fallthrough mesh"}, differ: map[string]string{
			"old.mesh. A": "NOERROR aa | old.mesh. 3600 IN A 192.0.2.7",
			// As there is such a name in the table, nobody else is asked.
			"backend.mesh. AAAA": backendNo,
			"nope.mesh. A":       "NOERROR aa |  |  | nope.mesh. 0 A, _udp.nope.mesh. 0 SRV",
		},
	},
	{name: "cache", plugins: []string{"cache"}},
	{name: "dnssec without a client that wants it", plugins: []string{"dnssec"}},
	{name: "bufsize", plugins: []string{"bufsize 512"}},
	{name: "chaos", plugins: []string{"chaos"}},
	{name: "all at once", plugins: []string{"metadata", "debug", "log", "bufsize 1232", "any", "loadbalance", "rewrite stop type MX A", "acl {\n\t\tallow\n\t}", "cache", "minimal", "transfer {\n\t\tto *\n\t}"}, differ: map[string]string{
		"backend.mesh. ANY": `NOERROR | backend.mesh. 8482 IN HINFO "ANY obsoleted" "See RFC 8482"`,
		"backend.mesh. MX":  "NOERROR aa | backend.mesh. 60 IN A ADDR",
		"backend.mesh. SRV": "NOERROR aa | backend.mesh. 60 IN SRV 0 100 80 backend.mesh.",
		"mesh. NS":          "NOERROR aa | mesh. 60 IN NS ns.dns.mesh.",
	}},
}

func TestOtherPluginsDoTheirPartAndNoMore(t *testing.T) {
	t.Parallel()
	for _, n := range neighbours {
		t.Run(n.name, func(t *testing.T) {
			t.Parallel()
			p := neighbourly(t)
			p.zones = strings.TrimSpace("mesh 240.0.0.0/8 " + n.keys)
			s := launch(t, p.dir, p.beside(n.plugins, append(n.properties, "ns 192.0.2.53")...), "127.0.0.1:"+p.port)
			s.servesOther()
			fill := s.neighbours(p)
			s.from = n.from
			asked := make(map[string]string)
			if !n.alone {
				for q, want := range plain {
					asked[q] = want
				}
			}
			for q, want := range n.differ {
				asked[q] = want
			}
			for range 2 { // plugins may remember
				for q, want := range asked {
					name, qtype, _ := strings.Cut(fill.Replace(q), " ")
					if got := shown(s.ask(name, dns.StringToType[qtype])); got != fill.Replace(want) {
						t.Errorf("%s:\n\t%s, want\n\t%s", q, got, fill.Replace(want))
					}
				}
			}
			s.unlogged("[ERROR]")
			s.stop()
		})
	}
}

// neighbours waits for the table, which it takes from what is published since
// other plugins may change answers. It returns what fills in its addresses.
func (s *server) neighbours(p *site) *strings.Replacer {
	s.t.Helper()
	var table map[string]string
	s.wait("the table", func() bool {
		table = p.table("default")
		return table["0:backend"] != "" && table["0:wide"] != ""
	})
	rev, err := dns.ReverseAddr(table["0:backend"])
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.NewReplacer("ADDR", table["0:backend"], "WIDE", table["0:wide"], "REV", rev)
}
