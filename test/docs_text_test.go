package test

import (
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The documents that say how to use the software.
const (
	projectREADME = "README.md"
	pluginREADME  = "plugin/meshvip/README.md"
	contributing  = "CONTRIBUTING.md"
)

// readDoc returns a file of the repository.
func readDoc(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(top, filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// repositoryFiles returns the files of the repository that have one of the
// endings, as slash-separated paths below its top, sorted. What builds and runs
// leave behind is not of it.
func repositoryFiles(t testing.TB, endings ...string) []string {
	t.Helper()
	files, err := findFiles(endings...)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func findFiles(endings ...string) (files []string, err error) {
	err = fs.WalkDir(os.DirFS(top), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !d.IsDir():
			if slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(path, e) }) {
				files = append(files, path)
			}
		case path == "bin", path == "data", d.Name() == "testdata", path != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		}
		return nil
	})
	return files, err
}

// fence is a block of a document between two lines of ``` or ~~~.
type fence struct {
	at   string // "README.md:12"
	info string // what stands behind the opening
	text string
}

// fences returns the blocks of a document. An indented one loses its
// indentation.
func fences(t testing.TB, path string) []fence {
	t.Helper()
	var list []fence
	var open *fence
	mark, indent := "", ""
	n := 0
	for line := range strings.Lines(readDoc(t, path)) {
		n++
		text := strings.TrimSpace(line)
		switch {
		case open == nil && (strings.HasPrefix(text, "```") || strings.HasPrefix(text, "~~~")):
			mark = text[:3]
			indent = line[:strings.Index(line, mark)]
			open = &fence{at: fmt.Sprintf("%s:%d", path, n), info: strings.TrimSpace(strings.TrimLeft(text, mark))}
		case open != nil && text == mark:
			list = append(list, *open)
			open = nil
		case open != nil:
			open.text += strings.TrimPrefix(line, indent)
		}
	}
	if open != nil {
		t.Fatalf("%s: the block has no end", open.at)
	}
	return list
}

// section returns what stands below a heading of the second level.
func section(t testing.TB, path, heading string) string {
	t.Helper()
	_, after, ok := strings.Cut("\n"+readDoc(t, path), "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("%s has no section %q", path, heading)
	}
	text, _, _ := strings.Cut(after, "\n## ")
	return text
}

// fetch returns what an HTTP server answers with 200.
func fetch(url string) (string, error) {
	client := http.Client{Timeout: patience}
	r, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, r.Status)
	}
	return string(body), err
}
