package parse

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

var hunkForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^@@ -([0-9]{1,15})(,([0-9]{1,15}))? \+([0-9]{1,15})(,([0-9]{1,15}))? @@`)
})

const section = "diff --git "

// patch reads the text of differences and notes the places of the hunks at their
// files. Sections come in the order of files, two for one whose type changed;
// names in them are quoted, so they aren't read. A hunk says how many lines it
// has, and exactly these are taken: what a line says can't end it.
func (r *reader) patch(files []File) (more bool, err error) {
	next, hunks := 0, 0
	halves := 0 // sections of a file whose type changed
	var f *File
	for !r.Done() {
		if r.Skip("\x00") || bytes.HasPrefix(r.Rest(), []byte("commit ")) {
			break // the next commit
		}
		begin := r.At
		line, err := r.Line()
		if err != nil {
			return more, err
		}
		switch {
		case bytes.HasPrefix(line, []byte("* Unmerged path")):
			for next < len(files) && files[next].Status == "U" {
				next++
			}
		case bytes.HasPrefix(line, []byte(section)):
			if halves == 1 {
				halves = 2
				continue
			}
			for next < len(files) && files[next].Status == "U" {
				next++
			}
			if next >= len(files) {
				return more, fmt.Errorf("byte %d: more sections than files: %w", begin, ErrForm)
			}
			f = &files[next]
			next++
			if halves = 0; f.Status == "T" {
				halves = 1
			}
		case bytes.HasPrefix(line, []byte("diff --cc ")):
			f = &File{} // both sides of an unfinished merge, to be read as text
		case f == nil:
			return more, fmt.Errorf("byte %d: a patch: %w", begin, ErrForm)
		case bytes.HasPrefix(line, []byte("Binary files ")):
			f.Binary = true
		case bytes.HasPrefix(line, []byte("@@ ")):
			h, err := r.hunk(line, begin)
			if err != nil {
				return more, err
			}
			if hunks++; hunks > MostHunks {
				more = true
				continue
			}
			f.Hunks = append(f.Hunks, h)
		}
	}
	return more, nil
}

func (r *reader) hunk(line []byte, begin int) (h Hunk, err error) {
	m := hunkForm().FindSubmatch(line)
	if m == nil {
		return h, fmt.Errorf("byte %d: a hunk: %w", begin, ErrForm)
	}
	h = Hunk{OldStart: count(m[1]), OldLines: 1, NewStart: count(m[4]), NewLines: 1, Offset: int64(begin)}
	if m[2] != nil {
		h.OldLines = count(m[3])
	}
	if m[5] != nil {
		h.NewLines = count(m[6])
	}
	for before, after := h.OldLines, h.NewLines; before > 0 || after > 0; {
		l, err := r.Line()
		switch {
		case err != nil:
			return h, err
		case len(l) == 0 || l[0] == ' ': // an empty line may have lost its space
			before, after = before-1, after-1
		case l[0] == '-':
			before--
		case l[0] == '+':
			after--
		case l[0] != '\\':
			return h, fmt.Errorf("byte %d: a line of a hunk: %w", r.At, ErrForm)
		}
		if before < 0 || after < 0 {
			return h, fmt.Errorf("byte %d: a hunk with more lines than it says: %w", r.At, ErrForm)
		}
	}
	for bytes.HasPrefix(r.Rest(), []byte("\\ ")) {
		if _, err := r.Line(); err != nil {
			return h, err
		}
	}
	h.Length = int64(r.At) - h.Offset
	return h, nil
}

func count(digits []byte) int64 {
	n, _ := strconv.ParseInt(string(digits), 10, 64) // at most 15 digits, as the form says
	return n
}

// Lines reads what blame --porcelain prints.
func Lines(out []byte, cut bool) (lines []Line, more bool, err error) {
	lines = []Line{}
	r := reading(out)
	known := map[string]Line{} // what was said of a commit is said once
	for !r.Done() {
		l, err := r.blamed(known)
		if err != nil {
			if cut {
				return lines, true, nil
			}
			return nil, false, err
		}
		lines = append(lines, l)
	}
	return lines, cut, nil
}

func (r *reader) blamed(known map[string]Line) (l Line, err error) {
	head, err := r.Line()
	if err != nil {
		return l, err
	}
	words := strings.Split(string(head), " ")
	if len(words) < 3 || len(words) > 4 || !hexadecimal(words[0]) {
		return l, fmt.Errorf("byte %d: a line's commit: %w", r.At, ErrForm)
	}
	l = known[words[0]]
	l.Commit = words[0]
	var err1, err2 error
	l.Original, err1 = strconv.ParseInt(words[1], 10, 64)
	l.Number, err2 = strconv.ParseInt(words[2], 10, 64)
	if err1 != nil || err2 != nil {
		return l, fmt.Errorf("byte %d: a line's number: %w", r.At, ErrForm)
	}
	for {
		line, err := r.Line()
		if err != nil {
			return l, err
		}
		if content, ok := bytes.CutPrefix(line, []byte("\t")); ok {
			known[l.Commit] = l
			l.Text, l.Raw = text(content)
			return l, nil
		}
		key, value, _ := bytes.Cut(line, []byte(" "))
		switch string(key) {
		case "author":
			l.Author = shown(value)
		case "author-time":
			l.Time, _ = strconv.ParseInt(string(value), 10, 64) // a commit may lie about it in any form
		case "summary":
			l.Summary = shown(value)
		case "filename":
			l.Path = shown(unquoted(value))
		}
	}
}

// unquoted takes off the quotes and escapes by which git writes a name that has
// line breaks or quotes in it.
func unquoted(b []byte) []byte {
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return b
	}
	var out []byte
	for b = b[1 : len(b)-1]; len(b) > 0; {
		if b[0] != '\\' || len(b) < 2 {
			out, b = append(out, b[0]), b[1:]
			continue
		}
		if i := strings.IndexByte(`abtnvfr"\`, b[1]); i >= 0 {
			out, b = append(out, "\a\b\t\n\v\f\r\"\\"[i]), b[2:]
			continue
		}
		if len(b) >= 4 {
			if n, err := strconv.ParseUint(string(b[1:4]), 8, 8); err == nil {
				out, b = append(out, byte(n)), b[4:]
				continue
			}
		}
		out, b = append(out, b[0]), b[1:]
	}
	return out
}

// Entries reads what ls-files --stage prints.
func Entries(out []byte, cut bool) (entries []Entry, more bool, err error) {
	entries = []Entry{}
	r := reading(out)
	for !r.Done() {
		if len(entries) == MostEntries {
			return entries, true, nil
		}
		head, err := r.Until('\t')
		var name []byte
		if err == nil {
			name, err = r.Until(0)
		}
		words := strings.Split(string(head), " ")
		if err == nil && (len(words) != 3 || !hexadecimal(words[1]) || len(words[2]) != 1 || words[2] > "3" || words[2] < "0") {
			err = fmt.Errorf("byte %d: an entry of the index: %w", r.At, ErrForm)
		}
		if err != nil {
			if cut {
				return entries, true, nil
			}
			return nil, false, err
		}
		e := Entry{Mode: words[0], ID: words[1], Stage: int(words[2][0] - '0')}
		e.Path, e.Raw = text(name)
		entries = append(entries, e)
	}
	return entries, cut, nil
}

// Drivers reads the names of settings and returns those of a free name that could
// start a program by themselves, without their last word: "filter.lfs", "hook.x".
func Drivers(out []byte) ([]string, error) {
	var drivers []string
	seen := map[string]bool{}
	r := reading(out)
	for !r.Done() {
		name, err := r.Until(0)
		if err != nil {
			return nil, err
		}
		driver := string(name[:max(0, bytes.LastIndexByte(name, '.'))])
		if !strings.HasPrefix(driver, "filter.") && !strings.HasPrefix(driver, "hook.") || seen[driver] {
			continue
		}
		seen[driver] = true
		drivers = append(drivers, driver)
	}
	return drivers, nil
}

// Filters are the names of the filters among drivers.
func Filters(drivers []string) (names []string) {
	for _, d := range drivers {
		if name, ok := strings.CutPrefix(d, "filter."); ok {
			names = append(names, name)
		}
	}
	return names
}
