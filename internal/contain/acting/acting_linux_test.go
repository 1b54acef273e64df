package acting

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

// self is what the kernel says of the calling thread.
func self(t *testing.T) (ids []string, all string) {
	t.Helper()
	b, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		for _, key := range []string{"Uid:", "Gid:", "Groups:", "CapEff:", "CapPrm:"} {
			if strings.HasPrefix(line, key) {
				ids = append(ids, strings.Join(strings.Fields(line), " "))
			}
		}
	}
	return ids, strings.Join(ids, "; ")
}

// Only the thread that acts is somebody else, in all that new processes inherit,
// and afterwards it is as before.
func TestAs(t *testing.T) {
	if os.Geteuid() != 0 {
		testproc.Skip(t, "only root can act as somebody else")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_, before := self(t)
	done := false
	err := As(paddock.Account{UID: 12345, GID: 54321}, func() {
		ids, all := self(t)
		want := []string{"Uid: 0 12345 0 0", "Gid: 0 54321 0 0", "Groups:"}
		for i := range want {
			if ids[i] != want[i] {
				t.Errorf("%s, want %s", all, want[i])
			}
		}
		if eff, prm := strings.TrimPrefix(ids[4], "CapEff:"), strings.TrimPrefix(ids[3], "CapPrm:"); eff != prm {
			t.Errorf("it lost capabilities: %s", all)
		}
		other := make(chan string)
		go func() { _, all := self(t); other <- all }()
		if got := <-other; got != before {
			t.Errorf("another thread: %s, want %s", got, before)
		}
		done = true
	})
	if _, after := self(t); err != nil || !done || after != before {
		t.Errorf("afterwards %s, before %s; %v", after, before, err)
	}
	for _, nobody := range []paddock.Account{{UID: 1<<32 - 1, GID: 1}, {UID: 1, GID: 1<<32 - 1}, {UID: 0, GID: 1}, {UID: 1, GID: 0}} {
		err = As(nobody, func() { t.Errorf("it acted as %s", nobody) })
		if _, after := self(t); after != before || err == nil {
			t.Errorf("afterwards %s, before %s; %v", after, before, err)
		}
	}
}

// Who isn't root stays who it is.
func TestAsAnOrdinaryUser(t *testing.T) {
	if os.Geteuid() == 0 { // root may, so another tries
		cmd := testproc.Self(t, "-test.run=^TestAsAnOrdinaryUser$")
		testproc.AsUser(t, cmd, testproc.Nobody)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := As(paddock.Account{UID: 12345, GID: 12345}, func() { t.Error("it acted") }); err == nil {
		t.Error("it says that it did")
	}
}
