// Package masks keeps where in a stream of a run secrets are, so that whoever reads
// it is shown none: the bytes stay as they were printed, and so does every offset.
//
// The file stdout.masks is there, even if there is nothing in it, where the run's
// supervisor knew secrets. It is written before the bytes that it covers: a reader
// who has read bytes finds what covers them. Where it can't be read nothing is
// shown. The values themselves are nowhere, and may have changed since.
//
// # Limits
//
// Who may see what is hidden is decided elsewhere, and so is what a secret is. A
// mask reaches as far as what was found; see package redact for what isn't.
package masks

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sort"

	"paddock/internal/redact"
)

// suffix is what the name of the file has behind that of the stream.
const suffix = ".masks"

// Name is the name of the file of a stream's masks.
func Name(stream string) string { return stream + suffix }

// magic begins a file of masks, of which each is an offset and a length.
const (
	magic = "PADMASK1"
	size  = 16
)

// A Writer writes the masks of one stream, durably.
type Writer struct{ f *os.File }

// Create makes the file for the stream at path, opened with flags too, which keep
// links out. Its name is durable with the directory.
func Create(path string, flags int) (*Writer, error) {
	f, err := os.OpenFile(Name(path), os.O_WRONLY|os.O_CREATE|os.O_EXCL|flags, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString(magic)
	if err = errors.Join(err, f.Sync()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Writer{f}, nil
}

// Add writes spans, which are behind all others, and returns when they are durable:
// only then may bytes in them be kept. After an error nothing may be added.
func (w *Writer) Add(spans []redact.Span) error {
	if len(spans) == 0 {
		return nil
	}
	b := make([]byte, 0, size*len(spans))
	for _, s := range spans {
		b = binary.LittleEndian.AppendUint64(b, uint64(s.Offset))
		b = binary.LittleEndian.AppendUint64(b, uint64(s.Length))
	}
	_, err := w.f.Write(b)
	return errors.Join(err, w.f.Sync())
}

// Close lets go of the file.
func (w *Writer) Close() error { return w.f.Close() }

// A Source is an open file of a stream.
type Source interface {
	io.ReaderAt
	io.Closer
	Stat() (fs.FileInfo, error)
}

// Cover returns src, which holds the stream at path, with its secrets hidden. The
// masks are opened with flags, which keep links and pipes out. It closes src when
// there is an error, and with what it returns.
func Cover(src Source, path string, flags int) (Source, error) {
	f, err := os.OpenFile(Name(path), os.O_RDONLY|flags, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return src, nil
	}
	if err != nil {
		return nil, errors.Join(unknown(path, err), src.Close())
	}
	c := &covered{src, f}
	if _, err := c.masks(); err != nil {
		return nil, errors.Join(unknown(path, err), c.Close())
	}
	return c, nil
}

func unknown(path string, err error) error {
	return fmt.Errorf("where secrets are can't be told, so nothing is shown: %s: %w", Name(path), err)
}

// covered is a stream whose secrets are hidden.
type covered struct {
	Source
	f *os.File
}

// ReadAt reads the bytes first: what covers them was written before.
func (c *covered) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.Source.ReadAt(p, off)
	if n == 0 {
		return n, err
	}
	if hideErr := c.hide(p[:n], off); hideErr != nil {
		clear(p)
		return 0, unknown(c.f.Name()[:len(c.f.Name())-len(suffix)], hideErr)
	}
	return n, err
}

// atOnce is how many masks are read at once.
const atOnce = 4096

func (c *covered) hide(p []byte, off int64) error {
	count, err := c.masks()
	if err != nil || count == 0 {
		return err
	}
	first := sort.Search(count, func(i int) bool {
		s, searchErr := c.read(i, 1)
		if searchErr != nil {
			err = searchErr
			return true
		}
		return s[0].End() > off
	})
	for i := first; err == nil && i < count; i += atOnce {
		var spans []redact.Span
		if spans, err = c.read(i, min(atOnce, count-i)); err != nil {
			break
		}
		redact.Hide(p, off, spans)
		if spans[len(spans)-1].End() >= off+int64(len(p)) {
			break
		}
	}
	return err
}

// masks returns how many masks there are now. One that isn't written to its end
// covers bytes that aren't there yet.
func (c *covered) masks() (int, error) {
	info, err := c.f.Stat()
	switch {
	case err != nil:
		return 0, err
	case !info.Mode().IsRegular():
		return 0, errors.New("it isn't a regular file")
	}
	var b [len(magic)]byte
	if _, err := c.f.ReadAt(b[:], 0); err != nil || string(b[:]) != magic {
		return 0, errors.Join(errors.New("it isn't a file of masks"), err)
	}
	return int((info.Size() - int64(len(magic))) / size), nil
}

// read returns n masks from the i-th on, which must be in order and apart.
func (c *covered) read(i, n int) ([]redact.Span, error) {
	b := make([]byte, n*size)
	if _, err := c.f.ReadAt(b, int64(len(magic))+int64(i)*size); err != nil {
		return nil, err
	}
	spans := make([]redact.Span, n)
	end := int64(0)
	for k := range spans {
		s := redact.Span{Offset: int64(binary.LittleEndian.Uint64(b[k*size:])), Length: int64(binary.LittleEndian.Uint64(b[k*size+8:]))}
		if s.Offset < end || s.Length <= 0 || s.End() < s.Offset {
			return nil, errors.New("the masks are damaged")
		}
		spans[k], end = s, s.End()
	}
	return spans, nil
}

// Close lets go of both files.
func (c *covered) Close() error { return errors.Join(c.Source.Close(), c.f.Close()) }
