package journal

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"paddock"
)

// A Head is an entry by which all before it are known. Kept elsewhere it proves
// that nothing up to it was changed or taken away.
type Head struct {
	Journal string         `json:"journal"`
	Seq     int64          `json:"seq"`
	Digest  paddock.Digest `json:"entry"`
}

// String is one line that [ParseHead] reads.
func (h Head) String() string { return fmt.Sprintf("%s %d %s", h.Journal, h.Seq, h.Digest) }

// ParseHead reads what String wrote.
func ParseHead(line string) (Head, error) {
	words := strings.Fields(line)
	if len(words) == 3 {
		seq, err := strconv.ParseInt(words[1], 10, 64)
		digest, bad := paddock.ParseDigest(words[2])
		if err == nil && bad == nil && seq > 0 && ValidID(words[0]) {
			return Head{words[0], seq, digest}, nil
		}
	}
	return Head{}, fmt.Errorf("%.100q isn't a head: want what paddock audit head printed", line)
}

// ValidID says whether id can be a journal's.
func ValidID(id string) bool { return len(id) == 32 && strings.Trim(id, "0123456789abcdef") == "" }

// A Statement is what a checkpoint says: of the first Size entries of a journal
// the tree has this hash.
type Statement struct {
	Journal string
	Size    int64
	Hash    tlog.Hash
}

// Origin begins the first line of a statement; the journal's id follows.
const Origin = "paddock-journal/"

// Text is the statement as it is signed: three lines, as transparency logs
// write them.
func (s Statement) Text() string {
	return fmt.Sprintf("%s%s\n%d\n%s\n", Origin, s.Journal, s.Size, base64.StdEncoding.EncodeToString(s.Hash[:]))
}

// ParseStatement reads what Text wrote, and nothing else.
func ParseStatement(text string) (Statement, error) {
	lines := strings.SplitAfter(text, "\n")
	if len(lines) == 4 {
		id, ours := strings.CutPrefix(strings.TrimSuffix(lines[0], "\n"), Origin)
		size, err := strconv.ParseInt(strings.TrimSuffix(lines[1], "\n"), 10, 64)
		raw, bad := base64.StdEncoding.DecodeString(strings.TrimSuffix(lines[2], "\n"))
		if ours && err == nil && bad == nil && ValidID(id) && len(raw) == tlog.HashSize {
			if s := (Statement{id, size, tlog.Hash(raw)}); s.Text() == text && size >= 0 {
				return s, nil
			}
		}
	}
	return Statement{}, errors.New("it isn't the checkpoint of a journal")
}

// ErrUnknownKey is the error of a checkpoint that only keys signed of which
// nobody told us.
var ErrUnknownKey = errors.New("no known key signed it")
