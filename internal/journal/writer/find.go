package writer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"paddock"
	"paddock/internal/journal"
)

// A torn region is what follows the last whole entry. closed means that it ends
// with the end of a line, which doesn't count. With lacksEnd it is nothing: only
// the end of the last entry's line isn't there.
type torn struct {
	bytes    int64
	digest   paddock.Digest
	closed   bool
	lacksEnd bool
}

// find sets w.end to where the journal ends now, and returns what is torn there.
func (w *Writer) find() (*torn, error) {
	if w.end != nil {
		if same, err := w.unchanged(); err != nil || same {
			return nil, err
		}
		w.forget()
	}
	segments, err := journal.Segments(w.dir)
	if err != nil {
		return nil, err
	}
	at := &end{}
	var junk *torn
	for i := len(segments) - 1; i >= 0 && at.seq == 0; i-- {
		if at.number == 0 {
			at.number, at.size = segments[i].Number, segments[i].Size
		}
		last, rest, err := tailOf(segments[i])
		if err != nil {
			return nil, err
		}
		if i == len(segments)-1 {
			junk = rest
		} else if rest != nil {
			// Only a crash in the newest segment is ours to close.
			return nil, fmt.Errorf("%s doesn't end in a whole entry: paddock audit verify says more", segments[i].Path)
		}
		if last != nil {
			at.seq, at.digest, at.fresh = last.Seq, last.Digest, i < len(segments)-1
			if at.id, err = idOf(segments[i]); err != nil {
				return nil, err
			}
		}
	}
	switch {
	case at.seq > 0:
	case at.number > 1:
		return nil, fmt.Errorf("%s has no entry and the segment before it isn't there: paddock audit verify says more", journal.Name(at.number))
	default:
		at.number, at.id = 1, newID()
	}
	at.file, err = w.create(at.number)
	if err != nil {
		return nil, err
	}
	w.created = at.size == 0
	w.end = at
	return junk, nil
}

// unchanged says whether nobody added anything since we did.
func (w *Writer) unchanged() (bool, error) {
	var there, ours os.FileInfo
	there, err := os.Lstat(filepath.Join(w.dir, journal.Name(w.end.number)))
	if err == nil {
		ours, err = w.end.file.Stat()
	}
	if err != nil {
		return false, ignoreMissing(err)
	}
	if !os.SameFile(there, ours) || there.Size() != w.end.size {
		return false, nil
	}
	_, err = os.Lstat(filepath.Join(w.dir, journal.Name(w.end.number+1)))
	return errors.Is(err, fs.ErrNotExist), ignoreMissing(err)
}

// tailOf returns the last whole entry of a segment and what follows it.
func tailOf(s journal.Segment) (*journal.Entry, *torn, error) {
	if s.Size == 0 {
		return nil, nil, nil
	}
	file, err := journal.Open(s.Path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	// Nearly always the last line is whole, and short: nothing else need be read.
	for _, most := range []int64{usualLine, journal.MaxLine + 1} {
		tail := make([]byte, min(s.Size, most))
		if _, err := file.ReadAt(tail, s.Size-int64(len(tail))); err != nil {
			return nil, nil, err
		}
		line, ok := bytes.CutSuffix(tail, []byte("\n"))
		if !ok {
			break
		}
		begin := bytes.LastIndexByte(line, '\n')
		if begin < 0 && int64(len(tail)) < s.Size {
			continue // it is longer
		}
		if e, err := journal.Parse(line[begin+1:]); err == nil {
			return &e, nil, nil
		}
		break
	}
	return search(s, file)
}

// usualLine is more than most lines have. All that a line may have is sixteen pages.
const usualLine = 4 << 10

// search reads the whole segment for its last whole entry.
func search(s journal.Segment, file io.Reader) (*journal.Entry, *torn, error) {
	var last *journal.Entry
	var junk *journal.Junk
	lacksEnd := false
	err := journal.Scan(io.LimitReader(file, s.Size), func(l journal.Line) error {
		if l.Long == nil {
			if e, err := journal.Parse(l.Bytes); err == nil {
				last, junk, lacksEnd = &e, nil, !l.Whole
				return nil
			}
		}
		if junk == nil {
			junk = &journal.Junk{}
		}
		junk.Add(l)
		return nil
	})
	switch {
	case err != nil:
		return nil, nil, err
	case lacksEnd:
		return last, &torn{lacksEnd: true}, nil
	case junk == nil:
		return last, nil, nil
	}
	size, digest := junk.Sum()
	return last, &torn{bytes: size, digest: digest, closed: junk.Closed()}, nil
}

// idOf reads which journal a segment is of from its first entry.
func idOf(s journal.Segment) (id string, err error) {
	if id := firstID(s); id != "" {
		return id, nil
	}
	found := errors.New("found")
	err = journal.ScanSegment(s, func(l journal.Line) error {
		e, err := journal.Parse(l.Bytes) // even if only its line's end is missing
		switch {
		case err != nil:
			return nil //nolint:nilerr // torn before the first one
		case e.Begin != nil:
			id = e.Begin.ID
		case e.Rotate != nil:
			id = e.Rotate.ID
		}
		return found
	})
	if errors.Is(err, found) {
		err = nil
	}
	if err == nil && !journal.ValidID(id) {
		err = fmt.Errorf("%s doesn't say which journal it is of: paddock audit verify says more", s.Path)
	}
	return id, err
}

// firstID is what the first line says, if that is whole and short: then nothing else need
// be read. Empty is not known.
func firstID(s journal.Segment) string {
	file, err := journal.Open(s.Path)
	if err != nil {
		return ""
	}
	defer file.Close()
	head := make([]byte, min(s.Size, usualLine))
	if _, err := file.ReadAt(head, 0); err != nil {
		return ""
	}
	line, _, whole := bytes.Cut(head, []byte("\n"))
	e, err := journal.Parse(line)
	switch {
	case !whole || err != nil:
	case e.Begin != nil && journal.ValidID(e.Begin.ID):
		return e.Begin.ID
	case e.Rotate != nil && journal.ValidID(e.Rotate.ID):
		return e.Rotate.ID
	}
	return ""
}

// treeUpTo returns the tree of all entries up to the end of a segment.
func treeUpTo(dir string, number int) (*journal.Tree, error) {
	segments, err := journal.Segments(dir)
	if err != nil {
		return nil, err
	}
	for _, s := range segments {
		if s.Number == number {
			return treeOf(s)
		}
	}
	return nil, fmt.Errorf("segment %d isn't there", number)
}

// treeOf adds a segment's entries to the tree that its first entry tells.
func treeOf(s journal.Segment) (*journal.Tree, error) {
	var tree *journal.Tree
	err := journal.ScanSegment(s, func(l journal.Line) error {
		e, err := l.Entry()
		if err != nil {
			return nil //nolint:nilerr // closed by a recovered entry, or found by an audit
		}
		if tree == nil {
			tree = &journal.Tree{}
			if e.Rotate != nil {
				if tree, err = journal.TreeOf(e.Seq-1, e.Rotate.Tree); err != nil {
					return err
				}
			}
		}
		tree.Add(l.Bytes)
		return nil
	})
	if err == nil && tree == nil {
		err = errors.New("it has no entry")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Path, err)
	}
	return tree, nil
}
