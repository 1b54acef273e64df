// Package moment opens the streams of a run as they are at one moment: one of
// them, or both in order of arrival, with where their lines are.
//
// # Limits
//
// A [View] is of the moment in which it was opened: what is kept later isn't in
// it. Nothing is written, and nothing is waited for. Whether a stream is complete
// is what the caller says. How files are opened is the caller's too, who must
// keep links and pipes out.
package moment

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"paddock"
	"paddock/internal/artifact/pages/moment/frames"
	"paddock/internal/artifact/pages/moment/lines"
	"paddock/internal/artifact/pages/moment/marks"
)

// Files are the three files of a run's output.
type Files struct {
	// Dir is where they are; Open opens one of them.
	Dir  string
	Open func(path string) (frames.Source, error)
}

// section is the span of one file.
type section struct {
	src  frames.Source
	name string
}

func (s section) Read(p []byte, off int64) error { return frames.ReadFull(s.src, p, off, s.name) }

// stitched is the span of both files in order of arrival.
type stitched struct {
	frames *frames.Index
	files  [2]section
}

// Read takes from each file once, however many frames there are: what a range
// of the combined stream holds of one stream is without gaps.
func (s stitched) Read(p []byte, off int64) error {
	list, err := s.frames.Pieces(off, len(p))
	if err != nil {
		return err
	}
	if len(list) == 1 {
		return s.files[list[0].Stream].Read(p, list[0].Offset)
	}
	var from [2]int64
	var size [2]int
	for _, q := range list {
		if size[q.Stream] == 0 {
			from[q.Stream] = q.Offset
		}
		size[q.Stream] += q.Length
	}
	var parts [2][]byte
	for i := range parts {
		parts[i] = make([]byte, size[i])
		if err := s.files[i].Read(parts[i], from[i]); err != nil {
			return err
		}
	}
	for _, q := range list {
		copy(p, parts[q.Stream][:q.Length])
		p, parts[q.Stream] = p[q.Length:], parts[q.Stream][q.Length:]
	}
	return nil
}

// A View is a stream as of the moment in which it was opened.
type View struct {
	lines.Span
	Stream paddock.Stream
	Sealed bool
	Frames *frames.Index
	total  int64
	from   Files
	opened []frames.Source
	// files are the streams that were opened, as long as they were then.
	files    [2]kept
	counters [2]*marks.Counter // those that were needed
}

// kept is one stream of a View.
type kept struct {
	section
	size    int64
	changed time.Time
}

// View opens s, or stdout where that is empty, as of now. The frames are read before the files are measured: what they
// cover by then has been written.
func (f Files) View(s paddock.Stream, sealed bool) (_ *View, err error) {
	switch s {
	case "":
		s = paddock.Stdout
	case paddock.Stdout, paddock.Stderr, paddock.Combined:
	default:
		return nil, paddock.Refused(paddock.InvalidRequest, "there is no stream %.40q; ask for stdout, stderr or combined", s)
	}
	if f.Dir == "" || f.Open == nil {
		return nil, errors.New("reading output: no directory is named")
	}
	v := &View{Stream: s, Sealed: sealed, from: f}
	defer func() {
		if err != nil {
			v.Close()
			err = fmt.Errorf("reading output: %w", err)
		}
	}()
	src, _, err := f.source(v, frames.Name)
	if err != nil {
		return nil, err
	}
	if v.Frames, err = frames.Open(src); err != nil {
		return nil, err
	}
	if i, ok := frames.Number(s); ok {
		err = f.section(v, i)
		v.Span, v.total = v.files[i].section, v.files[i].size
		return v, err
	}
	covered := v.Frames.Covered()
	for i := range frames.Streams {
		if err = f.section(v, i); err != nil {
			return nil, err
		}
		v.total += covered[i]
		if rest := v.files[i].size - covered[i]; sealed && rest > 0 {
			v.Frames.Extend(i, v.files[i].changed.UnixNano(), rest)
			v.total += rest
		}
	}
	v.Span = stitched{v.Frames, [2]section{v.files[0].section, v.files[1].section}}
	return v, nil
}

// Order opens the frames alone, which the caller closes.
func (f Files) Order() (*frames.Index, frames.Source, error) {
	v := &View{}
	src, _, err := f.source(v, frames.Name)
	if err != nil {
		v.Close()
		return nil, nil, err
	}
	x, err := frames.Open(src)
	if err != nil {
		v.Close()
	}
	return x, src, err
}

// section opens one stream and holds it to what the frames say is there.
func (f Files) section(v *View, i int) error {
	name := string(frames.Streams[i])
	src, info, err := f.source(v, name)
	if err != nil {
		return err
	}
	if want := v.Frames.Covered()[i]; info.Size() < want {
		return fmt.Errorf("%s has %d bytes of at least %d: output is missing", name, info.Size(), want)
	}
	v.files[i] = kept{section{src, name}, info.Size(), info.ModTime()}
	return nil
}

func (f Files) source(v *View, name string) (frames.Source, os.FileInfo, error) {
	src, err := f.Open(filepath.Join(f.Dir, name))
	if err != nil {
		return nil, nil, err
	}
	v.opened = append(v.opened, src)
	info, err := src.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s isn't a regular file", name)
	}
	return src, info, err
}

// Total returns how many bytes the View has.
func (v *View) Total() int64 { return v.total }

// Within refuses a place that the View doesn't have.
func (v *View) Within(offset int64) error {
	if offset < 0 {
		return paddock.Refused(paddock.InvalidRequest, "offset is %d; it can't be negative", offset)
	}
	if offset > v.total {
		return paddock.Refused(paddock.InvalidRequest, "offset %d is beyond the end: %s has %d bytes", offset, v.Stream, v.total)
	}
	return nil
}

// Copy writes what there is from offset to w and returns the offset reached.
func (v *View) Copy(w io.Writer, offset int64) (int64, error) {
	if err := v.Within(offset); err != nil {
		return offset, err
	}
	buf := make([]byte, min(lines.Block, v.total-offset))
	for offset < v.total {
		p := buf[:min(int64(len(buf)), v.total-offset)]
		if err := v.Read(p, offset); err != nil {
			return offset, fmt.Errorf("reading output: %w", err)
		}
		n, err := w.Write(p)
		offset += int64(n)
		if err != nil {
			return offset, err
		}
	}
	return offset, nil
}

// Close lets go of the files.
func (v *View) Close() {
	for _, src := range v.opened {
		src.Close()
	}
}
