package test

import (
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"
)

var metricLine = regexp.MustCompile("(?m)^\\* `(coredns_meshvip_[a-z_]+)\\{([a-z, ]*)\\}`")

// documentedMetrics returns the labels of each metric of the plugin's README,
// sorted. Those of a store in etcd alone are left out where there is none.
func documentedMetrics(t testing.TB, etcd bool) map[string]string {
	t.Helper()
	text := section(t, pluginREADME, "Metrics")
	if !etcd {
		var ok bool
		if text, _, ok = strings.Cut(text, "\nWith a store in etcd there are also:\n"); !ok {
			t.Fatal("the README does not tell which metrics a store in etcd has alone")
		}
	}
	metrics := make(map[string]string)
	for _, m := range metricLine.FindAllStringSubmatch(text, -1) {
		labels := strings.Split(m[2], ", ")
		slices.Sort(labels)
		metrics[m[1]] = strings.Join(labels, ", ")
	}
	if len(metrics) == 0 {
		t.Fatal("the README has no metrics")
	}
	return metrics
}

func TestEveryMetricIsDocumentedAndEveryDocumentedOneIsThere(t *testing.T) {
	t.Parallel()
	d := document(t, readDoc(t, "Corefile.example"), "")
	s := d.start(t)
	s.metrics = d.metrics
	if diff := cmp.Diff(documentedMetrics(t, false), s.exported()); diff != "" {
		t.Errorf("metrics and their labels (-README +scrape):\n%s", diff)
	}
}

func TestEveryMetricOfAReplicaIsDocumentedAndEveryDocumentedOneIsThere(t *testing.T) {
	t.Parallel()
	s := startDocumentedReplicas(t).replica(t)
	leader([]*server{s})
	s.resolves(members[hostMesh] + ".mesh") // there is something in the pools
	if diff := cmp.Diff(documentedMetrics(t, true), s.exported()); diff != "" {
		t.Errorf("metrics and their labels (-README +scrape):\n%s", diff)
	}
}

// exported returns the labels of each metric of the plugin's that the server
// shows, sorted.
func (s *server) exported() map[string]string {
	s.t.Helper()
	s.ask("backend.mesh", dns.TypeA) // counted in requests_total
	page, err := fetch("http://" + s.metrics + "/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	got := make(map[string]string)
	for _, m := range regexp.MustCompile(`(?m)^(coredns_meshvip_[a-z_]+)\{(.*)\} `).FindAllStringSubmatch(page, -1) {
		name := m[1]
		for _, part := range []string{"_bucket", "_sum", "_count"} {
			if whole := strings.TrimSuffix(name, part); strings.Contains(page, "# TYPE "+whole+" histogram") {
				name = whole
			}
		}
		var labels []string
		for _, l := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(m[2], -1) {
			if l[1] != "le" {
				labels = append(labels, l[1])
			}
		}
		slices.Sort(labels)
		got[name] = strings.Join(labels, ", ")
	}
	return got
}

// sources returns the text of the module's Go files, tests aside, with strings
// that are written in several parts put together.
func sources(t testing.TB) string {
	t.Helper()
	var all strings.Builder
	for _, f := range repositoryFiles(t, ".go") {
		if !strings.HasSuffix(f, "_test.go") && !strings.HasPrefix(f, "test/") {
			all.WriteString(readDoc(t, f))
		}
	}
	return regexp.MustCompile(`"\s*\+\s*"`).ReplaceAllString(all.String(), "")
}

// TestWhatGoesWrongIsCalledByItsName compares the README's table of what can go
// wrong with the log lines and metrics of the code.
func TestWhatGoesWrongIsCalledByItsName(t *testing.T) {
	t.Parallel()
	code := sources(t)
	metrics := documentedMetrics(t, true)
	code1 := regexp.MustCompile("`([^`]+)`")
	bare := regexp.MustCompile(`^([a-z_]+)(\{[^}]*\})?$`)
	rows := 0
	for line := range strings.Lines(section(t, projectREADME, "When something goes wrong")) {
		cells := strings.Split(line, " | ")
		if len(cells) != 3 || !strings.Contains(cells[0], "`") {
			continue
		}
		rows++
		for _, m := range code1.FindAllStringSubmatch(cells[0], -1) {
			if name := bare.FindStringSubmatch(m[1]); name != nil {
				if _, ok := metrics["coredns_meshvip_"+name[1]]; !ok {
					t.Errorf("the README names the metric %q, which there is not", name[1])
				}
				continue
			}
			for part := range strings.SplitSeq(m[1], "…") {
				if part = strings.TrimSpace(part); !strings.Contains(code, part) {
					t.Errorf("the README quotes %q from the log, and no source file has %q", m[1], part)
				}
			}
		}
	}
	if rows < 10 {
		t.Errorf("found %d rows in the table", rows)
	}
}

func TestTheMapMatchesTheTree(t *testing.T) {
	t.Parallel()
	onMap := make(map[string]bool)
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)/` \\|").FindAllStringSubmatch(section(t, contributing, "The map"), -1) {
		onMap[m[1]] = true
		if info, err := os.Stat(filepath.Join(top, m[1])); err != nil || !info.IsDir() {
			t.Errorf("%s is on the map and not in the tree", m[1])
		}
	}
	inTree := make(map[string]bool)
	for _, f := range repositoryFiles(t, ".go") {
		inTree[path.Dir(f)] = true
	}
	for _, dir := range slices.Sorted(maps.Keys(inTree)) {
		if !onMap[dir] {
			t.Errorf("%s has Go files and is not on the map in %s", dir, contributing)
		}
	}
}

func TestEveryFileThatIsNamedExists(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile("`([a-z0-9_./-]+\\.(?:go|md|mod|db|example))`")
	found := 0
	for _, m := range named.FindAllStringSubmatch(readDoc(t, contributing), -1) {
		if !strings.Contains(m[1], "/") {
			continue // "doc.go" of each package, "go.mod"
		}
		found++
		if _, err := os.Stat(filepath.Join(top, m[1])); err != nil {
			t.Errorf("%s names %s: %v", contributing, m[1], err)
		}
	}
	if found == 0 {
		t.Error("found no file names")
	}
}

// TestPackagesImportWhatTheMapAllows holds the sentence below the map.
func TestPackagesImportWhatTheMapAllows(t *testing.T) {
	t.Parallel()
	const module = "github.com/meshvip/coredns-meshvip/"
	for _, f := range repositoryFiles(t, ".go") {
		root, _, _ := strings.Cut(f, "/")
		if !slices.Contains([]string{"vip", "watcher", "allocator", "names", "kumatable", "publish"}, root) || strings.HasSuffix(f, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(top, f), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range file.Imports {
			imported := strings.Trim(i.Path.Value, `"`)
			own, ofModule := strings.CutPrefix(imported, module)
			package1, _, _ := strings.Cut(own, "/")
			switch {
			case strings.HasPrefix(imported, "github.com/coredns/"):
				t.Errorf("%s imports %s: only plugin/meshvip may", f, imported)
			case root == "publish" && package1 == "kumatable":
			case ofModule && package1 != root && (root == "vip" || package1 != "vip"):
				t.Errorf("%s imports %s: packages of the core import vip alone", f, imported)
			}
		}
	}
}

var markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)

func TestNoRelativeLinkIsDead(t *testing.T) {
	t.Parallel()
	found := 0
	for _, doc := range repositoryFiles(t, ".md") {
		for _, m := range markdownLink.FindAllStringSubmatch(readDoc(t, doc), -1) {
			link := m[1]
			if strings.Contains(link, "://") {
				continue
			}
			found++
			target, anchor, anchored := strings.Cut(link, "#")
			if target = path.Join(path.Dir(doc), target); target == path.Dir(doc) {
				target = doc // "#anchor"
			}
			if _, err := os.Stat(filepath.Join(top, target)); err != nil {
				t.Errorf("%s: link %s is dead: %v", doc, link, err)
			} else if anchored && !slices.Contains(anchors(t, target), anchor) {
				t.Errorf("%s: link %s: %s has no such heading", doc, link, target)
			}
		}
	}
	if found == 0 {
		t.Error("found no links")
	}
}

// anchors returns what links into a document may name: its headings, in the
// form that web sites give them.
func anchors(t testing.TB, doc string) []string {
	t.Helper()
	var list []string
	for line := range strings.Lines(readDoc(t, doc)) {
		if heading, ok := strings.CutPrefix(strings.TrimLeft(strings.TrimSpace(line), "#"), " "); ok && line[0] == '#' {
			slug := strings.ReplaceAll(strings.ToLower(heading), " ", "-")
			list = append(list, regexp.MustCompile(`[^a-z0-9_-]`).ReplaceAllString(slug, ""))
		}
	}
	return list
}
