package quarantine

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"paddock"
	"paddock/internal/workspace/apply/tree/quarantine/look"
)

// shown is a name as JSON can hold it.
func shown(name string) string {
	if utf8.ValidString(name) {
		return name
	}
	q := strconv.QuoteToASCII(name)
	return q[1 : len(q)-1]
}

// itemOf is a find that nothing was done about yet.
func itemOf(f look.Find) item {
	i := item{Ino: f.Ino, Ctime: f.Ctime}
	i.Found = paddock.Found{Path: shown(f.Path), Change: paddock.FoundChange(f.Change), Kind: kind(f.Mode), Mode: fmt.Sprintf("%04o", f.Mode&0o7777)}
	if i.Path != f.Path {
		i.Raw = []byte(f.Path)
	}
	if i.Kind == "file" {
		i.Size = f.Size
	}
	return i
}

func kind(mode uint32) string {
	switch mode & 0o170000 {
	case 0o040000:
		return "directory"
	case 0o100000:
		return "file"
	case 0o120000:
		return "link"
	}
	return "special"
}

// summary is what is told of what was found.
func summary(seen look.Seen, items []item) *paddock.Deeper {
	out := &paddock.Deeper{Looked: seen.Looked, Unlooked: unlooked(seen.Gaps)}
	for _, i := range items {
		out.Found = append(out.Found, i.Found)
	}
	slices.SortStableFunc(out.Found, func(a, b paddock.Found) int { return cmp.Compare(number(a.Quarantined), number(b.Quarantined)) })
	if out.More = len(out.Found) - mostListed; out.More > 0 {
		out.Found = out.Found[:mostListed:mostListed]
	}
	out.More = max(0, out.More)
	return out
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// unlooked says in a line where nobody looked.
func unlooked(gaps []look.Gap) string {
	if len(gaps) == 0 {
		return ""
	}
	gaps = slices.Clone(gaps) // what is so for every run comes last
	slices.SortStableFunc(gaps, func(a, b look.Gap) int {
		return cmp.Compare(number(a.Why == paddock.MountUnlooked), number(b.Why == paddock.MountUnlooked))
	})
	text := fmt.Sprintf("%q: %s", gaps[0].Path, gaps[0].Why)
	if len(gaps) > 1 {
		text += fmt.Sprintf(", and %d further directories", len(gaps)-1)
	}
	return text
}
