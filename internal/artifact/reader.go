package artifact

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"paddock"
	"paddock/internal/artifact/masks"
	"paddock/internal/artifact/pages"
	"paddock/internal/artifact/pages/moment/frames"
)

// A Reader reads kept output, with the secrets hidden that masks say are in it. It holds no file open between calls, and may be
// used concurrently and while a Bank, of any process, writes.
type Reader struct {
	dir  string
	open func(path string) (Source, error)
	raw  bool
}

// A Source is an open file of kept output.
type Source = frames.Source

// Open returns a Reader of the directory dir. It touches nothing yet.
func Open(dir string) *Reader {
	return OpenBy(dir, func(path string) (Source, error) {
		f, err := OpenFile(path)
		if err != nil {
			return nil, err
		}
		return f, nil
	})
}

// OpenBy is Open with files that are opened by open, which must keep links and
// pipes out. One that isn't there must be fs.ErrNotExist.
func OpenBy(dir string, open func(path string) (Source, error)) *Reader {
	return &Reader{dir: dir, open: open}
}

// Unmasked returns a Reader of the same files that hides no secrets.
func (r *Reader) Unmasked() *Reader { return &Reader{dir: r.dir, open: r.open, raw: true} }

// masked opens a file as it is shown.
func (r *Reader) masked(path string) (Source, error) {
	src, err := r.open(path)
	if _, is := frames.Number(paddock.Stream(filepath.Base(path))); err != nil || r.raw || !is {
		return src, err
	}
	return Masked(src, path)
}

// Masked returns src, which holds the stdout or stderr at path, with its secrets
// hidden: src itself where there are none to hide. It closes src when there is an
// error, and with what it returns.
func Masked(src Source, path string) (Source, error) { return masks.Cover(src, path, noFollow) }

// OpenFile opens a file to read it, and neither follows a link nor waits for a pipe.
func OpenFile(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDONLY|noFollow, 0) }

// files is what r reads; of the zero Reader, nothing.
func (r *Reader) files() pages.Files {
	if r == nil {
		return pages.Files{}
	}
	files := pages.Files{Dir: r.dir, Open: r.open}
	if r.open != nil {
		files.Open = r.masked
	}
	return files
}

// Page reads one page. sealed says that the run is settled, so that the end of
// the file is the end of the stream; the caller must have learned it before the
// call. Page never waits: it ignores req.Wait. An *paddock.Refusal with code
// invalid_request is returned for a request that makes no sense; any other
// error means that the output can't be read, never that it is empty.
//
// A page never ends inside a character. While the run lives, the beginning of a
// character at the end is held back: a page with NextOffset equal to Offset has
// nothing yet, whatever Total says. A page whose bytes aren't all valid UTF-8 is
// base64 as a whole; so is a combined page where a character's bytes are not
// next to each other on one stream, and its entries have lengths but no texts.
//
// With Since the page starts at the later of both places.
func (r *Reader) Page(req paddock.PageRequest, sealed bool) (paddock.Page, error) {
	return pages.Page(r.files(), req, sealed)
}

// Size returns the bytes of s as of now; combined is the sum that frames cover.
func (r *Reader) Size(s paddock.Stream) (int64, error) {
	v, err := r.files().View(s, false)
	if err != nil {
		return 0, err
	}
	defer v.Close()
	return v.Total(), nil
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
	v, err := r.files().View(s, sealed)
	if err != nil {
		return offset, err
	}
	defer v.Close()
	return v.Copy(w, offset)
}

// Summary reads s, stdout or stderr, whole and as it was kept, and returns its size and digest: for
// a run whose supervisor vanished before it could seal.
func (r *Reader) Summary(s paddock.Stream) (paddock.StreamSummary, error) {
	if _, ok := frames.Number(s); !ok {
		return paddock.StreamSummary{}, paddock.Refused(paddock.InvalidRequest, "there is no digest of %q, only of stdout and stderr", s)
	}
	h := sha256.New()
	n, err := r.Unmasked().Copy(h, s, 0)
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

// Lost returns what the frames say was dropped of stdout and of stderr; marked is
// false where they are of a version that doesn't say it, or have nothing to say.
func (r *Reader) Lost() (lost [2]frames.Lost, marked bool, err error) {
	x, src, err := r.files().Order()
	if err != nil {
		return lost, false, err
	}
	defer src.Close()
	return x.Lost()
}

// VerifyLost compares what the frames say was dropped with the end of a run; nil
// means that both say the same, or that the frames say nothing. Of a run that was
// lost, and of one whose output couldn't be written, the frames may say less.
func (r *Reader) VerifyLost(o paddock.Outcome) error {
	lost, marked, err := r.Lost()
	if err != nil || !marked {
		return err
	}
	exact := o.State != paddock.Lost && o.Reason.Kind != paddock.ReasonSink
	for i, sum := range []paddock.StreamSummary{o.Stdout, o.Stderr} {
		is, name := lost[i], frames.Streams[i]
		switch {
		case exact && is.Bytes != sum.Dropped:
			return fmt.Errorf("the frames say that %d bytes of %s were dropped, and %d were recorded", is.Bytes, name, sum.Dropped)
		case is.Bytes > 0 && (is.Offset > sum.Bytes || exact && sum.Loss != nil && is.Offset != sum.Loss.Offset):
			return fmt.Errorf("the frames say that bytes of %s were dropped after byte %d, and that isn't where they were", name, is.Offset)
		}
	}
	return nil
}
