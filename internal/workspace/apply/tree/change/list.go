package change

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
)

// heading is the first line of a written list: its form and version.
const heading = "paddock-tree 1"

// maxLine is more than two paths of the longest kind, quoted.
const maxLine = 64 << 10

// Write writes entries, a line each: names may have any bytes, so they are
// quoted. What is of layers only isn't written.
func Write(w io.Writer, entries []Entry) error {
	b := bufio.NewWriterSize(w, 64<<10)
	if _, err := b.WriteString(heading + "\n"); err != nil {
		return err
	}
	var line []byte
	for _, e := range entries {
		line = strconv.AppendUint(line[:0], uint64(e.Mode), 8)
		for _, n := range []int64{int64(e.UID), int64(e.GID), e.Size, e.Mtime, e.Ctime} {
			line = strconv.AppendInt(append(line, ' '), n, 10)
		}
		line = strconv.AppendUint(append(line, ' '), e.Ino, 10)
		line = strconv.AppendQuoteToASCII(append(line, ' '), e.Path)
		line = strconv.AppendQuoteToASCII(append(line, ' '), e.Target)
		if _, err := b.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	if _, err := b.WriteString("end " + strconv.Itoa(len(entries)) + "\n"); err != nil {
		return err
	}
	return b.Flush()
}

// Read reads what Write wrote: up to most entries, and never half of a list.
func Read(r io.Reader, most int) ([]Entry, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 4<<10), maxLine)
	if !lines.Scan() || lines.Text() != heading {
		return nil, errors.Join(lines.Err(), errors.New("it isn't a list of files that this version knows"))
	}
	var entries []Entry
	for lines.Scan() {
		line := lines.Text()
		if count, last := strings.CutPrefix(line, "end "); last {
			if count != strconv.Itoa(len(entries)) || lines.Scan() {
				return nil, errors.New("the list of files doesn't end as it should")
			}
			return entries, lines.Err()
		}
		if len(entries) == most {
			return nil, fmt.Errorf("the list has more than %d files", most)
		}
		e, err := parse(line)
		if err != nil {
			return nil, fmt.Errorf("line %d of the list of files: %w", len(entries)+2, err)
		}
		entries = append(entries, e)
	}
	return nil, errors.Join(lines.Err(), errors.New("the list of files is cut off"))
}

func parse(line string) (Entry, error) {
	fields := strings.SplitN(line, " ", 8)
	if len(fields) != 8 {
		return Entry{}, errors.New("fields are missing")
	}
	var numbers [6]int64
	mode, err := strconv.ParseUint(fields[0], 8, 32)
	if err != nil {
		return Entry{}, err
	}
	for i := range 5 {
		if numbers[i], err = strconv.ParseInt(fields[i+1], 10, 64); err != nil {
			return Entry{}, err
		}
	}
	ino, err := strconv.ParseUint(fields[6], 10, 64)
	if err != nil {
		return Entry{}, err
	}
	quoted, err := strconv.QuotedPrefix(fields[7])
	if err != nil {
		return Entry{}, err
	}
	name, err := strconv.Unquote(quoted)
	if err != nil {
		return Entry{}, err
	}
	rest, ok := strings.CutPrefix(fields[7][len(quoted):], " ")
	target, err := strconv.Unquote(rest)
	if err != nil || !ok {
		return Entry{}, errors.Join(err, errors.New("no target"))
	}
	if !Local(name) {
		return Entry{}, fmt.Errorf("%q is no path below a root", name)
	}
	if numbers[0] != int64(uint32(numbers[0])) || numbers[1] != int64(uint32(numbers[1])) {
		return Entry{}, errors.New("an id is out of range")
	}
	return Entry{
		Path: name, Mode: uint32(mode), UID: uint32(numbers[0]), GID: uint32(numbers[1]),
		Size: numbers[2], Mtime: numbers[3], Ctime: numbers[4], Ino: ino, Target: target,
	}, nil
}

// Local reports whether name is a clean path to something below a root.
func Local(name string) bool {
	return name != "" && name != "." && name != ".." && name[0] != '/' && !strings.HasPrefix(name, "../") &&
		path.Clean(name) == name && strings.IndexByte(name, 0) < 0
}

// LeadsOut reports whether a symbolic link at name with this target can lead to
// something that isn't below the root.
func LeadsOut(name, target string) bool {
	if target == "" || target[0] == '/' {
		return true
	}
	// Word by word: a/../.. leaves only where a is no link itself, so each .. is
	// counted against the depth as it stands then.
	depth := strings.Count(name, "/")
	for word := range strings.SplitSeq(target, "/") {
		switch word {
		case "", ".":
		case "..":
			depth--
		default:
			depth++
		}
		if depth < 0 {
			return true
		}
	}
	return false
}
