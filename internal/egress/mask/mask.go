// Package mask hides words in a stream that passes, byte for byte at the same
// length, without keeping anything back that can't be the beginning of one.
//
// # Limits
//
// It finds a word as it is written, in one piece or over several reads. It
// doesn't find one that is compressed, encoded or cut by something else.
package mask

import (
	"bytes"
	"io"
	"strings"
)

// Reader returns r with every byte of every word replaced by a star. Words
// must not be empty.
func Reader(r io.Reader, words ...string) io.Reader {
	m := &reader{from: r, buf: make([]byte, 0, 32<<10)}
	for _, w := range words {
		m.words = append(m.words, []byte(w))
	}
	return m
}

// String returns s with every byte of every word replaced by a star.
func String(s string, words ...string) string {
	for _, w := range words {
		s = strings.ReplaceAll(s, w, strings.Repeat("*", len(w)))
	}
	return s
}

type reader struct {
	from  io.Reader
	words [][]byte
	buf   []byte // read, and not yet returned
	ready int    // so much of buf is masked and may be returned
	err   error  // what from returned at last
}

func (m *reader) Read(p []byte) (int, error) {
	for m.ready == 0 {
		if m.err != nil {
			return 0, m.err
		}
		m.fill()
	}
	n := copy(p, m.buf[:m.ready])
	m.buf = append(m.buf[:0], m.buf[n:]...)
	m.ready -= n
	return n, nil
}

// fill reads once, masks what it can see and decides how much may go.
func (m *reader) fill() {
	if len(m.buf) == cap(m.buf) {
		m.buf = append(m.buf, make([]byte, cap(m.buf))...)[:len(m.buf)]
	}
	n, err := m.from.Read(m.buf[len(m.buf):cap(m.buf)])
	m.buf, m.err = m.buf[:len(m.buf)+n], err
	for _, w := range m.words {
		for at := 0; ; {
			i := bytes.Index(m.buf[at:], w)
			if i < 0 {
				break
			}
			at += i
			at += copy(m.buf[at:], bytes.Repeat([]byte{'*'}, len(w)))
		}
	}
	m.ready = len(m.buf)
	if err == nil {
		m.ready -= m.tail()
	}
}

// tail is the length of the longest end of buf that could begin a word.
func (m *reader) tail() int {
	longest := 0
	for _, w := range m.words {
		for n := min(len(w)-1, len(m.buf)); n > longest; n-- {
			if bytes.HasSuffix(m.buf, w[:n]) {
				longest = n
				break
			}
		}
	}
	return longest
}
