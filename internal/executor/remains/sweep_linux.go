package remains

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"paddock/internal/contain/protect"
)

// sweep takes away placeholders that no run relies on. A workspace that is gone
// has none.
func sweep(root string) error {
	f, err := os.OpenFile(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return protect.Sweep(f)
}

func placeholders(root string) []string {
	f, err := os.OpenFile(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	return protect.Left(f)
}
