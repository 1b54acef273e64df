package executor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/contain/owner"
	"paddock/internal/testproc"
)

// An identity is a run of root's: at a level, as run_as says, in a workspace of
// somebody's.
type identity struct {
	level    paddock.Level
	runAs    string
	of       int // whose workspace it is
	uid, gid uint32
	evidence paddock.Safekeeping
}

const stranger = 12345 // no user of this machine

var identities = map[string]identity{
	"full, of root":                   {paddock.Full, "", 0, 0, 0, paddock.EvidenceProtected},
	"full, of a user":                 {paddock.Full, "", stranger, 0, 0, paddock.EvidenceProtected},
	"full, of the id that it has":     {paddock.Full, "1000", 1000, 1000, 1000, paddock.EvidenceProtected},
	"full, as nobody, of root":        {paddock.Full, "nobody", 0, testproc.Nobody, testproc.Nobody, paddock.EvidenceProtected},
	"full, as uid and gid, of a user": {paddock.Full, "12345:54321", 1000, stranger, 54321, paddock.EvidenceProtected},
	"standard, as a user":             {paddock.Standard, "12345", stranger, stranger, stranger, paddock.EvidenceProtected},
	"standard, as nobody":             {paddock.Standard, "nobody", testproc.Nobody, testproc.Nobody, testproc.Nobody, paddock.EvidenceProtected},
	"off, as a user":                  {paddock.Off, "12345", stranger, stranger, stranger, paddock.EvidenceProtected},
	"off, as root":                    {paddock.Off, "", 0, 0, 0, paddock.EvidenceSameUID},
}

// What root starts is an ordinary account's, for the kernel too: what is root's
// alone stays so, also where the run is shown it, and the workspace is the run's
// own while on disk it stays its owner's.
func TestIdentity(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		testproc.Skip(t, "only root's runs get another identity")
	}
	for _, base := range []string{"/var/lib", "/dev/shm"} { // a disk's, and tmpfs
		for name, id := range identities {
			t.Run(name+" in "+base, func(t *testing.T) {
				t.Parallel()
				id.try(t, base)
			})
		}
	}
}

// place makes a state directory and a workspace that belongs to somebody.
func place(t *testing.T, base string, owner int) (dir string) {
	t.Helper()
	dir, err := os.MkdirTemp(base, "paddock-test-")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	must(t, os.Chmod(dir, 0o711))
	for _, sub := range []string{"root", "shown", "given", "root/foreign"} {
		must(t, os.Mkdir(filepath.Join(dir, sub), 0o755))
	}
	for name, mode := range map[string]os.FileMode{"root/own": 0o600, "root/foreign/file": 0o600, "shown/public": 0o644, "shown/secret": 0o600, "given/own": 0o600} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("content\n"), mode))
	}
	for _, name := range []string{"root", "root/own", "given", "given/own"} {
		must(t, os.Chown(filepath.Join(dir, name), owner, owner))
	}
	must(t, os.Chown(filepath.Join(dir, "root/foreign/file"), owner, owner+1)) // of a group that isn't the run's
	must(t, os.Chown(filepath.Join(dir, "root/foreign"), 4321, 4321))
	return dir
}

const look = `id -u; id -g; id -G; cat shown/public; cat shown/secret 2>&1 | grep -c denied
cat own && echo new > made && echo more >> own && mkdir sub && echo x > sub/f && echo x > HOME/f && echo x > GIVEN/made && echo x >> foreign/file && echo wrote
cat foreign/file > /dev/null && echo read; touch foreign/new 2> /dev/null; stat -c %u own made . "$HOME" | sort -u; echo x > /dev/stderr; echo x > /dev/stdout
grep -E '^(Cap(Eff|Prm|Bnd)|Groups)' /proc/self/status; echo end`

func (id identity) try(t *testing.T, base string) {
	dir := place(t, base, id.of)
	lists := fmt.Sprintf(", read: ['%s/shown'], write: ['%[1]s/given']", dir)
	if id.level == paddock.Off {
		lists = ""
	}
	if id.runAs != "" {
		lists += ", run_as: '" + id.runAs + "'"
	}
	a := &act{theater: &theater{}, level: id.level, dir: dir}
	f := open(t, func(c *Config) {
		c.State = filepath.Join(dir, "state")
		text := strings.NewReplacer("ROOTS", "{path: '"+dir+"/root'}", "PROGRAM", "/bin/true", "LEVEL", string(id.level), "MORE", lists).Replace(policyForm)
		c.Policy = PolicyText("policy.yaml", []byte(text))
	})
	a.e = f.e
	line := strings.NewReplacer("shown/", dir+"/shown/", "HOME/", `"$HOME"/`, "GIVEN", dir+"/given").Replace(look)
	run, out := a.run(t, "root", "sh", "-c", line)
	if run.State != paddock.Exited || run.Enforced == nil || run.Enforced.Identity == nil || !strings.Contains(out, "\nend\n") {
		t.Fatalf("%s %+v\n%s", run.State, run.Outcome.Reason, out)
	}
	id.record(t, run)
	id.files(t, dir)
	id.inside(t, out)
}

// record compares what the record says.
func (id identity) record(t *testing.T, run paddock.Run) {
	t.Helper()
	e := run.Enforced
	if e.Evidence != id.evidence {
		t.Errorf("evidence %q, want %q", e.Evidence, id.evidence)
	}
	switch {
	case id.level == paddock.Full && id.runAs == "":
		if e.Identity.UID < owner.Reserved || e.Identity.UID != e.Identity.GID {
			t.Errorf("identity %s", e.Identity)
		}
	case e.Identity.UID != id.uid || e.Identity.GID != id.gid || id.runAs == "nobody" && e.Identity.Name != "nobody":
		t.Errorf("identity %s, want %d and %d", e.Identity, id.uid, id.gid)
	}
}

// files compares whose is what was made.
func (id identity) files(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"root/own", "root/made", "root/sub/f", "given/made"} {
		var st unix.Stat_t
		if err := unix.Lstat(filepath.Join(dir, name), &st); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		group := uint32(id.of)
		if id.level != paddock.Full {
			group = id.gid
		}
		if st.Uid != uint32(id.of) || st.Gid != group {
			t.Errorf("%s is of %d and %d, want %d and %d", name, st.Uid, st.Gid, id.of, group)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "root/foreign/new")); (err == nil) != (id.uid == 0 && id.level == paddock.Off) {
		t.Errorf("a file in a directory of somebody else: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "root/.*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// inside compares what the run saw.
func (id identity) inside(t *testing.T, out string) {
	t.Helper()
	// What goes to the other stream arrives when it likes.
	echoes := strings.Count(out, "x\n")
	out = strings.ReplaceAll(out, "x\n", "")
	uid, gid := uint32(1000), uint32(1000)
	if id.level != paddock.Full {
		uid, gid = id.uid, id.gid
	}
	if id.level == paddock.Off && id.uid == 0 {
		if !strings.Contains(out, "content\n") {
			t.Errorf("root can't read its own:\n%s", out)
		}
	} else {
		for _, want := range []string{fmt.Sprintf("%d\n%d\n%[2]d\ncontent\n1\n", uid, gid), "wrote\nread\n", "CapEff:\t0000000000000000", "CapPrm:\t0000000000000000", "Groups:\t \n"} {
			if !strings.Contains(out, want) {
				t.Errorf("want %q in\n%s", want, out)
			}
		}
	}
	for _, not := range []string{"/dev/stderr", "/dev/stdout"} {
		if strings.Contains(out, not) {
			t.Errorf("it can't open %s:\n%s", not, out)
		}
	}
	if echoes != 2 || !strings.Contains(out, fmt.Sprintf("read\n%d\n", uid)) { // of all that it owns
		t.Errorf("what it made isn't its own:\n%s", out)
	}
}

// A start that can't be as the policy says ends with a step and a way out, or is
// refused before, and no run keeps root's identity instead.
func TestIdentityThatCannotBe(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		testproc.Skip(t, "only root's runs get another identity")
	}
	for name, tt := range map[string]struct{ more, says string }{
		"standard, without an account": {"standard", "Paddock is root, and at level standard the run would be, too"},
		"nobody's name":                {"full, run_as: no-such-user", "there is no such user"},
		"a workspace that is closed":   {"standard, run_as: '12345'", "enter the directory as uid 12345, gid 12345"},
		"the same at off":              {"off, run_as: '12345'", "enter the directory as uid 12345, gid 12345"},
		"a group of root's":            {"full, run_as: daemon-of-nobody", "there is no such user"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := place(t, "/var/lib", 0)
			must(t, os.Chmod(dir+"/root", 0o700))
			f := open(t, func(c *Config) {
				c.State = filepath.Join(dir, "state")
				level, more, _ := strings.Cut(tt.more, ",")
				if more != "" {
					more = "," + more
				}
				text := strings.NewReplacer("ROOTS", "{path: '"+dir+"/root'}", "PROGRAM", "/bin/true", "LEVEL", level, "MORE", more).Replace(policyForm)
				c.Policy = PolicyText("policy.yaml", []byte(text))
			})
			a := &act{theater: &theater{}, dir: dir, e: f.e}
			run, err := a.e.Start(t.Context(), a.request("root", "sh", "-c", "id > ran"))
			got := fmt.Sprint(err)
			if err == nil {
				run, _ = a.ended(t, run)
				got = fmt.Sprintf("%s %s: %s", run.State, run.Outcome.Reason.Step, run.Outcome.Reason.Detail)
			}
			if !strings.Contains(got, tt.says) {
				t.Errorf("%s, want %q", got, tt.says)
			}
			if _, err := os.Lstat(dir + "/root/ran"); err == nil {
				t.Error("it ran")
			}
		})
	}
}
