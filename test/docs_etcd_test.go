package test

import (
	"net/netip"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/meshvip/coredns-meshvip/test/etcdtest"
	"github.com/miekg/dns"
)

// documentedReplicas is the Corefile in the plugin's README that several machines
// have, and a real etcd for it, with TLS and users as it states them.
type documentedReplicas struct {
	corefile string
	etcd     *etcdtest.Server
}

// ofReplica are the lines of that Corefile that name what is elsewhere here.
var ofReplica = map[string]*regexp.Regexp{
	"keys":       regexp.MustCompile(`(?m)^mesh 240\.0\.0\.0/8 \{$`),
	"ready":      regexp.MustCompile(`(?m)^    ready$`),
	"prometheus": regexp.MustCompile(`(?m)^    prometheus$`),
	"endpoints":  regexp.MustCompile(`store etcd( https://etcd-[1-3]\.example\.org:2379){3} \{`),
	"tls":        regexp.MustCompile(`tls /etc/meshvip/\S+ /etc/meshvip/\S+ /etc/meshvip/\S+`),
	"password":   regexp.MustCompile(`credentials meshvip \S+`),
	"source":     regexp.MustCompile(`source kuma \S+`),
	"admin":      regexp.MustCompile(`admin unix:\S+`),
	"publish":    regexp.MustCompile(`publish \S+`),
}

func startDocumentedReplicas(t testing.TB) *documentedReplicas {
	t.Helper()
	r := &documentedReplicas{}
	for _, f := range fences(t, pluginREADME) {
		if f.info == "corefile" && strings.Contains(f.text, "store etcd") {
			r.corefile = f.text
		}
	}
	if r.corefile == "" {
		t.Fatal("the README has no Corefile with a store in etcd")
	}
	r.etcd = etcdtest.Start(t, etcdtest.WithTLS(), etcdtest.WithUnsafeNoFsync())
	r.etcd.EnableAuth(t, "of root", "meshvip", "of meshvip", "/meshvip/")
	files, secrets := r.etcd.TLS(), t.TempDir()
	write(t, secrets, "password", "of meshvip\n")
	r.replace(t, "endpoints", "store etcd "+r.etcd.Endpoint()+" {\nlease 2s")
	r.replace(t, "tls", "tls "+files.Cert+" "+files.Key+" "+files.CA)
	r.replace(t, "password", "credentials meshvip "+filepath.Join(secrets, "password"))
	r.replace(t, "source", "source kuma "+exampleControlPlane(t))
	return r
}

// replace puts what is here in the place of what is documented.
func (r *documentedReplicas) replace(t testing.TB, what, here string) {
	t.Helper()
	if !ofReplica[what].MatchString(r.corefile) {
		t.Fatalf("the Corefile of the replicas has no line for %s:\n%s", what, r.corefile)
	}
	r.corefile = ofReplica[what].ReplaceAllLiteralString(r.corefile, here)
}

// replica starts one more replica, and does not wait for anything.
func (r *documentedReplicas) replica(t testing.TB) *server {
	t.Helper()
	own := *r
	port, metrics := freePort(t), "127.0.0.1:"+freePort(t)
	own.replace(t, "keys", "mesh:"+port+" 240.0.0.0/8:"+port+" {\nbind 127.0.0.1")
	own.replace(t, "ready", "ready 127.0.0.1:"+freePort(t))
	own.replace(t, "prometheus", "prometheus "+metrics)
	own.replace(t, "admin", "admin unix:admin.sock")
	own.replace(t, "publish", "publish published")
	s := launch(t, t.TempDir(), own.corefile, "127.0.0.1:"+port)
	s.metrics = metrics
	return s
}

// gauge returns the value of a metric that has the label of the store alone, ""
// if it is not there.
func (s *server) gauge(name string) string {
	page, err := fetch("http://" + s.metrics + "/metrics")
	if err != nil {
		return ""
	}
	m := regexp.MustCompile(`(?m)^coredns_meshvip_` + name + `\{store="[^"]*"\} (\S+)$`).FindStringSubmatch(page)
	if m == nil {
		return ""
	}
	return m[1]
}

// leader waits until one of the replicas allocates, and returns it with the rest.
func leader(replicas []*server) (leads *server, follow []*server) {
	replicas[0].t.Helper()
	replicas[0].wait("one replica to lead", func() bool {
		leads, follow = nil, nil
		for _, s := range replicas {
			switch s.gauge("leader") {
			case "1":
				leads = s
			case "0":
				follow = append(follow, s)
			}
		}
		return leads != nil && len(follow) == len(replicas)-1
	})
	return leads, follow
}

// storeID is the line by which a replica shows which table it has.
var storeID = regexp.MustCompile(`coredns_meshvip_store_info\{id="(\w+)",store="etcd https://[^ "]* /meshvip/"\} 1\n`)

func TestTheReplicasOfTheDocumentsAreOneTable(t *testing.T) {
	t.Parallel()
	documented := startDocumentedReplicas(t)
	replicas := []*server{documented.replica(t), documented.replica(t), documented.replica(t)}
	leads, follow := leader(replicas)
	want, ids := make(map[string]netip.Addr), make(map[string]bool)
	for _, service := range members {
		want[service] = leads.resolves(service + ".mesh")
	}
	for _, s := range replicas {
		for service, addr := range want {
			if got := s.resolves(service + ".mesh"); got != addr || s.ptr(got) != service+".mesh." {
				t.Errorf("%s is at %v, and at %v for another replica", service, addr, got)
			}
		}
		page, err := fetch("http://" + s.metrics + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		m := storeID.FindStringSubmatch(page)
		if m == nil {
			t.Fatal("a replica does not show the id of its table")
		}
		ids[m[1]] = true
	}
	if len(ids) != 1 {
		t.Errorf("the replicas are of the tables %v", ids)
	}
	for _, s := range replicas { // the age of what etcd said is shown wherever one is asked
		shown := s.gauge("replica_lag_seconds")
		s.wait("the age of its table to be another", func() bool { now := s.gauge("replica_lag_seconds"); return now != "" && now != shown })
	}
	leads.kill()
	next, _ := leader(follow)
	for service, addr := range want {
		if got := next.addr4(service + ".mesh"); got != addr {
			t.Errorf("%s was at %v, and is at %v with another leader", service, addr, got)
		}
	}
	for _, s := range follow {
		if r := s.ask("no-such-service.mesh", dns.TypeA); r.Rcode != dns.RcodeNameError {
			t.Errorf("a name that nobody has: %s", dns.RcodeToString[r.Rcode])
		}
		s.stop()
		if s.err != nil {
			t.Errorf("the server ended with %v on SIGTERM", s.err)
		}
	}
}
