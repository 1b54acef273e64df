package contain

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/contain/listed"
)

// A list that wouldn't hold isn't planned.
func TestListable(t *testing.T) {
	t.Parallel()
	file := func(path string) listed.Entry { return listed.Entry{Path: path, Real: path} }
	dir := func(path string) listed.Entry { return listed.Entry{Path: path, Real: path, Dir: true} }
	for name, test := range map[string]struct {
		level paddock.Level
		entry listed.Entry
		want  string // in the error; empty means that it is planned
	}{
		"off":                       {paddock.Off, file("/usr/bin/git"), "level off"},
		"a program":                 {paddock.Full, file("/usr/bin/git"), ""},
		"a program at standard":     {paddock.Standard, file("/usr/bin/git"), ""},
		"a directory":               {paddock.Full, dir("/usr/lib/git-core"), ""},
		"the root":                  {paddock.Full, dir("/srv/root"), "may write in /srv/root"},
		"in the root":               {paddock.Full, dir("/srv/root/bin"), "may write in /srv/root"},
		"around the root":           {paddock.Full, dir("/srv"), "may write in /srv/root"},
		"beside the root":           {paddock.Full, dir("/srv/root2"), ""},
		"in the home":               {paddock.Full, dir("/home/x/bin"), "may write in /home/x"},
		"where it may write":        {paddock.Standard, dir("/var/cache/x/y"), "may write in /var/cache/x"},
		"temporary":                 {paddock.Full, dir("/dev/shm/x"), "may write in /dev/shm"},
		"a link to the root":        {paddock.Full, listed.Entry{Path: "/opt/x", Real: "/srv/root/x", Dir: true}, "may write in /srv/root"},
		"a program in the root":     {paddock.Full, file("/srv/root/tool"), ""},
		"that at standard":          {paddock.Standard, file("/srv/root/tool"), "only level full"},
		"a program in the home":     {paddock.Standard, file("/home/x/tool"), "only level full"},
		"a program in /tmp":         {paddock.Standard, file("/tmp/tool"), "only level full"},
		"a root among libraries":    {paddock.Full, file("/usr/bin/git"), "libraries"},
		"a link to one in the root": {paddock.Standard, listed.Entry{Path: "/opt/x", Real: "/srv/root/x"}, "only level full"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, host := wishOf(test.level, nil), able(1000)
			if host.Libraries = []string{"/usr/lib"}; test.want == "libraries" {
				host.Libraries = []string{"/usr/lib", "/srv"}
			}
			w.Home, w.Write, w.Listed = "/home/x", []string{"/var/cache/x"}, []listed.Entry{test.entry}
			p, err := NewPlan(w, host)
			if test.want == "" {
				if err != nil || p.Enforced.Exec != paddock.ListedExec {
					t.Errorf("got %v", err)
				}
				return
			}
			if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// What a run may only read, it can't exchange; at full it could load it all the same.
func TestListableWhereTheRootIsReadOnly(t *testing.T) {
	t.Parallel()
	w, host := wishOf(paddock.Standard, nil), able(1000)
	w.ReadOnly = true
	for path, want := range map[string]bool{"/srv/root/tool": true, "/tmp/tool": true, "/home/x/tool": false} {
		w.Home, w.Listed = "/home/x", []listed.Entry{{Path: path, Real: path}}
		if _, err := NewPlan(w, host); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	w.Level, host.Libraries = paddock.Full, []string{"/srv"}
	if _, err := NewPlan(w, host); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "libraries") {
		t.Error(err)
	}
}

// Nothing keeps the right to execute but what is listed, also where nothing is.
func TestExecutableRules(t *testing.T) {
	t.Parallel()
	w := wishOf(paddock.Standard, nil)
	w.Read, w.Write, w.Home = []string{"/data"}, []string{"/var/cache/x"}, "/home/x"
	for _, list := range [][]listed.Entry{{}, {{Path: "/usr/bin/git", Real: "/usr/bin/git"}, {Path: "/usr/lib/git-core", Real: "/usr/lib/git-core", Dir: true}}} {
		w.Listed = list
		for _, rules := range [][]pathRule{fullRules(w), standardRules(w, able(1000))} {
			before := len(rules)
			rules = w.executable(rules)
			for i, rule := range rules {
				if execute := rule.access&rightExecute != 0; execute != (i >= before) {
					t.Errorf("%s: execute %t", rule.path, execute)
				}
			}
			if len(rules) != before+len(list) {
				t.Errorf("%d rules beside %d", len(rules)-before, before)
			}
		}
	}
	w.Listed = nil
	for _, rule := range w.executable(fullRules(w)) {
		if rule.path == "/" && rule.access&rightExecute == 0 {
			t.Error("without a list nothing can be executed")
		}
	}
}

// What may be executed is taken hold of before nothing may, and put back after.
func TestNoExecOrder(t *testing.T) {
	t.Parallel()
	w := wishOf(paddock.Full, nil)
	host := able(1000)
	host.Libraries = []string{"/usr/lib"}
	w.Listed = []listed.Entry{{Path: "/usr/bin/git", Real: "/usr/bin/git"}, {Path: "/usr/lib/ld.so", Real: "/usr/lib/ld.so"}}
	p := &Plan{}
	p.noExec(w, host)
	taken, sealed, put := 0, 0, 0
	for _, c := range p.Setup {
		switch {
		case c.Nr == unix.SYS_OPEN_TREE && sealed == 0:
			taken++
		case c.Nr == unix.SYS_MOUNT_SETATTR && c.Step == "seal /":
			sealed++
		case c.Nr == unix.SYS_MOVE_MOUNT && sealed == 1:
			put++
		}
	}
	if taken != 2 || sealed != 1 || put != 2 { // the loader lies in the library directory
		t.Errorf("%d taken, %d sealed, %d put", taken, sealed, put)
	}
	p = &Plan{}
	if p.noExec(wishOf(paddock.Full, nil), host); len(p.Setup) > 0 {
		t.Errorf("%d calls where anything may be executed", len(p.Setup))
	}
}
