package contain

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/contain/listed"
	"paddock/internal/testproc"
)

func newHedge(t *testing.T) (*Hedge, Host) {
	t.Helper()
	host := Probe()
	if err := host.Can(paddock.Standard); err != nil {
		testproc.Skip(t, err.Error())
	}
	f, err := NewHedge(host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			t.Error(err)
		}
	})
	return f, host
}

// A run gets the rules that it would get without, or none of a hedge's.
func TestWhomAHedgeServes(t *testing.T) {
	t.Parallel()
	f, probed := newHedge(t)
	wish := Wish{Level: paddock.Standard, Network: "none", Root: "/srv", Dir: "/srv", Programs: []string{"/bin/true"}}
	for name, c := range map[string]struct {
		change func(*Wish, *Host)
		want   bool
	}{
		"as most":         {func(*Wish, *Host) {}, true},
		"read and write":  {func(w *Wish, _ *Host) { w.Read, w.Write = []string{"/srv/a"}, []string{"/srv/b"} }, true},
		"an account":      {func(w *Wish, _ *Host) { w.Account = &paddock.Account{UID: 1, GID: 1} }, true},
		"full":            {func(w *Wish, _ *Host) { w.Level = paddock.Full }, false},
		"off":             {func(w *Wish, _ *Host) { w.Level = paddock.Off }, false},
		"another network": {func(w *Wish, _ *Host) { w.Network = "host" }, false},
		"read-only":       {func(w *Wish, _ *Host) { w.ReadOnly = true }, false},
		"listed":          {func(w *Wish, _ *Host) { w.Listed = []listed.Entry{} }, false},
		"another ABI":     {func(_ *Wish, h *Host) { h.LandlockABI++ }, false},
		"less of /etc":    {func(_ *Wish, h *Host) { h.Etc = h.Etc[1:] }, false},
		"more directories": {func(_ *Wish, h *Host) {
			h.Directories = append(slices.Clone(h.Directories), "/new")
		}, false},
		"another link": {func(_ *Wish, h *Host) {
			h.Links = maps.Clone(h.Links)
			h.Links["/new"] = "usr"
		}, false},
	} {
		w, host := wish, probed
		c.change(&w, &host)
		if got := f.serves(w, host); got != c.want {
			t.Errorf("%s: serves %t", name, got)
		}
	}
	if (*Hedge)(nil).serves(wish, probed) || (*Hedge)(nil).Close() != nil {
		t.Error("what isn't there serves")
	}
	less := probed
	less.LandlockABI = 5
	if _, err := NewHedge(less); !errors.Is(err, ErrUnavailable) {
		t.Errorf("made without what it takes: %v", err)
	}
}

// What was put in a file's place, taken away or put where nothing was ends it.
func TestAHedgeIsOfFiles(t *testing.T) {
	t.Parallel()
	f, host := newHedge(t)
	path := filepath.Join(t.TempDir(), "names")
	write := func(name string) {
		t.Helper()
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wish := Wish{Level: paddock.Standard, Network: "none"}
	serves := func(what string, want bool) {
		t.Helper()
		if got := f.serves(wish, host); got != want {
			t.Errorf("%s: serves %t", what, got)
		}
	}
	rule := pathRule{path: path, access: rightReadFile, file: true, maybe: true}
	if err := f.add(rule); err != nil {
		t.Fatal(err)
	}
	serves("nothing there, as before", true)
	write(path)
	serves("something there", false)

	f.rules = f.rules[:len(f.rules)-1]
	if err := f.add(rule); err != nil {
		t.Fatal(err)
	}
	serves("it is there, as before", true)
	write(path + ".new")
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	serves("another is there", false)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	serves("nothing is there", false)
	rule.maybe = false
	if err := f.add(rule); !errors.Is(err, unix.ENOENT) {
		t.Errorf("what must be there isn't: %v", err)
	}
}

// With a hedge what is left to the program are its run's own rules.
func TestAPlanWithAHedge(t *testing.T) {
	t.Parallel()
	f, host := newHedge(t)
	dir := t.TempDir()
	w := Wish{Level: paddock.Standard, Network: "none", Root: dir, Dir: dir, Home: dir, Programs: []string{"/bin/true"}, Read: []string{"/srv"}}
	rules := func(p *Plan) (n int) {
		for _, c := range p.Become {
			if c.Nr == unix.SYS_LANDLOCK_ADD_RULE {
				n++
			}
		}
		return n
	}
	without, err := NewPlan(w, host)
	if err != nil {
		t.Fatal(err)
	}
	w.Hedge = f
	with, err := NewPlan(w, host)
	if err != nil {
		t.Fatal(err)
	}
	if rules(with) != len(ownRules(w, host)) || rules(without) != rules(with)+len(commonRules(false, host)) || rules(with) == 0 {
		t.Errorf("%d rules with, %d without", rules(with), rules(without))
	}
	if len(with.Files) != len(without.Files)+1 || !slices.Contains(with.Files, f.ruleset) || with.Enforced.LandlockABI != without.Enforced.LandlockABI {
		t.Errorf("hands over %d files, %d without", len(with.Files), len(without.Files))
	}
}
