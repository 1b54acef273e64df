package contain

import (
	"bytes"
	"os"
	"testing"
)

// A file is told from any other by its inode, and by both numbers of its device: on another
// file system there is one with the same inode.
func TestIdentityIsInodeAndDevice(t *testing.T) {
	t.Parallel()
	file, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	is, err := IdentityOf(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		want Identity
		same bool
	}{
		"itself":         {is, true},
		"another inode":  {Identity{is.Major, is.Minor, is.Inode + 1}, false},
		"another minor":  {Identity{is.Major, is.Minor + 1, is.Inode}, false},
		"another major":  {Identity{is.Major + 1, is.Minor, is.Inode}, false},
		"nothing at all": {Identity{}, false},
	} {
		same := true
		for _, call := range sameFile("step", Number(file.Fd()), Text(""), c.want) {
			if err := carriedOut(call); err != nil {
				t.Fatal(err)
			}
			same = same && bytes.Equal(call.Got, call.Want)
		}
		if same != c.same {
			t.Errorf("%s: the same %t", name, same)
		}
	}
}
