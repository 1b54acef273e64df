//go:build linux

package intake

import (
	"errors"
	"fmt"
	"os"

	"paddock/internal/artifact/splice"
	"paddock/internal/spawn"
)

// crowded is how much is in a program's pipe when it prints faster than we keep.
const crowded = 256 << 10

// A between is a pipe between a program's and the file. As long as the kernel copies from
// a pipe into a file, nobody can write to that pipe. So what is there is moved aside
// first, which copies nothing, and the program prints on while it is kept. Nothing is in
// between but while a piece is moved. The zero value has no pipe yet.
type between struct {
	in, out *os.File
	failed  bool // there can't be one that is of use
}

// crowd makes the pipe, once the bytes that have arrived at a program's are many.
func (b *between) crowd(arrived int) {
	if b.in != nil || b.failed || arrived < crowded {
		return
	}
	out, in, err := spawn.OutputPipe()
	if b.failed = err != nil; b.failed {
		return // all goes as it does without
	}
	if b.failed = spawn.Capacity(out) < crowded; b.failed {
		_ = out.Close() // nothing was ever in it
		_ = in.Close()
		return
	}
	b.out, b.in = out, in
}

// A passage is what became of bytes that were to be kept.
type passage struct {
	kept int
	// Stuck are those that were moved aside and could go no further, and lost how many
	// of these couldn't be taken out again.
	stuck []byte
	lost  int
}

// pass has at most n bytes from a program's pipe kept, by way of this one if it is
// there.
func (b *between) pass(from *os.File, n int, keep func(from *os.File, n int) (int, error)) (p passage, err error) {
	if b.in == nil {
		p.kept, err = keep(from, n)
		return p, err
	}
	aside, err := splice.Move(from, b.in, n)
	for p.kept < aside && err == nil {
		var more int
		more, err = keep(b.out, aside-p.kept)
		p.kept += more
	}
	if p.kept == aside {
		return p, err
	}
	p.stuck, p.lost = make([]byte, 0, aside-p.kept), aside-p.kept
	for p.lost > 0 {
		m, failed := spawn.ReadReady(b.out, p.stuck[len(p.stuck):cap(p.stuck)])
		p.stuck, p.lost = p.stuck[:len(p.stuck)+max(m, 0)], p.lost-max(m, 0)
		if failed != nil {
			return p, errors.Join(err, fmt.Errorf("taking back what was moved aside: %w", failed))
		}
	}
	return p, err
}

func (b *between) close() {
	if b.in != nil {
		_ = b.in.Close() // nothing is in it
		_ = b.out.Close()
	}
}
