package peer

import (
	"net"
	"testing"
)

func TestPeers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		uid, self uint32
		want      bool
	}{{1000, 1000, true}, {0, 1000, true}, {0, 0, true}, {1001, 1000, false}, {1000, 0, false}, {65534, 1000, false}} {
		if got := Trusted(c.uid, c.self); got != c.want {
			t.Errorf("Trusted(%d, %d) = %v", c.uid, c.self, got)
		}
	}
	a, b := net.Pipe()
	defer b.Close()
	defer a.Close()
	if _, err := UID(a); err == nil {
		t.Error("a pipe has a user")
	}
}
