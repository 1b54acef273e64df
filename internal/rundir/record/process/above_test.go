package process

import (
	"os"
	"slices"
	"testing"

	"paddock"
)

func TestAbove(t *testing.T) {
	t.Parallel()
	above, err := Above(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	parent, err := Of(os.Getppid())
	if err != nil || len(above) == 0 || above[0] != parent {
		t.Errorf("%+v, %v; the nearest is %+v", above, err, parent)
	}
	if i := slices.IndexFunc(above, func(p paddock.Process) bool { return !Alive(p) }); i >= 0 {
		t.Errorf("%+v isn't alive", above[i])
	}
	if _, err := Above(1 << 30); err == nil {
		t.Error("nobody has ancestors")
	}
	if own := Namespace(os.Getpid()); own == "" || own != Namespace(os.Getppid()) || Namespace(1<<30) != "" {
		t.Errorf("the namespace is %q", own)
	}
}
