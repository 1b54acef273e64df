package remains

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/contain/protect"
	"paddock/internal/workspace/apply/tree/quarantine"
)

// look finds what the run in runDir made of protected places, and finishes what its
// supervisor had begun to do about them.
func look(runDir string, now func() time.Time) (*paddock.Deeper, error) {
	return quarantine.Lost(quarantine.Options{RunDir: runDir, Judge: protect.Judge, Ours: protect.Ours, Now: now})
}

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
