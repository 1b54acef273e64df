package artifact

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"paddock"
	"paddock/internal/artifact/frames"
	"paddock/internal/artifact/lines"
)

// A Reader reads kept output. It holds no file open between calls, and may be
// used concurrently and while a Bank, of any process, writes.
type Reader struct {
	dir  string
	open func(path string) (frames.Source, error)
}

// Open returns a Reader of the directory dir. It touches nothing yet.
func Open(dir string) *Reader { return &Reader{dir: dir, open: openFile} }

func openFile(path string) (frames.Source, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|noFollow, 0)
	if err != nil {
		return nil, err
	}
	return f, nil
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

// read takes from each file once, however many frames there are: what a range
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

// A view is a stream as of the moment in which it was opened.
type view struct {
	lines.Span
	stream paddock.Stream
	total  int64
	sealed bool
	frames *frames.Index
	opened []frames.Source
}

// view opens s. The frames are read before the files are measured: what they
// cover by then has been written.
func (r *Reader) view(s paddock.Stream, sealed bool) (_ *view, err error) {
	if r == nil || r.dir == "" || r.open == nil {
		return nil, errors.New("reading output: no directory is named")
	}
	v := &view{stream: s, sealed: sealed}
	defer func() {
		if err != nil {
			v.close()
			err = fmt.Errorf("reading output: %w", err)
		}
	}()
	src, _, err := r.source(v, frames.Name)
	if err != nil {
		return nil, err
	}
	if v.frames, err = frames.Open(src); err != nil {
		return nil, err
	}
	if i, ok := streamIndex(s); ok {
		v.Span, v.total, _, err = r.section(v, i)
		return v, err
	}
	both := stitched{frames: v.frames}
	covered := v.frames.Covered()
	for i := range streams {
		var size int64
		var changed time.Time
		if both.files[i], size, changed, err = r.section(v, i); err != nil {
			return nil, err
		}
		v.total += covered[i]
		if rest := size - covered[i]; sealed && rest > 0 {
			v.frames.Extend(i, changed.UnixNano(), rest)
			v.total += rest
		}
	}
	v.Span = both
	return v, nil
}

// section opens one stream and holds it to what the frames say is there.
func (r *Reader) section(v *view, i int) (section, int64, time.Time, error) {
	name := string(streams[i])
	src, info, err := r.source(v, name)
	if err != nil {
		return section{}, 0, time.Time{}, err
	}
	if want := v.frames.Covered()[i]; info.Size() < want {
		return section{}, 0, time.Time{}, fmt.Errorf("%s has %d bytes of at least %d: output is missing", name, info.Size(), want)
	}
	return section{src, name}, info.Size(), info.ModTime(), nil
}

func (r *Reader) source(v *view, name string) (frames.Source, os.FileInfo, error) {
	src, err := r.open(filepath.Join(r.dir, name))
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

func (v *view) close() {
	for _, src := range v.opened {
		src.Close() //nolint:errcheck // nothing was written
	}
}

// Size returns the bytes of s as of now; combined is the sum that frames cover.
func (r *Reader) Size(s paddock.Stream) (int64, error) {
	s, err := knownStream(s)
	if err != nil {
		return 0, err
	}
	v, err := r.view(s, false)
	if err != nil {
		return 0, err
	}
	defer v.close()
	return v.total, nil
}

// Copy writes the bytes of s from offset to w until the end as of now and
// returns the offset reached. Of combined it writes what frames cover, which is
// all unless the supervisor crashed; see CopySealed.
func (r *Reader) Copy(w io.Writer, s paddock.Stream, offset int64) (int64, error) {
	return r.copy(w, s, offset, false)
}

// CopySealed is Copy for a settled run: combined ends with the bytes that a
// crash left without frames.
func (r *Reader) CopySealed(w io.Writer, s paddock.Stream, offset int64) (int64, error) {
	return r.copy(w, s, offset, true)
}

func (r *Reader) copy(w io.Writer, s paddock.Stream, offset int64, sealed bool) (int64, error) {
	s, err := knownStream(s)
	if err != nil {
		return offset, err
	}
	v, err := r.view(s, sealed)
	if err != nil {
		return offset, err
	}
	defer v.close()
	if err := v.within(offset); err != nil {
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

// Summary reads s, stdout or stderr, whole and returns its size and digest: for
// a run whose supervisor vanished before it could seal.
func (r *Reader) Summary(s paddock.Stream) (paddock.StreamSummary, error) {
	if _, ok := streamIndex(s); !ok {
		return paddock.StreamSummary{}, paddock.Refused(paddock.InvalidRequest, "there is no digest of %q, only of stdout and stderr", s)
	}
	h := sha256.New()
	n, err := r.Copy(h, s, 0)
	if err != nil {
		return paddock.StreamSummary{}, err
	}
	return paddock.StreamSummary{Bytes: n, Digest: paddock.DigestOf([32]byte(h.Sum(nil)))}, nil
}

// Verify reads s whole and compares it with sum; nil means equal in size and digest.
func (r *Reader) Verify(s paddock.Stream, sum paddock.StreamSummary) error {
	got, err := r.Summary(s)
	switch {
	case err != nil:
		return err
	case sum.Digest == "":
		return fmt.Errorf("verifying %s: no digest was recorded", s)
	case got.Bytes != sum.Bytes:
		return fmt.Errorf("verifying %s: %d bytes are there, %d were recorded", s, got.Bytes, sum.Bytes)
	case got.Digest != sum.Digest:
		return fmt.Errorf("verifying %s: the digest is %s, recorded was %s", s, got.Digest, sum.Digest)
	}
	return nil
}
