package publish

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFileNamesAreSafeForAnyMesh(t *testing.T) {
	t.Parallel()
	for mesh, want := range map[string]string{
		"default":         "default",
		"a.b-c_9":         "a.b-c_9",
		"Prod":            "%50rod",
		".":               "%2E",
		"..":              "%2E.",
		".hidden":         "%2Ehidden",
		"../../etc/x":     "%2E.%2F..%2Fetc%2Fx",
		"%50rod":          "%2550rod",
		"a b\x00\n":       "a%20b%00%0A",
		"\xff":            "%FF",
		"é":               "%C3%A9",
		`C:\x`:            "%43%3A%5Cx",
		"x.outbounds":     "x.outbounds",
		"x.outbounds.yam": "x.outbounds.yam",
	} {
		got, err := stem(mesh)
		if err != nil || got != want {
			t.Errorf("stem(%q) = %q, %v; want %q", mesh, got, err, want)
		}
	}
}

func TestEachMeshHasFilesOfItsOwn(t *testing.T) {
	t.Parallel()
	safe := regexp.MustCompile(`^[a-z0-9_%-][a-zA-F0-9._%-]*$`)
	mesh := rapid.OneOf(
		rapid.StringMatching(`[aAbB.%24]{1,4}(\.outbounds|\.json|\.yaml){0,2}`),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 1, 20), func(b []byte) string { return string(b) }),
	)
	rapid.Check(t, func(t *rapid.T) {
		owner := make(map[string]string)
		for _, m := range rapid.SliceOfNDistinct(mesh, 1, 8, rapid.ID[string]).Draw(t, "meshes") {
			s, err := stem(m)
			if err != nil || !safe.MatchString(s) {
				t.Fatalf("stem(%q) = %q, %v", m, s, err)
			}
			if back, err := meshOf(s); err != nil || back != m {
				t.Fatalf("mesh %q came back as %q, %v", m, back, err)
			}
			for _, suffix := range []string{tableSuffix, outboundsSuffix} {
				name := strings.ToLower(s + suffix) // as a file system may see it
				if o, taken := owner[name]; taken {
					t.Fatalf("meshes %q and %q share the file %s", o, m, name)
				}
				owner[name] = m
			}
		}
	})
}

func TestMeshWithoutAFileNameIsAnError(t *testing.T) {
	t.Parallel()
	for mesh, want := range map[string]string{
		"":                                   "mesh has no name",
		strings.Repeat("a", maxStem+1):       "takes 241 bytes",
		strings.Repeat("A", maxStem/3+1):     "takes 243 bytes",
		strings.Repeat("a", 1_000_000):       "takes 1000000 bytes",
		strings.Repeat("/", maxStem/3) + "x": "takes 241 bytes",
	} {
		if s, err := stem(mesh); err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 400 {
			t.Errorf("stem(%.40q) = %q, %v; want an error that says %q", mesh, s, err, want)
		}
	}
	if _, err := stem(strings.Repeat("a", maxStem)); err != nil {
		t.Error(err)
	}
}

func TestFileOfNoMeshIsToldWhatToBeCalled(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"Prod":  `for mesh "Prod" it is %50rod.json`,
		"a b":   `for mesh "a b" it is a%20b.json`,
		"%61":   `for mesh "a" it is a.json`,
		"%2f":   `for mesh "/" it is %2F.json`,
		"%zz":   "not that of a mesh",
		"100%":  "not that of a mesh",
		"":      "no name",
		"a\xff": `it is a%FF.json`,
	} {
		if mesh, err := meshOf(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("meshOf(%q) = %q, %v; want an error that says %q", s, mesh, err, want)
		}
	}
}
