package journal

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Dir is where a state directory has its journal.
func Dir(state string) string { return filepath.Join(state, "journal") }

// Name is the file of the numbered segment.
func Name(number int) string { return fmt.Sprintf("%06d.jsonl", number) }

// A Segment is a file of a journal as it was found.
type Segment struct {
	Number int
	Path   string
	// Size is how much of it counts: what others add later isn't looked at.
	Size int64
}

// Segments lists the segments of the directories, in order. A number that more
// than one of them has is taken from the first.
func Segments(dirs ...string) ([]Segment, error) {
	var all []Segment
	for _, dir := range dirs {
		names, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			number, err := strconv.Atoi(strings.TrimSuffix(name.Name(), ".jsonl"))
			if err != nil || number < 1 || name.Name() != Name(number) ||
				slices.ContainsFunc(all, func(s Segment) bool { return s.Number == number }) {
				continue
			}
			info, err := name.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue // moved away meanwhile
			}
			if err != nil {
				return nil, err
			}
			all = append(all, Segment{number, filepath.Join(dir, name.Name()), info.Size()})
		}
	}
	slices.SortFunc(all, func(a, b Segment) int { return a.Number - b.Number })
	return all, nil
}

// A Line is one line of a segment, whatever it says.
type Line struct {
	Number int   // from one
	Offset int64 // of its first byte
	// Bytes are without the line's end; nil when Long is set.
	Bytes []byte
	// Whole means that it has an end.
	Whole bool
	// Long is a piece of a line that is longer than any entry's.
	Long []byte
}

// Entry reads the line as an entry.
func (l Line) Entry() (Entry, error) {
	switch {
	case l.Long != nil:
		return Entry{}, fmt.Errorf("it is longer than %d bytes", MaxLine)
	case !l.Whole:
		return Entry{}, errors.New("it is torn")
	}
	return Parse(l.Bytes)
}

// Scan calls f with each line of r; one that is too long comes in pieces. The
// bytes are good until f returns. It needs no more memory than a line may have.
func Scan(r io.Reader, f func(Line) error) error {
	in := bufio.NewReaderSize(r, MaxLine)
	l := Line{Number: 1}
	for long := false; ; {
		piece, err := in.ReadSlice('\n')
		full := errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !full && !errors.Is(err, io.EOF) {
			return err
		}
		if len(piece) > 0 {
			l.Whole = err == nil
			text := bytes.TrimSuffix(piece, []byte("\n"))
			long = long || full
			l.Bytes, l.Long = text, nil
			if long {
				l.Bytes, l.Long = nil, text
			}
			if err := f(l); err != nil {
				return err
			}
			l.Offset += int64(len(piece))
		}
		switch {
		case err == nil:
			l.Number, long = l.Number+1, false
		case !full:
			return nil
		}
	}
}

// ScanSegment is Scan of what counts of s.
func ScanSegment(s Segment, f func(Line) error) error {
	file, err := Open(s.Path)
	if err != nil {
		return err
	}
	return errors.Join(Scan(io.LimitReader(file, s.Size), f), file.Close())
}

// Open opens a regular file for reading. A link or a fifo in its place is an
// error and not a wait.
func Open(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|Guarded, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s isn't a regular file", path)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Snapshot is Segments at a moment when nobody is in the middle of adding to the
// first directory.
func Snapshot(ctx context.Context, dirs ...string) (all []Segment, err error) {
	lock, err := Open(filepath.Join(dirs[0], "lock"))
	if errors.Is(err, fs.ErrNotExist) {
		return Segments(dirs...) // a copy, to which nobody adds
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := Lock(ctx, lock, false); err != nil {
		return nil, err
	}
	return Segments(dirs...)
}
