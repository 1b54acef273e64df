package spawn

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"paddock/internal/contain/owner"
	"paddock/internal/testproc"
)

// A user namespace outlives the process that made it, and nothing else is left.
// Not parallel: it counts descriptors and processes.
func TestUserNamespace(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root writes such maps; it is tried as root")
	}
	testproc.Leaks(t)
	for range 3 {
		f, err := UserNamespace(owner.Swap(0, 12345), owner.Swap(7, 54321))
		if err != nil {
			t.Fatal(err)
		}
		uid, err := unix.IoctlGetInt(int(f.Fd()), unix.NS_GET_OWNER_UID)
		if kind, kindErr := unix.IoctlRetInt(int(f.Fd()), unix.NS_GET_NSTYPE); kind != unix.CLONE_NEWUSER || kindErr != nil {
			t.Errorf("a namespace of kind %#x, %v, of %d, %v", kind, kindErr, uid, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	_, err := UserNamespace("0 0 1\nnonsense\n", "0 0 1\n")
	var failed *StartError
	if !errors.As(err, &failed) || failed.Step != "map of owners" {
		t.Errorf("nonsense was a map: %v", err)
	}
}
