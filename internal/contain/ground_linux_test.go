package contain

import (
	"maps"
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/contain/machine"
)

// onGround is a wish whose tree builds upon a ground.
func onGround() Wish {
	return Wish{
		Level: paddock.Full, Network: "none", Root: "/srv/proj", Dir: "/srv/proj", Home: "/srv/home", Programs: []string{"/usr/bin/true"},
		Account: &paddock.Account{UID: 7, GID: 8}, Shown: map[string]*os.File{"/srv/proj": os.Stdin, "/srv/home": os.Stdin},
	}
}

func TestWhatHasAGround(t *testing.T) {
	t.Parallel()
	host := Host{LandlockABI: 7, Directories: []string{"/usr"}, Links: map[string]string{"/bin": "usr/bin"}}
	for name, c := range map[string]struct {
		change func(*Wish)
		want   bool
	}{
		"as most":               {func(*Wish) {}, true},
		"an allowlist":          {func(w *Wish) { w.Network = "allowlist" }, true},
		"a writable path shown": {func(w *Wish) { w.Write, w.Shown["/srv/out"] = []string{"/srv/out"}, os.Stdin }, true},
		"read-only":             {func(w *Wish) { w.ReadOnly = true }, true},
		"the host's network":    {func(w *Wish) { w.Network = "host" }, false},
		"no account":            {func(w *Wish) { w.Account = nil }, false},
		"a path to read":        {func(w *Wish) { w.Read = []string{"/srv/in"} }, false},
		"a program elsewhere":   {func(w *Wish) { w.Programs = []string{"/srv/bin/tool"} }, false},
		"a program in the root": {func(w *Wish) { w.Programs = []string{"/srv/proj/tool"} }, true},
		"an overlay":            {func(w *Wish) { w.Overlay = "/srv/layer" }, false},
		"a copy":                {func(w *Wish) { w.Copies = []Copy{{Path: "/srv/script"}} }, false},
		"another size of /tmp":  {func(w *Wish) { w.Tmp = 1 << 20 }, false},
		"a workspace not shown": {func(w *Wish) { delete(w.Shown, w.Root) }, false},
	} {
		w := onGround()
		w.Shown = maps.Clone(w.Shown)
		c.change(&w)
		if got := groundOf(w, host) != nil; got != c.want {
			t.Errorf("%s: has a ground %t", name, got)
		}
	}
}

// What differs in anything that a ground is built from is another.
func TestSameGround(t *testing.T) {
	t.Parallel()
	account := paddock.Account{UID: 7, GID: 8}
	host := func() Host {
		return Host{
			EUID: 0, Directories: []string{"/usr"}, Links: map[string]string{"/bin": "usr/bin"}, Etc: []Entry{{Path: "/etc/magic"}},
			Sources: []machine.Source{{Device: 1, Inode: 2}, {Device: 1, Inode: 3}},
		}
	}
	g := NewGround(host(), account)
	if !g.Same(NewGround(host(), account)) {
		t.Error("the same is another")
	}
	if g.Same(nil) || (*Ground)(nil).Same(g) || (*Ground)(nil).Same(nil) {
		t.Error("none is the same")
	}
	if g.Same(NewGround(host(), paddock.Account{UID: 8, GID: 8})) {
		t.Error("another account's is the same")
	}
	for name, change := range map[string]func(*Host){
		"uid": func(h *Host) { h.EUID = 1 }, "gid": func(h *Host) { h.EGID = 1 },
		"directories": func(h *Host) { h.Directories = []string{"/usr", "/opt"} }, "links": func(h *Host) { h.Links = map[string]string{"/bin": "usr/sbin"} },
		"etc": func(h *Host) { h.Etc = nil }, "file instead of directory": func(h *Host) { h.Etc[0].Dir = true },
		"inode": func(h *Host) { h.Sources[1].Inode = 9 }, "device": func(h *Host) { h.Sources[0].Device = 9 },
	} {
		other := host()
		change(&other)
		if g.Same(NewGround(other, account)) {
			t.Errorf("with another %s it is the same", name)
		}
	}
}

// The process in between gives up last what no program may get, and with the host's root
// everything that isn't shown.
func TestOrderOfAGround(t *testing.T) {
	t.Parallel()
	calls := NewGround(Host{Directories: []string{"/usr"}}, paddock.Account{UID: 7, GID: 8}).Calls()
	last := func(nr uintptr) int {
		for i := range slices.Backward(calls) {
			if calls[i].Nr == nr {
				return i
			}
		}
		return -1
	}
	taken, pivoted, gone, given := last(unix.SYS_OPEN_TREE), last(unix.SYS_PIVOT_ROOT), last(unix.SYS_UMOUNT2), last(unix.SYS_PRCTL)
	if !(0 < taken && taken < pivoted && pivoted < gone && gone < given && given == len(calls)-1) {
		t.Errorf("taken %d, pivoted %d, gone %d, given up %d of %d", taken, pivoted, gone, given, len(calls))
	}
	plan, err := NewPlan(onGround(), Host{LandlockABI: 7, Directories: []string{"/usr"}})
	if err != nil {
		t.Fatal(err)
	}
	if plan.Ground == nil || plan.Enforced.Mounts != "private" {
		t.Errorf("ground %v, mounts %q", plan.Ground, plan.Enforced.Mounts)
	}
	for _, c := range plan.Setup {
		if c.Nr == unix.SYS_OPEN_TREE || c.Nr == unix.SYS_PIVOT_ROOT {
			t.Errorf("%s: the host's tree isn't there any more", c.Step)
		}
	}
}
