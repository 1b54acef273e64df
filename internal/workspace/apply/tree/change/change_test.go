package change

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A world is a tree as a map from path to what is there: "/" for a directory, else
// content. It is the model that both ways of comparing are held against.
type world map[string]string

func (w world) entries() []Entry {
	var out []Entry
	for p, what := range w {
		e := Entry{Path: p, Mode: regular | 0o644, Size: int64(len(what)), Target: ""}
		if what == "/" {
			e = Entry{Path: p, Mode: directory | 0o755}
		}
		// The content shows in the inode: a file that was written is another.
		for _, c := range []byte(what) {
			e.Ino = e.Ino*31 + uint64(c)
		}
		out = append(out, e)
	}
	Sort(out)
	return out
}

var names = []string{"a", "b", "c"}

func draw(t *rapid.T, label string) string {
	parts := rapid.SliceOfN(rapid.SampledFrom(names), 1, 3).Draw(t, label)
	return strings.Join(parts, "/")
}

func (w world) remove(p string) {
	for q := range w {
		if Below(p, q) {
			delete(w, q)
		}
	}
}

func (w world) put(p, what string) {
	for i := range p {
		if p[i] == '/' && w[p[:i]] != "/" {
			w.remove(p[:i])
			w[p[:i]] = "/"
		}
	}
	if what != "/" || w[p] != "/" {
		w.remove(p)
	}
	w[p] = what
}

func randomWorld(t *rapid.T, label string) world {
	w := world{}
	for i := range rapid.IntRange(0, 8).Draw(t, label) {
		w.put(draw(t, fmt.Sprint(label, i)), rapid.SampledFrom([]string{"/", "x", "yy", ""}).Draw(t, "what"))
	}
	return w
}

// layerOf makes an upper layer that turns from into to, as overlayfs would.
func layerOf(from, to world, opaque func() bool) []Entry {
	layer := map[string]Entry{}
	above := func(p string) {
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			if _, ok := layer[dir]; !ok {
				layer[dir] = Entry{Path: dir, Mode: directory | 0o755}
			}
		}
	}
	for _, e := range to.entries() {
		if was, ok := from[e.Path]; ok && was == to[e.Path] {
			continue
		}
		above(e.Path)
		// What was made anew in the place of a file hides what is below nothing.
		layer[e.Path] = e
	}
	for p := range from {
		if _, there := to[p]; there {
			continue
		}
		if parent := path.Dir(p); parent != "." && to[parent] != "/" {
			continue // gone with what it was in
		}
		above(p)
		layer[p] = Entry{Path: p, Mode: character, Void: true}
	}
	for p, e := range layer {
		if !e.Directory() || !opaque() {
			continue
		}
		// An opaque directory shows what the layer has and nothing else.
		e.Opaque = true
		layer[p] = e
		for _, t := range to.entries() {
			if Below(p, t.Path) && t.Path != p {
				above(t.Path)
				if _, ok := layer[t.Path]; !ok {
					layer[t.Path] = t
				}
			}
		}
		for q, v := range layer {
			if v.Void && Below(p, q) {
				delete(layer, q)
			}
		}
	}
	var out []Entry
	for _, e := range layer {
		out = append(out, e)
	}
	Sort(out)
	return out
}

// replay does to a world what the changes say.
func replay(w world, changes []Change, to world) world {
	out := world{}
	for p, what := range w {
		out[p] = what
	}
	for _, c := range slices.Backward(changes) {
		if c.Before != nil {
			delete(out, c.Path())
		}
	}
	for _, c := range changes {
		if c.After != nil {
			out[c.Path()] = to[c.Path()]
		}
	}
	return out
}

func TestALayerSaysWhatChanged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		from, to := randomWorld(t, "from"), randomWorld(t, "to")
		layer := layerOf(from, to, func() bool { return rapid.Bool().Draw(t, "opaque") })
		changes := Over(from.entries(), layer)
		if diff := cmp.Diff(to, replay(from, changes, to)); diff != "" {
			t.Fatalf("changes that don't lead there (-want +got):\n%s\nlayer %+v", diff, layer)
		}
		for _, c := range changes {
			p := c.Path()
			if _, was := from[p]; was != (c.Before != nil) {
				t.Fatalf("%s: it was there: %v, but the change is %+v", p, was, c)
			}
			if _, is := to[p]; is != (c.After != nil) {
				t.Fatalf("%s: it is there: %v, but the change is %+v", p, is, c)
			}
		}
	})
}

func TestACopySaysWhatChanged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		from, to := randomWorld(t, "from"), randomWorld(t, "to")
		changes := Between(from.entries(), from.entries(), to.entries())
		if diff := cmp.Diff(to, replay(from, changes, to)); diff != "" {
			t.Fatalf("changes that don't lead there (-want +got):\n%s", diff)
		}
		for _, c := range changes {
			if p := c.Path(); from[p] == to[p] && c.Before != nil && c.After != nil {
				t.Fatalf("%s didn't change: %+v", p, c)
			}
		}
	})
}

// What a copy left out, such as a socket, isn't gone.
func TestWhatACopyLeavesOutIsNotGone(t *testing.T) {
	t.Parallel()
	base := []Entry{{Path: "socket", Mode: 0o140755}, {Path: "x", Mode: regular | 0o644}}
	if got := Between(base, base[1:], base[1:]); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

// A choice holds itself together: nothing is made in a directory that isn't.
func TestSelect(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		from, to := randomWorld(t, "from"), randomWorld(t, "to")
		all := Between(from.entries(), from.entries(), to.entries())
		name := draw(t, "name")
		chosen, missing := Select(all, []string{name})
		some := slices.ContainsFunc(all, func(c Change) bool { return Below(name, c.Path()) })
		if some == (len(missing) == 1) {
			t.Fatalf("missing is %q of %+v", missing, all)
		}
		got := replay(from, chosen, to)
		for _, c := range chosen {
			if parent := path.Dir(c.Path()); c.After != nil && parent != "." && got[parent] != "/" {
				t.Fatalf("%s is made in what is no directory: %q", c.Path(), got)
			}
		}
		for _, c := range all {
			if p := c.Path(); Below(name, p) && got[p] != to[p] {
				t.Fatalf("%s was named and stays %q", p, got[p])
			}
		}
	})
}

func entry() *rapid.Generator[Entry] {
	return rapid.Custom(func(t *rapid.T) Entry {
		parts := rapid.SliceOfN(rapid.StringMatching(`[^/\x00]{1,6}`), 1, 3).Draw(t, "parts")
		name := path.Clean(strings.Join(parts, "/"))
		if !Local(name) {
			name = "plain\xff\n\""
		}
		return Entry{
			Path: name, Mode: rapid.Uint32().Draw(t, "mode"), UID: rapid.Uint32().Draw(t, "uid"), GID: rapid.Uint32().Draw(t, "gid"),
			Size: rapid.Int64().Draw(t, "size"), Mtime: rapid.Int64().Draw(t, "mtime"), Ctime: rapid.Int64().Draw(t, "ctime"),
			Ino: rapid.Uint64().Draw(t, "ino"), Target: rapid.String().Draw(t, "target"),
		}
	})
}

func TestAListComesBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(entry(), 0, 5).Draw(t, "entries")
		var b bytes.Buffer
		if err := Write(&b, want); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		got, err := Read(&b, 5)
		if err != nil || len(got) != len(want) || len(got) > 0 && !slices.Equal(got, want) {
			t.Fatalf("%v\n%q\n%+v", err, text, got)
		}
		// A list that was cut off anywhere is none.
		cut := rapid.IntRange(0, len(text)-1).Draw(t, "cut")
		if got, err := Read(strings.NewReader(text[:cut]), 5); err == nil && cut != len(text)-1 {
			t.Fatalf("a list cut at %d of %d was read: %+v", cut, len(text), got)
		}
		if len(want) > 0 {
			if _, err := Read(strings.NewReader(text), len(want)-1); err == nil {
				t.Fatal("more was read than asked for")
			}
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add(heading + "\n100644 0 0 1 2 3 4 \"a\" \"\"\nend 1\n")
	f.Add(heading + "\n100644 0 0 1 2 3 4 \"../a\" \"\"\nend 1\n")
	f.Add(heading + "\nend 0\n")
	f.Fuzz(func(t *testing.T, text string) {
		entries, err := Read(strings.NewReader(text), 100)
		if err != nil {
			return
		}
		for _, e := range entries {
			if !Local(e.Path) {
				t.Errorf("%q", e.Path)
			}
		}
	})
}

func TestLeadsOut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, target string
		out          bool
	}{
		{"a", "b", false}, {"a", "../b", true}, {"d/a", "../b", false}, {"d/a", "../../b", true}, {"a", "/etc", true}, {"a", "", true},
		{"a", "b/../..", true}, {"d/a", "x/../../y", false}, {"d/a", "./../y", false}, {"a", "..", true}, {"d/a", "..", false},
	} {
		if got := LeadsOut(c.name, c.target); got != c.out {
			t.Errorf("LeadsOut(%q, %q) = %v", c.name, c.target, got)
		}
	}
}

func TestOrder(t *testing.T) {
	t.Parallel()
	want := []string{"a", "a/b", "a/b/c", "a-b", "a.b", "ab", "b"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, Compare)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
