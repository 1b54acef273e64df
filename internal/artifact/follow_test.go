package artifact

import (
	"bytes"
	"crypto/sha256"
	"sync/atomic"
	"testing"

	"paddock"
	"paddock/internal/testproc"
)

// A starved file is one whose first reader gets no processor, once it has what it read.
type starved struct {
	file
	begun   atomic.Bool
	reading chan struct{} // closed when it has begun
	run     chan struct{} // closed when it gets on
	done    chan struct{}
}

func (s *starved) ReadAt(p []byte, off int64) (n int, err error) {
	n, err = s.file.ReadAt(p, off)
	if s.begun.CompareAndSwap(false, true) {
		close(s.reading)
		<-s.run
		close(s.done)
	}
	return n, err
}

// Who makes the digest beside the writers may get no processor for minutes, as programs of
// other runs can keep them all busy. Nobody waits for that: neither who writes nor who
// seals, and what both made is right, lines and all.
func TestNobodyWaitsForWhoFollows(t *testing.T) {
	testproc.Leaks(t)
	for _, unseen := range []bool{false, true} {
		b, dir := create(t, Options{Cap: 64 << 20})
		k := &b.kept[0]
		s := &starved{file: k.f, reading: make(chan struct{}), run: make(chan struct{}), done: make(chan struct{})}
		k.f = s
		k.behind.Store(unseen)
		text := bytes.Repeat([]byte("line\n"), 3<<20/5)
		put(t, b, paddock.Stdout, string(text))
		<-s.reading
		put(t, b, paddock.Stdout, string(text))
		sum, _, err := b.Seal()
		all := append(bytes.Clone(text), text...)
		if err != nil || sum.Digest != paddock.DigestOf(sha256.Sum256(all)) || sum.Bytes != int64(len(all)) {
			t.Errorf("%+v, %v", sum, err)
		}
		page, err := Open(dir).Page(paddock.PageRequest{Stream: paddock.Stdout, Line: 1_000_000, Limit: 10}, true)
		if err != nil || page.Offset != 5*(1_000_000-1) && page.Offset != 5*1_000_000 {
			t.Errorf("%+v, %v", page, err)
		}
		close(s.run)
		<-s.done
	}
}
