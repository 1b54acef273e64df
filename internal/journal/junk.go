package journal

import (
	"crypto/sha256"
	"hash"

	"paddock"
)

// Junk measures lines that aren't entries, as a recovered entry tells of them:
// all their bytes but the last line's end.
type Junk struct {
	bytes int64
	hash  hash.Hash
	// closed means that the last line has an end, which isn't counted yet.
	closed bool
}

// Add adds the next line, or the next piece of a long one.
func (j *Junk) Add(l Line) {
	if j.hash == nil {
		j.hash = sha256.New()
	}
	if j.closed {
		j.hash.Write([]byte{'\n'})
		j.bytes++
	}
	text := l.Bytes
	if l.Long != nil {
		text = l.Long
	}
	j.hash.Write(text)
	j.bytes += int64(len(text))
	j.closed = l.Whole
}

// Closed says whether the last line has an end.
func (j *Junk) Closed() bool { return j.closed }

// Sum returns how many bytes there were, and their digest.
func (j *Junk) Sum() (int64, paddock.Digest) {
	return j.bytes, paddock.DigestOf([sha256.Size]byte(j.hash.Sum(nil)))
}
