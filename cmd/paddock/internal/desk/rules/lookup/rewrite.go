package lookup

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"paddock/internal/trust"
)

// Rewrite puts text in the place of the file at the real path, whole or not at
// all, with its owner and mode, if it still holds what was read. It must be one
// that we may believe, and write to.
func Rewrite(path string, read, text []byte) (err error) {
	file, _, err := trust.User().Open(path)
	if err != nil {
		return fmt.Errorf("%s can't be changed: %w", path, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	// Who may not write to the file may not replace it, whatever its directory allows.
	if w, err := os.OpenFile(path, os.O_WRONLY, 0); err != nil {
		return err
	} else if err := w.Close(); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".pinned-*")
	if err != nil {
		return err
	}
	defer func() {
		if removed := os.Remove(temp.Name()); removed != nil && !errors.Is(removed, os.ErrNotExist) {
			err = errors.Join(err, removed)
		}
	}()
	if _, err = temp.Write(text); err == nil {
		err = likewise(temp, info)
	}
	if err == nil {
		err = temp.Sync()
	}
	if err = errors.Join(err, temp.Close()); err != nil {
		return err
	}
	now, err := bounded(file)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, read) {
		return fmt.Errorf("%s has changed meanwhile; nothing was written", path)
	}
	return os.Rename(temp.Name(), path)
}
