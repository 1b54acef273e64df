package marks

import (
	"bytes"
	"io"
)

// A Writer counts the line ends of a stream that is being kept. It has one
// caller at a time.
type Writer struct {
	// Open makes the file, when the first record is due; short streams need none.
	Open func() (io.WriterAt, error)

	w       io.WriterAt
	size    int64 // bytes seen
	count   int64 // line ends among them
	stopped bool
}

// Add sees the next bytes of the stream. A record that can't be written is the
// last that was tried: what readers lack then costs them time and no bytes, so
// it must not end a run.
func (w *Writer) Add(p []byte) {
	for len(p) > 0 && !w.stopped {
		n := min(int64(len(p)), Block-w.size%Block)
		w.count += int64(bytes.Count(p[:n], []byte{'\n'}))
		w.size += n
		p = p[n:]
		if w.size%Block == 0 {
			w.stopped = w.record() != nil
		}
	}
}

// Continue is Add for bytes that begin at off, of which it may have seen some.
func (w *Writer) Continue(p []byte, off int64) {
	if seen := w.size - off; seen < int64(len(p)) {
		w.Add(p[max(0, seen):])
	}
}

func (w *Writer) record() (err error) {
	if w.w == nil {
		if w.w, err = w.Open(); err != nil {
			return err
		}
	}
	k := w.size/Block - 1
	b := encode(k, w.count)
	_, err = w.w.WriteAt(b[:], k*recordSize)
	return err
}
