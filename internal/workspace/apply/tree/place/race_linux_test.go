package place

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// planted has somebody exchange two names all the time until the test is over: as a run
// does that puts a link in the place of a directory just when we look.
func planted(t *testing.T, a, b string) (stop func()) {
	t.Helper()
	over := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE) // one of both is away for a moment
			}
		}
	})
	stop = sync.OnceFunc(func() { close(over); work.Wait() })
	t.Cleanup(stop)
	return stop
}

// whole is a directory that nobody may reach through a link.
func whole(t *testing.T) (dir string, check func()) {
	t.Helper()
	dir = t.TempDir()
	must(t, os.MkdirAll(dir+"/site/.git/deep", 0o755))
	must(t, os.WriteFile(dir+"/site/.git/deep/keep", []byte("x"), 0o600))
	return dir, func() {
		t.Helper()
		if text, err := os.ReadFile(dir + "/site/.git/deep/keep"); err != nil || string(text) != "x" {
			t.Errorf("what is outside was changed: %q, %v", text, err)
		}
		all, err := os.ReadDir(dir)
		if err != nil || len(all) != 1 {
			t.Errorf("outside are %v, %v", all, err)
		}
	}
}

// rounds does something until it was done often enough and for long enough, whatever else
// the machine does.
func rounds(do func(i int)) {
	for i, begun := 0, time.Now(); i < 200 || i < 4000 && time.Since(begun) < 300*time.Millisecond; i++ {
		do(i)
	}
}

// Whoever exchanges an owner's directory with a link while workspaces are made, looked into
// and removed there has nothing done where the link leads.
func TestOwnersPlaceIsExchanged(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	outside, check := whole(t)
	must(t, os.Mkdir(root+"/ann", 0o700))
	must(t, os.Symlink(outside, root+"/link"))
	stop := planted(t, root+"/ann", root+"/link")
	made := 0
	rounds(func(i int) {
		name := "n" + strconv.Itoa(i)
		err := Make(root, "ann", name)
		if err == nil {
			made++
		} else if !linked(err) {
			t.Errorf("make: %v", err)
		}
		if has, err := Holds(root, "ann/site", ".git"); has || err != nil && !linked(err) {
			t.Errorf("it was looked into what is outside: %v, %v", has, err)
		}
		if err := RemoveIn(t.Context(), root, "ann/site", ".git", ".removed-g"); err != nil && !linked(err) {
			t.Errorf("remove inside: %v", err)
		}
		if err := Remove(t.Context(), root, "ann", "site", ".removed-s"); err != nil && !linked(err) {
			t.Errorf("remove: %v", err)
		}
		if err := Remove(t.Context(), root, "ann", name, ".removed-"+name); err != nil && !linked(err) {
			t.Errorf("remove: %v", err)
		}
	})
	stop()
	check()
	if made == 0 {
		t.Error("nothing was ever made: nothing was tried")
	}
}

// The same for what is inside of a workspace while it is emptied.
func TestInsideIsExchanged(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	outside, check := whole(t)
	for i := range 15 {
		must(t, Make(root, "ann", "site"))
		at := root + "/ann/site"
		for n := range 12 {
			must(t, os.MkdirAll(at+"/d"+strconv.Itoa(n)+"/.git/deep", 0o700))
		}
		must(t, os.Symlink(outside+"/site", at+"/link"))
		stop := planted(t, at+"/d9", at+"/link")
		after := planted(t, root+"/ann/.removed-1/d9", root+"/ann/.removed-1/link")
		if err := Remove(t.Context(), root, "ann", "site", ".removed-1"); err != nil && !errors.Is(err, fs.ErrNotExist) && !linked(err) && !errors.Is(err, unix.ENOTEMPTY) {
			t.Errorf("remove: %v", err)
		}
		stop()
		after()
		must(t, Remove(t.Context(), root, "ann", "site", ".removed-1"))
		if there(root+"/ann/site") || there(root+"/ann/.removed-1") {
			t.Fatalf("round %d: something is left", i)
		}
	}
	check()
}

// linked reports whether an error says that there was a link, or that something moved.
func linked(err error) bool {
	return errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EXDEV) || errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.ENOENT)
}
