package task

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"paddock/internal/rundir/record/durable"
)

// A Shelf is a directory of a state directory with small files, and a lock by which
// several processes change them one after another.
type Shelf struct{ state, dir string }

// NewShelf returns the shelf called name below a state directory. Nothing is made
// before it is needed.
func NewShelf(state, name string) Shelf { return Shelf{state, filepath.Join(state, name)} }

// Dir is where the files are.
func (s Shelf) Dir() string { return s.dir }

// Locked calls fn while nobody else changes anything. fn must not wait for others.
func (s Shelf) Locked(ctx context.Context, fn func() error) (err error) {
	if err := durable.MakeDir(s.dir); err != nil {
		return fmt.Errorf("what agents plan can't be kept: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(s.dir, "lock"), os.O_RDWR|os.O_CREATE|durable.NoFollow, 0o600)
	if err != nil {
		return fmt.Errorf("what agents plan can't be locked: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := durable.WaitLock(ctx, f); err != nil {
		return err
	}
	return fn()
}

// Read reads the file called name into v; fs.ErrNotExist means that there is none.
func (s Shelf) Read(name string, v durable.Versioned) error {
	return durable.ReadJSON(filepath.Join(s.dir, name), v)
}

// Write puts v into the file called name, whole and durably, or leaves it as it was.
func (s Shelf) Write(name string, v any) error {
	text, err := durable.EncodeJSON(v, false)
	if err != nil {
		return err
	}
	return durable.Replace(filepath.Join(s.dir, name), text)
}
