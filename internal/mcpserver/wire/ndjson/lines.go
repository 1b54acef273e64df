package ndjson

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"paddock/internal/mcpserver/wire"
)

// A line is one line as read, without its end. When it was longer than the
// bound, data is nil and env holds what could be learned of it.
type line struct {
	data []byte
	long bool
	env  wire.Envelope
	err  error // nothing follows
}

// readLines sends the lines of r until it ends or quit is closed. The last line
// needs no line end.
func readLines(r io.Reader, most int, out chan<- line, quit <-chan struct{}) {
	br := bufio.NewReaderSize(r, 64<<10)
	for {
		l := readLine(br, most)
		if l.err == nil || len(l.data) > 0 || l.long {
			end := l.err
			l.err = nil
			select {
			case out <- l:
			case <-quit:
				return
			}
			if end == nil {
				continue
			}
			l = line{err: end}
		}
		select {
		case out <- l:
		case <-quit:
		}
		return
	}
}

func readLine(br *bufio.Reader, most int) line {
	var l line
	for {
		piece, err := br.ReadSlice('\n')
		if !l.long && len(l.data)+len(piece) > most+1 { // one more for the line's end
			l.long = true
			l.env.Write(l.data)
			l.data = nil
		}
		if l.long {
			l.env.Write(piece)
		} else {
			l.data = append(l.data, piece...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		l.data = bytes.TrimSpace(l.data)
		l.err = err
		return l
	}
}
