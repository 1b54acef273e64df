package contain

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/contain/machine"
	"paddock/internal/testproc"
)

// What Landlock lets a program do in a place.
const (
	nothing = iota
	listing
	reading
	everything
)

// deeds are what is tried in a place, by what it takes.
var deeds = map[string]struct {
	takes int
	do    func(dir string) error
}{
	"list":     {listing, func(dir string) error { _, err := os.ReadDir(dir); return err }},
	"read":     {reading, func(dir string) error { _, err := os.ReadFile(dir + "/file"); return err }},
	"write":    {everything, func(dir string) error { return openedFor(unix.O_WRONLY, dir+"/file") }},
	"truncate": {everything, func(dir string) error { return unix.Truncate(dir+"/file", 0) }},
	"remove": {everything, func(dir string) error {
		return errors.Join(os.Remove(dir+"/gone"), os.WriteFile(dir+"/gone", nil, 0o600))
	}},
	"make": {everything, func(dir string) error { return errors.Join(os.Mkdir(dir+"/new", 0o700), os.Remove(dir+"/new")) }},
	"link": {everything, func(dir string) error { return errors.Join(os.Symlink("file", dir+"/new"), os.Remove(dir+"/new")) }},
	"move": {everything, func(dir string) error {
		return errors.Join(os.Mkdir(dir+"/new", 0o700), os.Rename(dir+"/file", dir+"/new/file"), os.Rename(dir+"/new/file", dir+"/file"), os.Remove(dir+"/new"))
	}},
}

func openedFor(flags int, path string) error {
	fd, err := unix.Open(path, flags|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// At full the mounts hold what Landlock does, at standard permissions much of it, so no attempt
// fails without it: the rules are tried by themselves.
func TestRulesHold(t *testing.T) {
	t.Parallel()
	host := Probe()
	if err := host.Can(paddock.Standard); err != nil {
		testproc.Skip(t, err.Error())
	}
	for _, tc := range []struct {
		level    paddock.Level
		readOnly bool
		may      map[string]int
	}{
		{paddock.Full, false, map[string]int{"root": everything, "home": everything, "write": everything, "read": reading, "outside": reading, "shm": everything}},
		{paddock.Full, true, map[string]int{"root": reading, "home": everything, "write": everything, "read": reading, "outside": reading, "shm": everything}},
		{paddock.Standard, false, map[string]int{"root": everything, "home": everything, "write": everything, "read": reading, "outside": nothing, "shm": listing}},
		{paddock.Standard, true, map[string]int{"root": reading, "home": everything, "write": everything, "read": reading, "outside": nothing, "shm": listing}},
	} {
		places, w := laidOut(t, tc.level)
		w.ReadOnly = tc.readOnly
		rules := fullRules(w)
		if tc.level == paddock.Standard {
			rules = standardRules(w, host)
		}
		var got map[string]error
		if err := behind(w, host, rules, func() { got = tried(places, w) }); err != nil {
			t.Errorf("%s: %v", tc.level, err)
			continue
		}
		for place, may := range tc.may {
			for name, deed := range deeds {
				check(t, got, tc.level, name+" in "+place, deed.takes <= may)
			}
		}
		check(t, got, tc.level, "move out", false)
		check(t, got, tc.level, "move in", false)
		check(t, got, tc.level, "read beside a program", tc.level == paddock.Full)
		for name, held := range map[string]bool{"move between": !tc.readOnly, "read a program": true, "write a program": false, "write to /dev/null": true, "write to /proc": false, "read /proc": true, "list /etc": true, "list /dev": true, "write to the system": false} {
			check(t, got, tc.level, name, held)
		}
		if tc.level == paddock.Standard {
			check(t, got, tc.level, "read of /etc", false)
			check(t, got, tc.level, "read another device", false)
		}
	}
}

func check(t *testing.T, got map[string]error, level paddock.Level, name string, may bool) {
	t.Helper()
	err := got[name]
	if may != (err == nil) || err != nil && !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.EXDEV) && !errors.Is(err, unix.EROFS) {
		t.Errorf("%s at %s: %v, and it may: %t", name, level, err, may)
	}
}

// laidOut makes the places of a run, each with something in it.
func laidOut(t *testing.T, level paddock.Level) (map[string]string, Wish) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	shm, err := os.MkdirTemp("/dev/shm", "paddock-rules-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(shm); err != nil {
			t.Error(err)
		}
	})
	places := map[string]string{"shm": shm}
	for _, name := range []string{"root", "home", "write", "read", "outside", "bin"} {
		places[name] = filepath.Join(base, name)
	}
	for _, dir := range places {
		if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(dir+"/file", nil, 0o700), os.WriteFile(dir+"/gone", nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return places, Wish{
		Level: level, Network: "host", Root: places["root"], Dir: places["root"], Home: places["home"],
		Read: []string{places["read"]}, Write: []string{places["write"]}, Programs: []string{places["bin"] + "/file"},
	}
}

// tried does every deed in every place, and what is of one place alone.
func tried(places map[string]string, w Wish) map[string]error {
	got := map[string]error{}
	for place, dir := range places {
		for name, deed := range deeds {
			got[name+" in "+place] = deed.do(dir)
		}
	}
	between := func(from, to string) error {
		return errors.Join(os.Rename(places[from]+"/gone", places[to]+"/came"), os.Rename(places[to]+"/came", places[from]+"/gone"))
	}
	got["move between"], got["move out"], got["move in"] = between("root", "home"), between("home", "outside"), between("outside", "home")
	got["read a program"], got["write a program"] = openedFor(unix.O_RDONLY, w.Programs[0]), openedFor(unix.O_WRONLY, w.Programs[0])
	got["read beside a program"] = openedFor(unix.O_RDONLY, filepath.Dir(w.Programs[0])+"/gone")
	got["write to /dev/null"] = openedFor(unix.O_RDWR|unix.O_TRUNC, "/dev/null")
	got["write to /proc"], got["read /proc"] = openedFor(unix.O_WRONLY, "/proc/self/comm"), openedFor(unix.O_RDONLY, "/proc/self/comm")
	got["list /etc"], got["list /dev"] = openedFor(unix.O_RDONLY|unix.O_DIRECTORY, "/etc"), openedFor(unix.O_RDONLY|unix.O_DIRECTORY, "/dev")
	got["write to the system"] = openedFor(unix.O_WRONLY, "/usr/bin/env")
	for name, path := range map[string]string{
		"read of /etc": other("/etc", 0, namesOfEtc), "read another device": other("/dev", os.ModeDevice|os.ModeCharDevice, machine.Devices()),
	} {
		if got[name] = unix.EACCES; path != "" {
			got[name] = openedFor(unix.O_RDONLY|unix.O_NOCTTY, path)
		}
	}
	return got
}

// other is what lies in dir, is of that type, could be read by anybody, and isn't one of those;
// empty if there is none.
func other(dir string, mode os.FileMode, those []string) string {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		info, err := os.Lstat(filepath.Join(dir, e.Name()))
		if err == nil && info.Mode().Type() == mode && info.Mode()&0o004 != 0 && !slices.Contains(those, e.Name()) && !slices.Contains(those, filepath.Join(dir, e.Name())) {
			return filepath.Join(dir, e.Name())
		}
	}
	return ""
}

// behind does something in a thread that has carried out what a plan says of Landlock. The
// tests' own directories lie in the temporary ones, which every run may write, so those are left out.
func behind(w Wish, host Host, rules []pathRule, do func()) error {
	p := &Plan{}
	p.become("no new privileges", unix.SYS_PRCTL, Number(unix.PR_SET_NO_NEW_PRIVS), Number(1), Number(0), Number(0), Number(0))
	p.landlock(w, host, slices.DeleteFunc(rules, func(r pathRule) bool { return r.path == "/tmp" || r.path == "/var/tmp" }))
	return inThread(func() error {
		for _, c := range p.Become {
			if err := carriedOut(c); err != nil { // then the process ends, which this one doesn't
				ruleset := p.Become[1].Into
				return errors.Join(errors.New(c.Step), err, unix.Close(int(binary.NativeEndian.Uint32(ruleset))))
			}
		}
		do()
		return nil
	})
}

// carriedOut does what package spawn does with a call that isn't compared with anything.
func carriedOut(c Call) error {
	var args [6]uintptr
	for i, a := range c.Args {
		number, memory, _, result := a.Parts()
		switch {
		case memory == nil:
			args[i] = number
		case result:
			args[i] = uintptr(int32(binary.NativeEndian.Uint32(memory)))
		default:
			args[i] = uintptr(unsafe.Pointer(unsafe.SliceData(memory)))
		}
	}
	got, _, errno := unix.RawSyscall6(c.Nr, args[0], args[1], args[2], args[3], args[4], args[5])
	if errno != 0 && !slices.Contains(c.Accept, errno) {
		return errno
	}
	if errno == 0 && c.Into != nil {
		binary.NativeEndian.PutUint32(c.Into, uint32(got))
	}
	return nil
}

// Where a link has been put in the place of what a rule is of, there is no start.
func TestRulesFollowNoLink(t *testing.T) {
	t.Parallel()
	host := Probe()
	if err := host.Can(paddock.Standard); err != nil {
		testproc.Skip(t, err.Error())
	}
	for _, name := range []string{"root", "home", "read"} {
		for _, readOnly := range []bool{false, true} {
			places, w := laidOut(t, paddock.Standard)
			w.ReadOnly, w.Real = readOnly, true
			if err := errors.Join(os.Rename(places[name], places[name]+".aside"), os.Symlink(places["outside"], places[name])); err != nil {
				t.Fatal(err)
			}
			if err := behind(w, host, ownRules(w, host), func() { t.Errorf("%s is a link, and it was reached", name) }); !errors.Is(err, unix.ELOOP) {
				t.Errorf("%s is a link: %v", name, err)
			}
		}
	}
}

// A device that the policy lets runs read takes no orders from them.
func TestRulesForADevice(t *testing.T) {
	t.Parallel()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		testproc.Skip(t, "no terminal is to be had: "+err.Error())
	}
	defer master.Close()
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err := errors.Join(err, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)); err != nil {
		t.Fatal(err)
	}
	path := fmt.Sprintf("/dev/pts/%d", n)
	host := Probe(path)
	if err := host.Can(paddock.Standard); err != nil {
		testproc.Skip(t, err.Error())
	}
	ask := func(fd int) error { _, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ); return err }
	_, w := laidOut(t, paddock.Standard)
	w.Read = []string{path}
	err = behind(w, host, standardRules(w, host), func() {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Error(err)
			return
		}
		defer unix.Close(fd)
		if err := ask(fd); !errors.Is(err, unix.EACCES) {
			t.Errorf("it takes orders: %v", err)
		}
	})
	if err := errors.Join(err, ask(int(master.Fd()))); err != nil {
		t.Error(err)
	}
}
