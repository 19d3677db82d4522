package file

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestOnlyWhatChangedIsHandedOver(t *testing.T) {
	t.Parallel()
	r := started(t, map[string]string{"/d/a.yaml": dp("a", "x"), "/d/b.yaml": dp("b", "y")})
	r.want("", "0:x 0:y")
	r.write("/d/a.yaml", dp("a", "x")).want("", "0:x 0:y") // touched
	r.write("/d/a.yaml", dp("a", "z")).want("delta", "0:y 0:z")
	r.write("/d/a.yaml", "# comment\n"+dp("a", "z")).want("", "0:y 0:z")
	r.write("/d/c.yaml", dp("c", "y")).want("", "0:y 0:z")
	if s := r.status(); !s.Synced || s.Errors != 0 || !s.LastSync.Equal(r.now) {
		t.Errorf("status %+v", s)
	}
}

func TestARemovedFileGoesAfterTheGrace(t *testing.T) {
	t.Parallel()
	r := started(t, map[string]string{"/d/a.yaml": dp("a", "x"), "/d/b.yaml": dp("b", "y")})
	r.remove("/d/a.yaml").want("", "0:x 0:y")
	if w := r.d.wake(); !w.Equal(r.now.Add(2 * time.Second)) {
		t.Errorf("wakes at %v", w)
	}
	r.after(1999*time.Millisecond).want("", "0:x 0:y")
	r.after(time.Millisecond).want("delta", "0:y")
	if w := r.d.wake(); !w.IsZero() {
		t.Errorf("wakes at %v for nothing", w)
	}
}

func TestAFileThatComesBackLosesNothing(t *testing.T) {
	t.Parallel()
	r := started(t, map[string]string{"/d/a.yaml": dp("a", "x"), "/d/b.yaml": dp("b", "y")})
	r.remove("/d/a.yaml").after(time.Second).write("/d/a.yaml", dp("a", "x")).want("", "0:x 0:y")
	r.after(time.Minute).want("", "0:x 0:y")
	r.remove("/d/a.yaml").after(time.Second).write("/d/a.yaml", dp("a", "z")).want("delta", "0:y 0:z")
	// Renamed: the resource has another file before the old one is let go.
	r.remove("/d/a.yaml").write("/d/c.yaml", dp("a", "z")).want("", "0:y 0:z")
	r.after(time.Minute).want("", "0:y 0:z")
}

func TestASlowRemovalIsOneBatch(t *testing.T) {
	t.Parallel()
	files := map[string]string{"/d/z.yaml": dp("z", "z")}
	for c := 'a'; c <= 'h'; c++ {
		files["/d/"+string(c)+".yaml"] = dp(string(c), string(c))
	}
	r := started(t, files)
	for c := 'a'; c <= 'h'; c++ {
		r.after(1500 * time.Millisecond).remove("/d/" + string(c) + ".yaml")
		r.want("", "0:a 0:b 0:c 0:d 0:e 0:f 0:g 0:h 0:z")
	}
	r.after(2*time.Second).want("delta", "0:z")
}

func TestTheGraceIsBounded(t *testing.T) {
	t.Parallel()
	files := map[string]string{"/d/z.yaml": dp("z", "z")}
	for c := 'a'; c <= 'l'; c++ {
		files["/d/"+string(c)+".yaml"] = dp(string(c), string(c))
	}
	r := started(t, files)
	began := r.now
	for c := 'a'; c <= 'l'; c++ {
		r.remove("/d/" + string(c) + ".yaml")
		if got := r.step(); got != "" {
			if d := r.now.Sub(began); d < MaxGrace || d > MaxGrace+1500*time.Millisecond {
				t.Errorf("the grace ended after %v", d)
			}
			return
		}
		r.after(1500 * time.Millisecond)
	}
	t.Error("constant removals put off the batch for ever")
}

func TestAbsenceIsNotDeletion(t *testing.T) {
	t.Parallel()
	files := map[string]string{"/d/a.yaml": dp("a", "x"), "/d/b.yaml": dp("b", "y")}

	t.Run("the directory is empty", func(t *testing.T) {
		r := started(t, files)
		read := r.now
		r.after(time.Second).remove("/d/a.yaml", "/d/b.yaml").after(time.Hour).want("", "0:x 0:y")
		r.problems("/d: the directory holds no resource file")
		r.scan(nil).after(time.Hour).want("", "0:x 0:y")
		if s := r.status(); !s.LastSync.Equal(read) || s.Errors != 1 {
			t.Errorf("status %+v, want the last sync at %v", s, read)
		}
		// The first that comes back gives the rest a whole grace.
		r.write("/d/b.yaml", dp("b", "y")).after(1900*time.Millisecond).want("", "0:x 0:y")
		r.problems()
		r.after(100*time.Millisecond).want("delta", "0:y")
	})
	t.Run("the directory is missing", func(t *testing.T) {
		r := started(t, files)
		r.remove("/d/a.yaml")
		r.d.fail(errors.New("the directory does not exist"))
		r.after(time.Hour).want("", "0:x 0:y")
		r.problems("/d: the directory does not exist: put the directory back")
		r.d.list(r.now, []string{"/d/b.yaml"}, nil)
		r.write("/d/b.yaml", dp("b", "y")).after(1900*time.Millisecond).want("", "0:x 0:y")
		r.problems()
		r.after(100*time.Millisecond).want("delta", "0:y")
	})
	t.Run("one file with a comment says that none is meant", func(t *testing.T) {
		r := started(t, files)
		r.write("/d/none.yaml", "# nothing here\n").remove("/d/a.yaml", "/d/b.yaml").after(2*time.Second).want("delta", "")
		r.problems()
	})
	t.Run("a subdirectory cannot be listed", func(t *testing.T) {
		r := started(t, map[string]string{"/d/a.yaml": dp("a", "x"), "/d/s/t/b.yaml": dp("b", "y"), "/d/sx.yaml": dp("c", "z")})
		r.d.list(r.now, []string{"/d/a.yaml"}, map[string]error{"/d/s": errors.New("permission denied")})
		r.after(time.Minute).want("delta incomplete", "0:x 0:y 0:z")
		r.problems("/d/s: permission denied: make the directory readable")
		r.scan(map[string]string{"/d/a.yaml": dp("a", "x"), "/d/s/t/b.yaml": dp("b", "y")}).want("full", "0:x 0:y")
		r.problems()
	})
}

func TestTheFirstBatchWaitsForTheDirectory(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.d.fail(errors.New("the directory does not exist"))
	r.after(time.Hour).want("", "")
	r.problems("the directory does not exist: create the directory")
	if s := r.status(); s.Synced || !s.LastSync.IsZero() {
		t.Errorf("status %+v", s)
	}
	// It may still be being filled, so what it lacks is not yet known.
	r.scan(map[string]string{"/d/a.yaml": dp("a", "x")}).want("full incomplete", "0:x")
	r.after(1500*time.Millisecond).write("/d/b.yaml", dp("b", "y")).want("delta incomplete", "0:x 0:y")
	r.after(1500*time.Millisecond).want("", "0:x 0:y")
	r.after(500*time.Millisecond).want("full", "0:x 0:y")
	if !r.status().Synced {
		t.Error("not synced")
	}
}

func TestAnEmptyDirectoryAtTheStartIsIncomplete(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.table["0:old"] = ""
	r.scan(nil).want("full incomplete", "0:old")
	r.after(time.Hour).scan(nil).want("", "0:old")
	if s := r.status(); s.Synced || !s.LastSync.IsZero() {
		t.Errorf("status %+v", s)
	}
	r.write("/d/a.yaml", dp("a", "x")).want("delta incomplete", "0:old 0:x")
	r.after(2*time.Second).want("full", "0:x")
}

func TestABrokenFileKeepsItsLastGoodContent(t *testing.T) {
	t.Parallel()
	good := dp("a", "x", "y")
	for name, tc := range map[string]struct{ text, problem string }{
		"truncated to nothing": {"", "the file is empty and counts as cut short"},
		"only blanks":          {" \n\n", "the file is empty"},
		"half a document":      {good[:len(good)-30], "/d/a.yaml: line 6"},
		"a second one cut":     {dp("a", "z") + "---\ntyp", "/d/a.yaml: line 7"},
		"cut in the type":      {"type: Dat", "/d/a.yaml:1: document: an unknown type"},
		"binary":               {"\x00\x01", "NUL byte"},
		"not UTF-8":            {"a: \xff", "not UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := started(t, map[string]string{"/d/a.yaml": good, "/d/b.yaml": dp("b", "b")})
			for range 3 { // the poll reads it again and again
				r.after(10*time.Second).write("/d/a.yaml", tc.text).want("", "0:b 0:x 0:y")
				r.problems(tc.problem)
				if s := r.status(); s.Errors != 1 {
					t.Errorf("%d errors counted, want 1", s.Errors)
				}
			}
			r.write("/d/b.yaml", dp("b", "c")).want("delta", "0:c 0:x 0:y")
			r.write("/d/a.yaml", dp("a", "x")).want("delta", "0:c 0:x")
			r.problems()
			r.write("/d/a.yaml", tc.text)
			if s := r.status(); s.Errors != 2 {
				t.Errorf("%d errors counted, want 2", s.Errors)
			}
		})
	}
}

func TestAnUnreadableFileKeepsItsLastGoodContent(t *testing.T) {
	t.Parallel()
	r := started(t, map[string]string{"/d/a.yaml": dp("a", "x"), "/d/b.yaml": dp("b", "y")})
	for range 2 {
		r.d.unreadable(r.now, "/d/a.yaml", errors.New("cannot be read: permission denied"))
		r.after(time.Minute).want("", "0:x 0:y")
		r.problems("/d/a.yaml: cannot be read")
	}
	if s := r.status(); s.Errors != 1 {
		t.Errorf("%d errors counted, want 1", s.Errors)
	}
	r.write("/d/a.yaml", dp("a", "x")).want("", "0:x 0:y")
	r.problems()
	r.d.unreadable(r.now, "/d/c.yaml", errors.New("is larger than 16 bytes"))
	r.remove("/d/a.yaml").after(time.Minute).want("delta incomplete", "0:x 0:y")
	r.remove("/d/c.yaml").after(time.Minute).want("full", "0:y")
	r.problems()
}

func TestAFileThatWasNeverGoodMakesBatchesIncomplete(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.table["0:old"] = ""
	r.scan(map[string]string{"/d/a.yaml": dp("a", "x"), "/d/bad.yaml": "Dat", "/d/empty.yaml": ""}).want("full incomplete", "0:old 0:x")
	if got := r.d.missing(); got != "never read well: /d/bad.yaml, /d/empty.yaml" {
		t.Errorf("incomplete because %q", got)
	}
	r.problems("/d/bad.yaml: line 1: not a mapping", "/d/empty.yaml: the file is empty")
	if r.status().Synced {
		t.Error("synced, although a file is unknown")
	}
	r.write("/d/a.yaml", dp("a", "y")).want("delta incomplete", "0:old 0:x 0:y")
	r.write("/d/bad.yaml", dp("b", "z")).want("delta incomplete", "0:old 0:x 0:y 0:z")
	r.write("/d/empty.yaml", "# none").want("full", "0:y 0:z")
	if !r.status().Synced {
		t.Error("not synced")
	}
}

func TestAnInvalidDocumentIsSetAsideAlone(t *testing.T) {
	t.Parallel()
	file := func(docs ...string) string { return strings.Join(docs, "---\n") }
	badMesh := strings.Replace(dp("a", "x"), "type", "mesh: 7\ntype", 1)
	noName := strings.Replace(dp("a", "x"), "name: \"a\"\n", "", 1)
	noNet := "type: Dataplane\nname: \"a\"\n"
	for name, tc := range map[string]struct{ bad, problem string }{
		"bad mesh":       {badMesh, `/d/f.yaml:1: Dataplane "a": mesh: the number 7`},
		"no name":        {noName, `/d/f.yaml:1: Dataplane of mesh "default": the Dataplane has no name`},
		"no networking":  {noNet, `/d/f.yaml:1: Dataplane "a" of mesh "default": networking is missing`},
		"no type":        {strings.Replace(dp("a", "x"), "type: Dataplane\n", "", 1), "/d/f.yaml:1: document: the document has neither"},
		"entry too long": {dp("a", strings.Repeat("l", 2000)), "entry name is longer than 1024 bytes (its last good version stays)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := started(t, map[string]string{"/d/f.yaml": file(dp("a", "x"), dp("b", "y"))})
			r.write("/d/f.yaml", file(tc.bad, dp("b", "z"), dp("c", "w"))).want("delta", "0:w 0:x 0:z")
			r.problems(tc.problem)
			r.write("/d/f.yaml", file(dp("b", "z"))).want("delta", "0:z")
			r.problems()
			// Now no good version is known, which is not the same as none.
			r.write("/d/f.yaml", file(strings.ReplaceAll(tc.bad, `"a"`, `"n"`), dp("b", "z"))).want("", "0:z")
			r.remove("/d/f.yaml").write("/d/g.yaml", dp("g", "g")).after(time.Minute).want("delta", "0:g")
		})
	}
	r := newRig(t)
	r.table["0:old"] = ""
	r.scan(map[string]string{"/d/f.yaml": file(noNet, dp("b", "y"))}).want("full incomplete", "0:old 0:y")
	r.problems("(it is set aside)")
	r.write("/d/f.yaml", file(dp("a", "x"), dp("b", "y"))).want("full", "0:x 0:y")
}

func TestARefusedBatchComesAgainInFull(t *testing.T) {
	t.Parallel()
	r := started(t, map[string]string{"/d/a.yaml": dp("a", "x"), "/d/b.yaml": dp("b", "y")})
	r.err = errDisk
	r.write("/d/a.yaml", dp("a", "z")).want("delta refused", "0:x 0:y")
	r.problems("disk full")
	for _, wait := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
		wait *= time.Second
		if w := r.u.Wake(); !w.Equal(r.now.Add(wait)) {
			t.Errorf("tries again after %v, want %v", w.Sub(r.now), wait)
		}
		r.after(wait-time.Millisecond).want("", "0:x 0:y")
		r.after(time.Millisecond).want("full refused", "0:x 0:y")
	}
	// The next change does not wait.
	r.write("/d/b.yaml", dp("b", "w")).want("full refused", "0:x 0:y")
	r.err = nil
	r.write("/d/b.yaml", dp("b", "v")).want("full", "0:v 0:z")
	r.problems()
	if s := r.status(); s.Errors != 1 {
		t.Errorf("%d errors counted, want 1", s.Errors)
	}
}

func TestRemarksAndClashesAreReported(t *testing.T) {
	t.Parallel()
	r := started(t, map[string]string{
		"/d/a.yaml": "type: ZoneIngress\nname: i\navailableServices: [{tags: {kuma.io/service: s}}]\n",
		"/d/b.yaml": dp("b", "y"),
		"/d/c.yaml": dp("b", "z"),
		"/d/d.yaml": strings.Replace(dp("d", "w"), "type", "mesh: far\ntype", 1),
	})
	r.want("", "0:y")
	r.problems(`/d/a.yaml:1: ZoneIngress "i" names no zone`, `/d/c.yaml:1: Dataplane "b" of mesh "default" is declared in /d/b.yaml:1 already`, "mesh far: the mesh is not declared")
	r.remove("/d/b.yaml").after(2*time.Second).want("delta", "0:z")
	r.write("/d/m.yaml", "type: Mesh\nname: far\n").want("delta", "0:z far/ far/0:w")
	r.remove("/d/m.yaml").after(2*time.Second).want("delta", "0:z")
}

func TestABadVIPTagIsReportedAndTheServiceStays(t *testing.T) {
	t.Parallel()
	r := started(t, map[string]string{"/d/a.yaml": pinned("a", "x", "240.0.0.9")})
	r.want("", "0:x=240.0.0.9")
	r.problems()
	r.write("/d/a.yaml", pinned("a", "x", "240.0.0")+"---\n"+pinned("b", "z", "fd00::9")).want("delta", "0:x 0:z=fd00::9")
	r.problems(`/d/a.yaml:1: Dataplane "a" of mesh "default": networking.inbound[0].tags.meshvip.io/vip: "240.0.0" is no IP address: write one, such as 240.0.0.9 or fd00::9 (all else of it counts)`)
	if s := r.status(); s.Errors != 1 || !s.Synced {
		t.Errorf("status %+v", s)
	}
	r.write("/d/c.yaml", pinned("c", "z", "fd00::8")).want("delta", "0:x 0:z=fd00::8")
	r.problems(`"240.0.0" is no IP address`, `/d/a.yaml:7: Dataplane "b" of mesh "default" asks for the address fd00::9`)
	r.remove("/d/c.yaml").after(time.Minute).want("delta", "0:x 0:z=fd00::9")
	r.write("/d/a.yaml", pinned("a", "x", "240.0.0.8")).want("delta", "0:x=240.0.0.8")
	r.problems()
}

func TestABadVIPTagAtTheStartLeavesNothingUnknown(t *testing.T) {
	t.Parallel()
	r := newRig(t).scan(map[string]string{"/d/a.yaml": pinned("a", "x", "web")})
	r.want("full", "0:x")
	if s := r.status(); !s.Synced || len(s.Problems) != 1 {
		t.Errorf("status %+v", s)
	}
}

func TestAMeshServiceIsFollowed(t *testing.T) {
	t.Parallel()
	r := started(t, map[string]string{"/d/a.yaml": told("a", "{ip: 241.0.0.1}"), "/d/b.yaml": dp("b", "y")})
	r.want("", "0:y 3:default/a<241.0.0.1~a.local")
	r.write("/d/a.yaml", told("a", "{ip: 241.0.0.2}, {ip: bad}")).want("delta", "0:y 3:default/a<241.0.0.2~a.local")
	r.problems(`MeshService "a" of mesh "default": status.vips[1].ip: "bad" is no IP address`)
	r.write("/d/a.yaml", told("a", "241.0.0.3")).want("", "0:y 3:default/a<241.0.0.2~a.local")
	r.problems(`status.vips[0]: the text "241.0.0.3" where a mapping is expected (its last good version stays)`)
	r.write("/d/a.yaml", "mesh: m\n"+told("a", "")+"---\ntype: Mesh\nname: m\n").want("delta", "0:y m/ m/3:m/a~a.local")
	r.write("/d/a.yaml", "mesh: m\n"+told("a", "")).want("delta", "0:y")
	r.problems("mesh m: the mesh is not declared")
	r.write("/d/a.yaml", "type: MeshService\nname: a\nspec: {}\n").want("delta", "0:y 3:default/a")
	r.problems() // that nothing answers to it is normal in a file
	r.remove("/d/a.yaml").after(time.Minute).want("delta", "0:y")
}
