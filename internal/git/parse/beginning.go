package parse

import (
	"bytes"
	"errors"

	"paddock"
)

// ErrFull ends a stream that is longer than is read.
var ErrFull = errors.New("enough is read")

// A Beginning takes the first Most bytes of what is written to it.
type Beginning struct {
	bytes.Buffer
	Most int
}

// Write takes what there is room for; past that the error is [ErrFull].
func (b *Beginning) Write(p []byte) (int, error) {
	room := b.Most - b.Len()
	if len(p) <= room {
		return b.Buffer.Write(p)
	}
	n, _ := b.Buffer.Write(p[:room])
	return n, ErrFull
}

// Lacking reports whether a run printed more than is kept of it.
func Lacking(run paddock.Run) bool {
	return run.State == paddock.OutputLimit || run.Stdout.Dropped+run.Stderr.Dropped > 0
}
