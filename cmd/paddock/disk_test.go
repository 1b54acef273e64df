//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/contain"
	"paddock/internal/testproc"
)

// taking takes n bytes of the disk in the directory where it is, and stays.
func taking(kind string, n int) int {
	f, err := os.OpenFile("taken", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return 99
	}
	switch kind {
	case "write":
		_, err = f.Write(bytes.Repeat([]byte{1}, n))
	case "map":
		if err = f.Truncate(int64(n)); err == nil {
			var memory []byte
			if memory, err = unix.Mmap(int(f.Fd()), 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
				copy(memory, bytes.Repeat([]byte{1}, n))
			}
		}
	case "room": // without a byte written
		err = unix.Fallocate(int(f.Fd()), 0, 0, int64(n))
	case "hidden": // and without a name
		err = errors.Join(os.Remove("taken"), unix.Fallocate(int(f.Fd()), 0, 0, int64(n)))
	}
	if err != nil {
		fmt.Println(err)
		return 98
	}
	fmt.Println("taken")
	forever()
	return 0
}

// bounded prepares y for runs of user uid at level in root, with these limits.
func (y *yard) bounded(uid int, level paddock.Level, root, limits string) (command func(args ...string) *testproc.Cmd) {
	y.t.Helper()
	if !slices.Contains(contain.Probe().Levels(), level) {
		testproc.Skip(y.t, "this machine can't give level "+string(level))
	}
	prog, policy := testproc.Program(y.t, "prog"), filepath.Join(y.work, "policy.yaml")
	containment := fmt.Sprintf("{require: %s, read: [%q]}", level, prog)
	if level == paddock.Off {
		containment = "{require: off}"
	}
	owner := uid
	if level == paddock.Standard && os.Geteuid() == 0 && uid == 0 { // root's runs are never root's there
		owner = testproc.Nobody
		if err := os.MkdirAll(filepath.Join(y.work, "home/.local/state"), 0o755); err != nil { // HOME is below it
			y.t.Fatal(err)
		}
		containment = fmt.Sprintf("{require: standard, run_as: %d, read: [%q]}", owner, prog)
	}
	text := fmt.Sprintf("version: 1\nroots: [{path: %q}]\nexecutables: [{name: prog, path: %q, args: any}, {name: sh, path: /bin/sh, args: any}]\nlimits: {%s}\ncontainment: %s\n", root, prog, limits, containment)
	err := errors.Join(os.WriteFile(policy, []byte(text), 0o600), os.Chmod(policy, 0o644))
	if os.Geteuid() == 0 {
		err = errors.Join(err, os.Chown(root, owner, owner), os.Chown(filepath.Join(y.work, "home"), uid, uid))
	}
	if err != nil {
		y.t.Fatal(err)
	}
	return func(args ...string) *testproc.Cmd {
		cmd := y.command(args...)
		cmd.Dir = root
		if uid != 0 {
			testproc.AsUser(y.t, cmd, uid)
		}
		return cmd
	}
}

const taken = 24 << 20

// children take it in pieces, each a process that is soon gone.
const children = `for i in 1 2 3 4 5 6 7 8 9 10 11 12; do head -c 2097152 /dev/zero > piece$i; done; echo taken; exec sleep 1000`

func TestADiskFillerEnds(t *testing.T) {
	t.Parallel()
	for name, uid := range users() {
		for _, level := range []paddock.Level{paddock.Full, paddock.Standard, paddock.Off} {
			t.Run(name+" at "+string(level), func(t *testing.T) {
				t.Parallel()
				y := newYard(t)
				root := filepath.Join(y.work, "proj")
				command := y.bounded(uid, level, root, "disk: 8MiB")
				for kind, argv := range map[string][]string{
					"write": {"prog", "take", "write", fmt.Sprint(taken)}, "map": {"prog", "take", "map", fmt.Sprint(taken)},
					"room": {"prog", "take", "room", fmt.Sprint(taken)}, "hidden": {"prog", "take", "hidden", fmt.Sprint(taken)},
					"children": {"sh", "-c", children},
				} {
					full(t, kind, command, argv)
				}
				// What fits, fits; and a caller may want less.
				if out, err := command("run", "--", "sh", "-c", "head -c 1000000 /dev/zero > small && sync small && echo fits").CombinedOutput(); err != nil || !strings.Contains(string(out), "fits\n") {
					t.Errorf("what fits: %v\n%s", err, out)
				}
				out, err := command("run", "--disk-limit", "1MiB", "--", "sh", "-c", "head -c 4000000 /dev/zero > small; exec sleep 1000").CombinedOutput()
				if wantStatus(t, err, desk.ExitKilled); lastRun(t, command).Run.Outcome.Reason.Limit != 1<<20 {
					t.Errorf("asked for less: %s", out)
				}
				out, err = command("run", "--disk-limit", "9MiB", "--", "sh", "-c", "echo more").CombinedOutput()
				if wantStatus(t, err, desk.ExitRefused); !strings.Contains(string(out), "more than the maximum, 8388608 bytes") {
					t.Errorf("asked for more: %s", out)
				}
			})
		}
	}
}

// full holds a run that takes more than it may to its end.
func full(t *testing.T, kind string, command func(args ...string) *testproc.Cmd, argv []string) {
	t.Helper()
	cmd := command(append([]string{"run", "--"}, argv...)...)
	// What takes the place of what was there takes no room.
	if err := os.RemoveAll(filepath.Join(cmd.Dir, "taken")); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	wantStatus(t, err, desk.ExitKilled)
	d := lastRun(t, command)
	if r := d.Run.Outcome.Reason; r.Kind != paddock.ReasonDiskLimit || r.Limit != 8<<20 || r.Written <= r.Limit || d.Run.State != paddock.Killed || d.Run.Outcome.Survivors != 0 {
		t.Errorf("%s: %s %+v\n%s", kind, d.Run.State, r, out)
	}
	if !strings.Contains(string(out), "and its limit is 8 MiB") || d.Run.Enforced.Limits["disk"] != "watched" {
		t.Errorf("%s: %v\n%s", kind, d.Run.Enforced.Limits, out)
	}
}

// A workspace in memory is no way round: its files are added up.
func TestADiskFillerInMemoryEnds(t *testing.T) {
	t.Parallel()
	root, err := os.MkdirTemp("/dev/shm", "paddock-root-")
	if err != nil {
		testproc.Skip(t, err.Error())
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	y := newYard(t)
	command := y.bounded(os.Geteuid(), paddock.Full, root, "disk: 8MiB")
	for _, kind := range []string{"write", "hidden"} {
		full(t, kind, command, []string{"prog", "take", kind, fmt.Sprint(taken)})
	}
}

// One file, and the descriptors of one process, are held by the kernel.
func TestFilesAreBounded(t *testing.T) {
	t.Parallel()
	for _, level := range []paddock.Level{paddock.Full, paddock.Standard, paddock.Off} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			y := newYard(t)
			root := filepath.Join(y.work, "proj")
			command := y.bounded(os.Geteuid(), level, root, "file_size: 1MiB, open_files: 32")
			for _, kind := range []string{"write", "room"} {
				out, err := command("run", "--", "prog", "take", kind, "2000000").CombinedOutput()
				info, statErr := os.Stat(filepath.Join(root, "taken"))
				if err == nil || statErr != nil || info.Size() > 1<<20 || strings.Contains(string(out), "taken\n") {
					t.Errorf("%s: %v, %v\n%s", kind, err, statErr, out)
				}
			}
			out, err := command("run", "--", "prog", "open-all").CombinedOutput()
			if err != nil || !strings.Contains(string(out), "EMFILE after ") {
				t.Errorf("%v\n%s", err, out)
			}
			d := lastRun(t, command)
			if l := d.Run.Enforced.Limits; l["file_size"] != "rlimit" || l["open_files"] != "rlimit" || d.Run.Limits.FileSize != 1<<20 {
				t.Errorf("enforced %v", l)
			}
			if level != paddock.Off && d.Run.Limits.Disk != 10<<30 {
				t.Errorf("by default %d bytes may be written", d.Run.Limits.Disk)
			}
		})
	}
}
