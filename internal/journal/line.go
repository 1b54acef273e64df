package journal

import (
	"bytes"
	"crypto/sha256"
	jsonv1 "encoding/json"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"

	"paddock"
)

// MaxLine bounds a line with its end. What may be long is cut before, so an
// entry that doesn't fit is a mistake of ours.
const MaxLine = 64 << 10

// A line ends in its own digest: tail, 64 digits, shut.
const (
	tail = `,"entry":"sha256:`
	shut = `"}`
	ends = len(tail) + 2*sha256.Size + len(shut)
)

// Seal completes e, gives it its digest and returns its line.
func Seal(e *Entry) ([]byte, error) {
	if e.Seq < 1 || e.Kind == "" || (e.Prev == "") != (e.Seq == 1) {
		return nil, fmt.Errorf("journal: entry %d of kind %q can't be sealed", e.Seq, e.Kind)
	}
	e.Digest = paddock.DigestOf([sha256.Size]byte{})
	line, err := json.Marshal(e, jsonv1.DefaultOptionsV1(), jsontext.EscapeForHTML(false), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	if len(line) >= MaxLine {
		return nil, fmt.Errorf("journal: an entry of %d bytes is longer than %d", len(line), MaxLine)
	}
	body := line[:len(line)-ends]
	e.Digest = paddock.DigestOf(sha256.Sum256(body))
	return append(append(append(body, tail...), e.Digest.Hex()...), shut+"\n"...), nil
}

// Parse reads a line, without its end, and checks it against its own digest.
func Parse(line []byte) (Entry, error) {
	if len(line) >= MaxLine {
		return Entry{}, fmt.Errorf("it has %d bytes, and no entry has more than %d", len(line), MaxLine)
	}
	if len(line) < ends || !bytes.HasPrefix(line[len(line)-ends:], []byte(tail)) || !bytes.HasSuffix(line, []byte(shut)) {
		return Entry{}, errors.New("it isn't a whole entry")
	}
	digest := paddock.DigestOf(sha256.Sum256(line[:len(line)-ends]))
	if digits := line[len(line)-ends+len(tail) : len(line)-len(shut)]; string(digits) != digest.Hex() {
		return Entry{}, fmt.Errorf("its content has the digest %s and not the one it says", digest)
	}
	var e Entry
	if err := json.Unmarshal(line, &e); err != nil {
		return Entry{}, fmt.Errorf("it can't be read: %w", err)
	}
	if e.Seq < 1 || e.Kind == "" || (e.Prev == "") != (e.Seq == 1) || e.Digest != digest {
		return Entry{}, errors.New("it has no number, no kind or no entry before it")
	}
	return e, nil
}
