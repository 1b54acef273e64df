package parse

import (
	"bytes"
	"strings"
)

// mostDirs is of how many directories the names are held.
const mostDirs = 200_000

// Directories are those of the names that ls-files --stage -z writes to it.
type Directories struct {
	All  []string
	seen map[string]bool
	held []byte
}

// Write implements io.Writer. With more directories than are held it returns [ErrFull].
func (d *Directories) Write(text []byte) (int, error) {
	if d.seen == nil {
		d.seen = map[string]bool{}
	}
	d.held = append(d.held, text...)
	for {
		entry, rest, ok := bytes.Cut(d.held, []byte{0})
		if !ok {
			d.held = bytes.Clone(d.held)
			return len(text), nil
		}
		_, name, _ := bytes.Cut(entry, []byte{'\t'})
		if dir := directory(string(name)); !d.seen[dir] {
			if len(d.All) == mostDirs {
				return 0, ErrFull
			}
			d.seen[dir] = true
			d.All = append(d.All, dir)
		}
		d.held = rest
	}
}

// directory is the one of a file in the index's words, in which a name may lead back from a link to
// where the link does.
func directory(name string) string {
	switch at := strings.LastIndexByte(name, '/'); at {
	case -1:
		return "."
	case 0:
		return "/"
	default:
		return name[:at]
	}
}

// Leading is the beginning of text up to the end of the n-th line; all of it if n is
// zero.
func Leading(text []byte, n int64) []byte {
	at := 0
	for ; n > 0; n-- {
		end := bytes.IndexByte(text[at:], '\n')
		if end < 0 {
			return text
		}
		if at += end + 1; n == 1 {
			return text[:at]
		}
	}
	return text
}
