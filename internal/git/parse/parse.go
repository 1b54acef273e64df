// Package parse reads what git prints into values. It believes nothing of it:
// what isn't of the expected form is an error, never a guess, and what is longer
// than its bounds is cut and said to be.
//
// # Limits
//
// Names and messages are bytes to git. Where they aren't UTF-8 the text shows
// replacements, and the bytes stand beside it.
package parse

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"paddock/internal/git/parse/present/scan"
)

// The most that one answer holds.
const (
	MostFiles   = 1000
	MostHunks   = 2000
	MostEntries = 2000
	MostText    = 16 << 10 // bytes of one message
)

// A Person is an author or a committer.
type Person struct {
	Name  string `json:"name"`
	Email string `json:"email"`
	Date  string `json:"date" jsonschema:"RFC 3339, in the zone of the commit"`
}

// A Commit is one of a history.
type Commit struct {
	ID        string   `json:"id"`
	Parents   []string `json:"parents,omitzero"`
	Author    Person   `json:"author"`
	Committer Person   `json:"committer"`
	Message   string   `json:"message" jsonschema:"the whole message, or its first line for oneline"`
	Cut       bool     `json:"cut,omitzero" jsonschema:"the message is longer than is shown here"`
	Files     []File   `json:"files,omitzero"`
}

// A File is one that differs.
type File struct {
	// Status is A, C, D, M, R, T or U, as git writes it.
	Status string `json:"status" jsonschema:"A added, C copied, D deleted, M modified, R renamed, T type changed, U unmerged"`
	Path   string `json:"path"`
	Raw    string `json:"raw,omitzero" jsonschema:"the bytes of path, base64, where they aren't UTF-8"`
	From   string `json:"from,omitzero" jsonschema:"the path before, of R and C"`
	// Mode and Before are git's file modes, 0 where there is no file.
	Mode    string `json:"mode"`
	Before  string `json:"before"`
	Binary  bool   `json:"binary,omitzero"`
	Added   *int64 `json:"added,omitzero" jsonschema:"lines, where they were counted"`
	Deleted *int64 `json:"deleted,omitzero" jsonschema:"lines, where they were counted"`
	Hunks   []Hunk `json:"hunks,omitzero"`
}

// A Hunk is a place that differs. Offset and Length are bytes of the run's stdout.
type Hunk struct {
	OldStart int64 `json:"old"`
	OldLines int64 `json:"oldlines"`
	NewStart int64 `json:"new"`
	NewLines int64 `json:"newlines"`
	Offset   int64 `json:"offset" jsonschema:"byte of the task's stdout where the hunk begins"`
	Length   int64 `json:"length"`
}

// A Line is one of a file, with the commit that it is from.
type Line struct {
	Number   int64  `json:"number"`
	Text     string `json:"text"`
	Raw      string `json:"raw,omitzero" jsonschema:"the bytes of text, base64, where they aren't UTF-8"`
	Commit   string `json:"commit"`
	Original int64  `json:"original" jsonschema:"its number in that commit"`
	Path     string `json:"path" jsonschema:"its file in that commit"`
	Author   string `json:"author"`
	Time     int64  `json:"time" jsonschema:"seconds since 1970"`
	Summary  string `json:"summary"`
}

// An Entry is a file of the index.
type Entry struct {
	Path  string `json:"path"`
	Raw   string `json:"raw,omitzero" jsonschema:"the bytes of path, base64, where they aren't UTF-8"`
	Mode  string `json:"mode"`
	ID    string `json:"id"`
	Stage int    `json:"stage,omitzero" jsonschema:"0 unless a merge is unfinished"`
}

// The words of package scan.
var (
	// ErrForm marks text that isn't of git's form.
	ErrForm = scan.ErrForm

	text        = scan.Text
	shown       = scan.Shown
	hexadecimal = scan.Hexadecimal
)

// A reader goes through what git printed.
type reader struct{ scan.Reader }

func reading(out []byte) *reader { return &reader{scan.Reader{All: out}} }

// ID reads the id that a command printed as its only line.
func ID(out []byte) (string, error) {
	id, ok := strings.CutSuffix(string(out), "\n")
	if !ok || !hexadecimal(id) {
		return "", fmt.Errorf("an object id: %w", ErrForm)
	}
	return id, nil
}

// IDs reads the ids that a command printed, one a line; none where one isn't an id.
func IDs(out []byte) (ids []string) {
	for line := range bytes.Lines(out) {
		id, err := ID(line)
		if err != nil {
			return nil
		}
		ids = append(ids, id)
	}
	return ids
}

// Commits reads a log, or what show prints. Cut is set when the end of out is
// missing: its last commit is left out then. More is set when bounds left
// something of the files out.
func Commits(out []byte, cut bool) (commits []Commit, more bool, err error) {
	commits = []Commit{}
	r := reading(out)
	for !r.Done() {
		c, over, err := r.commit()
		if err != nil {
			if cut {
				return commits, true, nil
			}
			return nil, false, err
		}
		more = more || over
		commits = append(commits, c)
	}
	return commits, more || cut, nil
}

func (r *reader) commit() (c Commit, more bool, err error) {
	if !r.Skip("commit ") {
		return c, false, fmt.Errorf("byte %d: a commit: %w", r.At, ErrForm)
	}
	var fields [9][]byte
	for i := range fields {
		if fields[i], err = r.Until(0); err != nil {
			return c, false, err
		}
	}
	c.ID = string(fields[0])
	if !hexadecimal(c.ID) {
		return c, false, fmt.Errorf("the id of a commit: %w", ErrForm)
	}
	c.Parents = strings.Fields(string(fields[1]))
	c.Author = Person{shown(fields[2]), shown(fields[3]), shown(fields[4])}
	c.Committer = Person{shown(fields[5]), shown(fields[6]), shown(fields[7])}
	message := bytes.TrimRight(fields[8], "\n")
	if c.Cut = len(message) > MostText; c.Cut {
		message = message[:MostText]
	}
	c.Message = shown(message)
	r.Skip("\x00")
	if !r.Skip("\n") {
		return c, false, nil
	}
	c.Files, more, err = r.files()
	return c, more, err
}

// Files reads what diff prints.
func Files(out []byte, cut bool) (files []File, more bool, err error) {
	r := reading(out)
	files, more, err = r.files()
	if err == nil && !r.Done() {
		err = fmt.Errorf("byte %d: %w", r.At, ErrForm)
	}
	if err != nil && cut {
		err, more = nil, true
	}
	if files == nil {
		files = []File{}
	}
	return files, more || cut, err
}

// files reads the list of what differs, then the numbers of lines or the patch.
func (r *reader) files() (files []File, more bool, err error) {
	for r.Skip(":") {
		f, err := r.raw()
		if err != nil {
			return files, false, err
		}
		files = append(files, f)
	}
	for i := 0; !r.Done() && r.All[r.At] != 0 && !bytes.HasPrefix(r.Rest(), []byte("commit ")); i++ {
		if i >= len(files) {
			return files, false, fmt.Errorf("byte %d: more numbers than files: %w", r.At, ErrForm)
		}
		if err := r.numbers(&files[i]); err != nil {
			return files, false, err
		}
	}
	if r.Skip("\x00") {
		more, err = r.patch(files)
	}
	if len(files) > MostFiles {
		files, more = files[:MostFiles], true
	}
	return files, more, err
}

// raw reads ":mode mode id id S" and one path, or two of a rename and a copy.
func (r *reader) raw() (f File, err error) {
	line, err := r.Until(0)
	if err != nil {
		return f, err
	}
	words := strings.Split(string(line), " ")
	if len(words) != 5 || words[4] == "" || !strings.Contains("ACDMRTUX", words[4][:1]) {
		return f, fmt.Errorf("byte %d: what differs: %w", r.At, ErrForm)
	}
	f.Before, f.Mode, f.Status = words[0], words[1], words[4][:1]
	name, err := r.Until(0)
	if err != nil {
		return f, err
	}
	if f.Status == "R" || f.Status == "C" {
		f.From = shown(name)
		if name, err = r.Until(0); err != nil {
			return f, err
		}
	}
	f.Path, f.Raw = text(name)
	return f, nil
}

// numbers reads "added deleted path", where - - stands for a binary file and the
// path is missing before the two of a rename.
func (r *reader) numbers(f *File) error {
	added, err := r.Until('\t')
	if err != nil {
		return err
	}
	deleted, err := r.Until('\t')
	if err != nil {
		return err
	}
	name, err := r.Until(0)
	if err == nil && len(name) == 0 {
		for range 2 {
			if name, err = r.Until(0); err != nil {
				break
			}
		}
	}
	if err != nil {
		return err
	}
	if shown(name) != f.Path {
		return fmt.Errorf("numbers of another file: %w", ErrForm)
	}
	if string(added) == "-" && string(deleted) == "-" {
		f.Binary = true
		return nil
	}
	plus, err1 := strconv.ParseInt(string(added), 10, 64)
	minus, err2 := strconv.ParseInt(string(deleted), 10, 64)
	if err1 != nil || err2 != nil || plus < 0 || minus < 0 {
		return fmt.Errorf("numbers of lines: %w", ErrForm)
	}
	f.Added, f.Deleted = &plus, &minus
	return nil
}
