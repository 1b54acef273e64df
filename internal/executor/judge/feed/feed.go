// Package feed makes of a run's kept output what another program can read: plain,
// and without secrets.
//
// # Limits
//
// Who may read what is decided elsewhere.
package feed

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"paddock/internal/artifact"
	"paddock/internal/artifact/packed"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record/durable"
)

func isPacked(file *os.File) bool { return strings.HasSuffix(file.Name(), packed.Suffix) }

// Size is how long the stream in file is.
func Size(file *os.File) (int64, error) {
	if isPacked(file) {
		p, err := packed.NewFile(file)
		if err != nil {
			return 0, err
		}
		return p.Size(), nil
	}
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Shown returns the stream in file, of a run's directory, as readers are shown it.
// That is the file itself unless it is packed or has secrets to hide. Then it is a
// file of the state directory that has no name and goes with the last who reads it,
// and file is closed.
func Shown(ctx context.Context, state *rundir.State, file *os.File) (*os.File, error) {
	size, err := Size(file)
	if err != nil {
		return nil, err
	}
	var src artifact.Source = file
	if isPacked(file) {
		if src, err = packed.NewFile(file); err != nil {
			return nil, err
		}
	}
	masked, err := artifact.Masked(src, strings.TrimSuffix(file.Name(), packed.Suffix))
	if err != nil || masked == artifact.Source(file) {
		return file, err
	}
	name := filepath.Join(state.Path(), durable.TempPrefix+durable.RandomHex(8))
	plain, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL|durable.NoFollow, 0o600)
	if err != nil {
		return nil, errors.Join(err, masked.Close())
	}
	if err = durable.Remove(name); err == nil {
		_, err = io.Copy(plain, until{ctx, io.NewSectionReader(masked, 0, size)})
	}
	if err == nil {
		_, err = plain.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, plain.Close())
	}
	return plain, masked.Close()
}

// until reads as long as a context lasts.
type until struct {
	ctx context.Context
	r   io.Reader
}

func (u until) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}
