package contain

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"paddock"
)

// A way out needs a network of the run's own.
func TestAnAllowlistNeedsFull(t *testing.T) {
	t.Parallel()
	for _, level := range []paddock.Level{paddock.Standard, paddock.Off} {
		if _, err := NewPlan(Wish{Level: level, Network: "allowlist"}, Probe()); !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: %v", level, err)
		}
	}
}

// The socket is made before the program is forked, in its network and handed out,
// and no descriptor of it is left for the program.
func TestWayOut(t *testing.T) {
	t.Parallel()
	var p Plan
	p.namespaces(Wish{Level: paddock.Full, Network: "allowlist"}, Host{})
	if p.Namespaces&unix.CLONE_NEWNET == 0 {
		t.Fatal("no network of its own")
	}
	var made []uintptr
	for _, c := range p.Setup {
		if c.Step == "way out" {
			made = append(made, c.Nr)
		}
	}
	want := []uintptr{unix.SYS_SOCKET, unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_SENDMSG, unix.SYS_CLOSE}
	if len(made) != len(want) {
		t.Fatalf("calls %v, want %v", made, want)
	}
	for i := range want {
		if made[i] != want[i] {
			t.Errorf("call %d is %d, want %d", i, made[i], want[i])
		}
	}
	var none Plan
	none.namespaces(Wish{Level: paddock.Full, Network: "none"}, Host{})
	for _, c := range none.Setup {
		if c.Step == "way out" {
			t.Errorf("with network none there is a way out: %+v", c)
		}
	}
}
