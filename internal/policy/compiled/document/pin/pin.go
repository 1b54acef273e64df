// Package pin writes digests into the text of a policy.
//
// # Limits
//
// It changes nothing but digests, and gives up where the text is written so that
// it can't: what it has written is read again and compared. Files are hashed and
// written elsewhere.
package pin

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v4"

	"paddock"
	"paddock/internal/policy/compiled/document"
)

// An Entry is a program of a policy that can be pinned. At is the place of its mapping.
type Entry struct {
	document.Executable
	// Key is where the key stands that a digest goes before; without it, which is the
	// rule, a digest goes behind the path.
	Key paddock.Position
}

// Entries are the programs of a policy that can be pinned: its executables, git, those of
// the agents that may be given tasks, and those that say secrets.
func Entries(file document.File) []Entry {
	var all []Entry
	for _, e := range file.Executables {
		all = append(all, Entry{Executable: e})
	}
	if g := file.Git; g.Executable.Given() {
		all = append(all, Entry{Executable: document.Executable{Path: g.Executable, SHA256: g.SHA256, At: g.At}})
	}
	for _, p := range file.Delegates.Providers {
		p.Executable.At = p.At
		all = append(all, Entry{Executable: p.Executable})
	}
	for _, s := range file.Secrets {
		if s.Exec != nil { // its path is the first of a list
			s.Exec.Executable.At = s.At
			all = append(all, Entry{s.Exec.Executable, s.Exec.At})
		}
	}
	return all
}

// Write returns data, a policy without faults, with the executables whose paths are
// keys of pins pinned to the digests that are their values. Nothing else of the
// text changes, its comments and its layout least of all.
func Write(data []byte, pins map[string]paddock.Digest) ([]byte, error) {
	file, faults := document.Read("", data)
	if len(faults) > 0 {
		return nil, fmt.Errorf("line %d: %s", faults[0].At.Line, faults[0].Message)
	}
	p := pen{data}
	var edits []edit
	for _, e := range Entries(file) {
		pin, wanted := pins[e.Path.Value]
		if !wanted || same(e.SHA256.Value, pin) {
			continue
		}
		one, err := p.pin(e, strings.TrimPrefix(string(pin), "sha256:"))
		if err != nil {
			return nil, err
		}
		edits = append(edits, one)
	}
	slices.SortFunc(edits, func(a, b edit) int { return b.from - a.from }) // the last first, so that places stay
	text := data
	for _, e := range edits {
		text = slices.Concat(text[:e.from], []byte(e.text), text[e.to:])
	}
	return text, onlyPinned(data, text, pins)
}

func same(written string, pin paddock.Digest) bool {
	return written != "" && strings.EqualFold(strings.TrimPrefix(written, "sha256:"), strings.TrimPrefix(string(pin), "sha256:"))
}

// onlyPinned reads both texts again: they must say the same but for the pins.
func onlyPinned(before, after []byte, pins map[string]paddock.Digest) error {
	file, faults := document.Read("", after)
	if len(faults) > 0 {
		return fmt.Errorf("line %d can't be changed by itself: %s; put the digest there by hand", faults[0].At.Line, faults[0].Message)
	}
	for _, e := range Entries(file) {
		if pin, wanted := pins[e.Path.Value]; wanted && !same(e.SHA256.Value, pin) {
			return fmt.Errorf("line %d can't be changed by itself; put the digest there by hand", e.At.Line)
		}
	}
	was, err := unpinned(before)
	if err != nil {
		return err
	}
	is, err := unpinned(after)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(was, is) {
		return errors.New("the text can't be changed without changing more than digests; put them there by hand")
	}
	return nil
}

// unpinned is what a policy without faults says, digests aside.
func unpinned(data []byte) (map[string]any, error) {
	var said map[string]any
	if err := yaml.Unmarshal(data, &said); err != nil {
		return nil, err
	}
	entries, _ := said["executables"].([]any)
	entries = append(entries, said["git"])
	delegates, _ := said["delegates"].(map[string]any)
	providers, _ := delegates["providers"].(map[string]any)
	secrets, _ := said["secrets"].(map[string]any)
	for _, of := range []map[string]any{providers, secrets} {
		for _, p := range of {
			entries = append(entries, p)
		}
	}
	for _, e := range entries {
		if entry, ok := e.(map[string]any); ok {
			delete(entry, "sha256")
		}
	}
	return said, nil
}

// An edit puts text in the place of some bytes.
type edit struct {
	from, to int
	text     string
}

// A pen knows where in a text to write.
type pen struct{ data []byte }

// number is what YAML takes for a number though it is hexadecimal.
var number = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]+(e[0-9]+)?$`) })

// pin changes the digest that is there, or adds one after the path.
func (p pen) pin(e Entry, digits string) (edit, error) {
	word := digits
	if number().MatchString(digits) {
		word = `"` + digits + `"`
	}
	if e.SHA256.Given() {
		from, quoted, err := p.letters(e.SHA256)
		if quoted {
			word = digits
		}
		return edit{from, from + len(e.SHA256.Value), word}, err
	}
	flow := p.offset(e.At.Line, e.At.Column)
	inline := flow < len(p.data) && p.data[flow] == '{'
	if e.Key.Line > 0 {
		return p.before(e.Key, "sha256: "+word, inline), nil
	}
	from, quoted, err := p.letters(e.Path)
	if err != nil {
		return edit{}, err
	}
	end := from + len(e.Path.Value)
	if quoted {
		end++
	}
	if inline {
		return edit{end, end, ", sha256: " + word}, nil
	}
	line := strings.Repeat(" ", e.At.Column-1) + "sha256: " + word
	next := bytes.IndexByte(p.data[end:], '\n')
	if next < 0 {
		return edit{len(p.data), len(p.data), "\n" + line}, nil
	}
	next += end + 1
	if bytes.HasSuffix(p.data[:next], []byte("\r\n")) {
		line += "\r"
	}
	return edit{next, next, line + "\n"}, nil
}

// before adds a line before that of a key, or words before a key among others on its line.
func (p pen) before(key paddock.Position, text string, inline bool) edit {
	at := p.offset(key.Line, key.Column)
	if inline {
		return edit{at, at, text + ", "}
	}
	end := "\n"
	if next := bytes.IndexByte(p.data[at:], '\n'); next > 0 && p.data[at+next-1] == '\r' {
		end = "\r\n"
	}
	return edit{at, at, text + end + strings.Repeat(" ", key.Column-1)}
}

// letters returns where the letters of a text are that is written as it reads, on
// one line.
func (p pen) letters(t document.Text) (from int, quoted bool, err error) {
	at := t.Within(1, 0)
	from = p.offset(at.Line, cmp.Or(at.Column, t.At.Column))
	if !bytes.HasPrefix(p.data[from:], []byte(t.Value)) {
		return 0, false, fmt.Errorf("line %d is written in a way that can't be changed by itself; put the digest there by hand", t.At.Line)
	}
	return from, from > 0 && (p.data[from-1] == '"' || p.data[from-1] == '\''), nil
}

func (p pen) offset(line, column int) int { return Offset(p.data, line, column) }

// Offset is that of a place, whose column counts letters.
func Offset(data []byte, line, column int) int {
	at := 0
	for ; line > 1; line-- {
		next := bytes.IndexByte(data[at:], '\n')
		if next < 0 {
			return len(data)
		}
		at += next + 1
	}
	for ; column > 1 && at < len(data); column-- {
		_, size := utf8.DecodeRune(data[at:])
		at += size
	}
	return at
}
