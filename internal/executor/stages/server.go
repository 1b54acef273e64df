package stages

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"paddock/internal/spawn"
)

// serverName is the binary that serves, beside the one that people type.
const serverName = "paddock-server"

// BecomeServer makes this process the server's program, which lies beside this one: the
// same process with the same words and environment, the standard streams and as many
// descriptors after them as a service manager handed over. It returns only an error.
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
	}
	if err := spawn.Become(append([]string{path}, argv...), env, 3+handed); err != nil {
		return fmt.Errorf("the server %s can't be started: %w", path, err)
	}
	return nil
}
