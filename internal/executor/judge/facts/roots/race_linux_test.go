package roots

import (
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

// Whoever exchanges a workspace, or what is above it, with a link while it is opened gets
// the workspace opened or nothing: never what the link leads to.
func TestWorkspaceIsExchanged(t *testing.T) {
	t.Parallel()
	root, outside := t.TempDir(), t.TempDir()
	for _, dir := range []string{root + "/ann/site/sub", outside + "/site/sub"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{root + "/link": outside, root + "/sub": outside + "/site/sub"} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	over := make(chan struct{})
	var work sync.WaitGroup
	// The inner ones are named by their directories: by a path through the link the test
	// itself would carry the workspace's directory outside.
	top, inner := opened(t, root), opened(t, root+"/ann/site")
	for _, x := range []struct {
		at   int
		a, b string
	}{{top, "ann", "link"}, {inner, "sub", "sub"}} {
		work.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					_ = unix.Renameat2(x.at, x.a, top, x.b, unix.RENAME_EXCHANGE) // one of both is away for a moment
				}
			}
		})
	}
	defer work.Wait()
	defer close(over)
	yes, refused := 0, 0
	for i, begun := 0, time.Now(); i < 200 || i < 5000 && time.Since(begun) < 400*time.Millisecond; i++ {
		r := Open([]string{root})
		r.Confine(root + "/ann/site")
		for _, name := range []string{"", "sub", root + "/ann/site/sub", "../../link", "../../sub"} {
			facts, dir := r.Dir(name)
			if dir == nil {
				refused++
				continue
			}
			yes++
			now, err := RealPath(dir)
			if err != nil || strings.HasPrefix(now, outside) || !strings.HasPrefix(facts.Real, root) || facts.Root != root+"/ann/site" {
				t.Fatalf("%q was opened as %+v, and is %s, %v", name, facts, now, err)
			}
			dir.Close()
		}
		if err := r.Fault(); err != nil {
			t.Fatal(err)
		}
		r.Close()
	}
	if yes == 0 || refused == 0 {
		t.Errorf("opened %d times and not %d times: nothing was tried", yes, refused)
	}
}

// opened is the descriptor of a directory, until the test is over.
func opened(t *testing.T, dir string) int {
	t.Helper()
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return int(f.Fd())
}
