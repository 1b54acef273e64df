package artifact

import (
	"errors"
	"fmt"
	"os"

	"paddock"
	"paddock/internal/artifact/pages/moment/frames"
	"paddock/internal/artifact/splice"
	"paddock/internal/failpoint"
)

// Left returns how many more bytes of s the cap lets through.
func (b *Bank) Left(s paddock.Stream) int64 { return max(0, b.cap-b.Size(s)) }

// Splice is Append for what is in the pipe from: it keeps at most n bytes of it,
// and no more than the cap lets through, without fetching them. It waits for
// nothing: io.EOF says that nothing will come, EAGAIN that nothing is there now.
// Any other error leaves the rest in the pipe, for somebody who reads it and
// appends it, or is told there why that can't be.
func (b *Bank) Splice(s paddock.Stream, from *os.File, n int) (kept int, err error) {
	i, ok := frames.Number(s)
	if !ok {
		return 0, fmt.Errorf("keeping output: no stream %q can be appended to", s)
	}
	k := &b.kept[i]
	k.mu.Lock()
	defer k.mu.Unlock()
	to, ok := k.f.(*os.File)
	switch {
	case !k.open:
		return 0, ErrSealed
	case !ok || k.failed != nil:
		return 0, errors.ErrUnsupported
	}
	if err := failpoint.At("output/write"); err != nil {
		return 0, err
	}
	kept, err = splice.Move(from, to, int(min(int64(n), b.Left(s))))
	if kept > 0 {
		k.behind.Store(true) // nobody has seen it
		k.grew(kept)
		err = errors.Join(err, failpoint.At("output/frame"), b.note(i, k.size.Load()))
	}
	return kept, err
}
