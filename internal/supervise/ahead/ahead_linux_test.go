package ahead

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/contain"
	"paddock/internal/control/handover"
	"paddock/internal/supervise/ahead/mounts"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, map[string]func() int{"mounter": mounterMain}) }

// full is a job as most are.
func full() handover.Job {
	return handover.Job{Contain: paddock.ContainAs{Level: paddock.Full, Network: "none"}}
}

func TestWhatFits(t *testing.T) {
	t.Parallel()
	if err := contain.Probe().Can(paddock.Full); err != nil {
		testproc.Skip(t, err.Error())
	}
	for _, ground := range []bool{false, true} {
		p := Fork(ground)
		if p == nil {
			t.Fatal("nothing was forked")
		}
		ours := ground && os.Geteuid() == 0
		if (p.Account() != nil) != ours {
			t.Errorf("ground %t: the account %v", ground, p.Account())
		}
		for name, c := range map[string]struct {
			change func(*paddock.ContainAs)
			want   bool
		}{
			"as most":         {func(*paddock.ContainAs) {}, true},
			"standard":        {func(c *paddock.ContainAs) { c.Level = paddock.Standard }, false},
			"host's network":  {func(c *paddock.ContainAs) { c.Network = "host" }, false},
			"its own account": {func(c *paddock.ContainAs) { c.Account = &paddock.Account{UID: 7, GID: 7} }, !ours},
			"read":            {func(c *paddock.ContainAs) { c.Read = []string{"/srv"} }, !ours},
			"overlay":         {func(c *paddock.ContainAs) { c.Workspace = paddock.OverlayWorkspace }, !ours},
		} {
			job := full()
			c.change(&job.Contain)
			if got := p.Fits(job); got != c.want {
				t.Errorf("ground %t, %s: fits %t", ground, name, got)
			}
		}
		taken := p.Take()
		if taken == nil {
			t.Error("nothing could be taken")
		}
		if p.Take() != nil || p.Fits(full()) {
			t.Error("it could be taken twice")
		}
		taken.Close()
		p.Close()
	}
	(*Process)(nil).Close()
	if (*Process)(nil).Fits(full()) || (*Process)(nil).Account() != nil {
		t.Error("what isn't there fits")
	}
}

// What is forked for runs below full has nothing that those at full are held by.
func TestWhatFitsBelowFull(t *testing.T) {
	t.Parallel()
	p := fork(&Process{below: true})
	if p == nil {
		t.Fatal("nothing was forked")
	}
	defer p.Close()
	if p.Account() != nil || p.owners != nil {
		t.Errorf("account %v, owners %v", p.Account(), p.owners)
	}
	for _, c := range []struct {
		level paddock.Level
		leave bool
		want  bool
	}{{paddock.Off, false, true}, {paddock.Standard, false, true}, {paddock.Full, false, false}, {paddock.Off, true, false}} {
		job := full()
		job.Contain.Level, job.LeaveCgroup = c.level, c.leave
		if got := p.Fits(job); got != c.want {
			t.Errorf("%+v: fits %t", c, got)
		}
	}
	taken := p.Take()
	if taken == nil || p.Take() != nil {
		t.Error("nothing could be taken, or twice")
	}
	taken.Close()
}

// What is mounted, unmounted or mounted in another way is no matter of a run that began
// before, so what had been built is given up, and nothing is held busy by it.
func TestAGroundGoesWithTheMounts(t *testing.T) {
	t.Parallel()
	if err := contain.Probe().Can(paddock.Full); err != nil || os.Geteuid() != 0 {
		testproc.Skip(t, "only root's runs have a ground")
	}
	cmd := testproc.Self(t, "mounter", t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS} // what is mounted there is nobody else's
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "done\n" {
		t.Errorf("%v\n%s", err, out)
	}
}

func mounterMain() int {
	if err := mounter(os.Args[len(os.Args)-1]); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("done")
	return 0
}

func mounter(dir string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := withoutOthers(); err != nil {
		return err
	}
	// Below what every run sees, so that the ground has it too.
	place := "/opt"
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, ""); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(dir, "inner"), 0o755); err != nil {
		return err
	}
	if info, err := os.Lstat(place); err != nil || !info.IsDir() {
		place = "/usr"
	} else if err := unix.Mount(dir, place, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	changes := map[string]func() error{
		"mounted":   func() error { return unix.Mount("tmpfs", filepath.Join(place, "inner"), "tmpfs", 0, "") },
		"read-only": func() error { return unix.Mount("", place, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "") },
		"unmounted": func() error { return unix.Unmount(filepath.Join(place, "inner"), 0) },
	}
	if place == "/usr" { // nothing may be changed there
		changes = map[string]func() error{"mounted": func() error { return unix.Mount("tmpfs", filepath.Join(dir, "inner"), "tmpfs", 0, "") }}
	}
	for _, name := range []string{"mounted", "read-only", "unmounted"} {
		if change := changes[name]; change != nil {
			if err := changed(name, change); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

// withoutOthers takes away our copies of what other tests have mounted: when one of those
// removes the directory below, the copy goes as well.
func withoutOthers() error {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(table)) {
		place := strings.Fields(line)[4]
		if strings.HasPrefix(place, "/tmp/") || strings.HasPrefix(place, "/var/") || strings.HasPrefix(place, "/dev/shm/") || strings.HasPrefix(place, os.TempDir()+"/") {
			_ = unix.Unmount(place, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW) // it may be gone with another
		}
	}
	return nil
}

// changed makes a change, once with nobody who looks after the ground in time, and
// once with somebody.
func changed(name string, change func() error) error {
	built := make(chan struct{}, 1)
	p := fork(&Process{away: true, ground: true, built: func() { built <- struct{}{} }})
	if p == nil {
		return errors.New("nothing was forked")
	}
	defer p.Close()
	if !p.Fits(full()) {
		return errors.New("it doesn't fit at all")
	}
	first := p.Account()
	if err := change(); err != nil {
		return err
	}
	// Whoever is first, this or what looks after it: it isn't the one from before.
	if p.Fits(full()) && *p.Account() == *first {
		return errors.New("it fits after the change")
	}
	select {
	case <-built:
	case <-time.After(time.Minute):
		return errors.New("nothing was built anew")
	}
	if !p.Fits(full()) || *p.Account() == *first {
		return fmt.Errorf("what was built anew doesn't fit, or is of the account %v as before", first)
	}
	return nil
}

func TestTable(t *testing.T) {
	t.Parallel()
	table, err := mounts.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	ended, over, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer ended.Close()
	if err := over.Close(); err != nil {
		t.Fatal(err)
	}
	if _, is := table.Await(ended, -1); !is {
		t.Error("nobody needs to know, and it waited on")
	}
}

// The machine as it was seen when a run was asked for counts for that run alone.
func TestRoused(t *testing.T) {
	t.Parallel()
	var none *Process
	none.Rouse()
	if none.Seen() != nil || (&Process{}).Seen() != nil {
		t.Error("something was seen by nobody")
	}
	off := &Process{below: true}
	if off.Rouse(); off.Seen() != nil {
		t.Error("a run at off needs nothing of the machine")
	}
	p := &Process{}
	if p.Rouse(); p.Seen() == nil {
		t.Error("nothing was seen")
	}
	p.seenAt = p.seenAt.Add(-lately)
	if p.Seen() != nil {
		t.Error("it was seen for an earlier request")
	}
}
