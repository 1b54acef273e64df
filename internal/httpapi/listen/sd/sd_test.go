//go:build unix

package sd

import (
	"context"
	"net"
	"path/filepath"
	"syscall"
	"testing"

	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

func env(m map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := m[name]; return v, ok }
}

func TestListener(t *testing.T) {
	for name, m := range map[string]map[string]string{
		"nothing":       {},
		"another's":     {"LISTEN_FDS": "1", "LISTEN_PID": "7"},
		"nobody's":      {"LISTEN_FDS": "1"},
		"not a process": {"LISTEN_FDS": "1", "LISTEN_PID": "x"},
	} {
		if l, err := Listener(env(m), 8); l != nil || err != nil {
			t.Errorf("%s: %v, %v", name, l, err)
		}
	}
	for _, count := range []string{"0", "2", "", "x"} {
		if _, err := Listener(env(map[string]string{"LISTEN_FDS": count, "LISTEN_PID": "8"}), 8); err == nil {
			t.Errorf("%q sockets", count)
		}
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close() // there is a copy
	taken, err := take(uintptr(fd))
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	if taken.Addr().String() != l.Addr().String() {
		t.Errorf("%s, want %s", taken.Addr(), l.Addr())
	}
}

func TestNotify(t *testing.T) {
	name := filepath.Join(t.TempDir(), "notify")
	c, err := (&net.ListenConfig{}).ListenPacket(context.Background(), "unixgram", name)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := Notify(t.Context(), env(map[string]string{"NOTIFY_SOCKET": name}), "READY=1"); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 100)
	n, _, err := c.ReadFrom(b)
	if err != nil || string(b[:n]) != "READY=1" {
		t.Errorf("%s, %v", b[:n], err)
	}
	if err := Notify(t.Context(), env(nil), "READY=1"); err != nil {
		t.Error(err)
	}
	if err := Notify(t.Context(), env(map[string]string{"NOTIFY_SOCKET": name + "x"}), "READY=1"); err == nil {
		t.Error("a manager that isn't there")
	}
}
