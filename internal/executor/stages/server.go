package stages

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"paddock/internal/spawn"
)

// serverName is the binary that serves, beside the one that people type. It has every
// command, so that the other may have those alone that must be quick.
const serverName = "paddock-server"

// AllHanded is how many descriptors are handed on by who knows of none that it may close.
const AllHanded = -1

// BecomeServer makes this process the server's program, which lies beside this one: the
// same process with the same words and environment, the standard streams and as many
// descriptors after them as were handed over by a service manager. It returns only an
// error.
func BecomeServer(argv, env []string, handed int) error {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return fmt.Errorf("can't find out where this program is, to look for %s beside it: %w", serverName, err)
	}
	path := filepath.Join(filepath.Dir(self), serverName)
	info, err := os.Stat(path)
	install := fmt.Sprintf("install it with `go build -tags server -o %s ./cmd/paddock` in Paddock's sources", path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return missing{fmt.Sprintf("the server %s is missing: %s", path, install)}
	case err != nil:
		return fmt.Errorf("the server can't be used: %w", err)
	case !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
		return fmt.Errorf("the server %s isn't an executable file: %s", path, install)
	case same(self, info): // it would become itself again and again, without an end
		return fmt.Errorf("%s is this very program, built without the server: %s", path, install)
	}
	keep := 3 + handed
	if handed == AllHanded {
		keep = math.MaxInt32
	}
	if err := spawn.Become(append([]string{path}, argv...), env, keep); err != nil {
		return fmt.Errorf("the server %s can't be started: %w", path, err)
	}
	return nil
}

// same reports whether the program at path is the one of info.
func same(path string, info os.FileInfo) bool {
	self, err := os.Stat(path)
	return err == nil && os.SameFile(self, info)
}
