package present

import (
	"bytes"
	"strconv"
	"strings"
)

// A Match is a line that a search found, or one near it.
type Match struct {
	Path string `json:"path"`
	// PathRaw and Raw are the bytes in base64, where they aren't UTF-8.
	PathRaw string `json:"pathraw,omitzero" jsonschema:"the bytes of path, base64, where they aren't UTF-8"`
	Number  int64  `json:"number" jsonschema:"of the line, counted from 1"`
	Column  int64  `json:"column,omitzero" jsonschema:"byte of the line where the match begins, counted from 1"`
	Text    string `json:"text"`
	Raw     string `json:"raw,omitzero" jsonschema:"the bytes of text, base64, where they aren't UTF-8"`
	Context bool   `json:"context,omitzero" jsonschema:"no match, but near one"`
	Cut     bool   `json:"cut,omitzero" jsonschema:"only the beginning of the line is here"`
}

// A Count says how many lines of a file match.
type Count struct {
	Path  string `json:"path"`
	Raw   string `json:"raw,omitzero" jsonschema:"the bytes of path, base64, where they aren't UTF-8"`
	Lines int64  `json:"lines" jsonschema:"lines that match"`
}

// Matches reads what grep --null --line-number --column prints. Prefix is what
// stands before each path: the revision and a colon, or nothing. Context says that
// lines near were asked for, so that marks stand between groups.
func Matches(out []byte, prefix string, context, cut bool) (matches []Match, more bool, err error) {
	matches = []Match{}
	r := reading(out)
	var last Match
	for !r.Done() {
		if len(matches) == MostMatches {
			return matches, true, nil
		}
		m, err := r.match(prefix, context && len(matches) > 0, last)
		if err != nil {
			if cut {
				return matches, true, nil
			}
			return nil, false, err
		}
		last = m
		matches = append(matches, m)
	}
	return matches, cut, nil
}

// match reads "path NUL number NUL column NUL text", without the column for a line
// that is only near a match. Between groups stands a line of --, with
// which a name can begin, too; but within a group a line follows the one before,
// and a group never begins with the next line of the same file.
func (r *reader) match(prefix string, marks bool, last Match) (m Match, err error) {
	const mark = "--\n"
	begin := r.At
	if m, err = r.located(prefix); err == nil && !(marks && bytes.HasPrefix(r.All[begin:], []byte(mark)) && (m.Path != last.Path || m.Number != last.Number+1)) {
		return m, nil
	}
	if r.At = begin; !marks || !r.Skip(mark) {
		return m, r.Bad("a line that was found")
	}
	return r.located(prefix)
}

func (r *reader) located(prefix string) (m Match, err error) {
	if !r.Skip(prefix) {
		return m, r.Bad("the revision of a file")
	}
	name, err := r.Until(0)
	if err != nil {
		return m, err
	}
	number, err := r.Until(0)
	if err != nil {
		return m, err
	}
	line, err := r.Line()
	if err != nil {
		return m, err
	}
	m.Number, err = strconv.ParseInt(string(number), 10, 64)
	if err != nil || m.Number < 1 || len(name) == 0 {
		return m, r.Bad("the number of a line")
	}
	column, rest, ok := bytes.Cut(line, []byte{0})
	if m.Column, _ = strconv.ParseInt(string(column), 10, 64); ok && m.Column > 0 {
		line = rest
	} else {
		m.Column, m.Context = 0, true
	}
	if m.Cut = len(line) > mostLine; m.Cut {
		line = line[:mostLine]
	}
	m.Path, m.PathRaw = text(name)
	m.Text, m.Raw = text(line)
	return m, nil
}

// Counts reads what grep --null --count prints.
func Counts(out []byte, prefix string, cut bool) (counts []Count, more bool, err error) {
	counts = []Count{}
	r := reading(out)
	for !r.Done() {
		if len(counts) == MostCounts {
			return counts, true, nil
		}
		c, err := r.counted(prefix)
		if err != nil {
			if cut {
				return counts, true, nil
			}
			return nil, false, err
		}
		counts = append(counts, c)
	}
	return counts, cut, nil
}

func (r *reader) counted(prefix string) (c Count, err error) {
	if !r.Skip(prefix) {
		return c, r.Bad("the revision of a file")
	}
	name, err := r.Until(0)
	if err != nil {
		return c, err
	}
	number, err := r.Line()
	if err != nil {
		return c, err
	}
	if c.Lines, err = strconv.ParseInt(string(number), 10, 64); err != nil || c.Lines < 1 || len(name) == 0 {
		return c, r.Bad("a number of lines")
	}
	c.Path, c.Raw = text(name)
	return c, nil
}

// A Ref is a branch or a tag.
type Ref struct {
	Kind string `json:"kind" jsonschema:"branch, tag or remote, which is a branch elsewhere as it was known last"`
	Name string `json:"name"`
	Raw  string `json:"raw,omitzero" jsonschema:"the bytes of name, base64, where they aren't UTF-8"`
	ID   string `json:"id" jsonschema:"of the commit, or of the tag's own object"`
	// Commit is what a tag with an object of its own stands for.
	Commit   string `json:"commit,omitzero" jsonschema:"what a tag with an object of its own stands for"`
	Current  bool   `json:"current,omitzero" jsonschema:"it is checked out"`
	Date     string `json:"date,omitzero" jsonschema:"of the commit or the tag, RFC 3339"`
	Subject  string `json:"subject,omitzero"`
	Upstream string `json:"upstream,omitzero" jsonschema:"what the branch follows"`
}

// Refs reads what for-each-ref prints: of each the name, the id, what a tag stands
// for, whether it is checked out, the date, the upstream and the subject, each
// ended by NUL.
func Refs(out []byte, cut bool) (refs []Ref, more bool, err error) {
	refs = []Ref{}
	r := reading(out)
	for !r.Done() {
		ref, err := r.ref()
		if err != nil {
			if cut {
				return refs, true, nil
			}
			return nil, false, err
		}
		refs = append(refs, ref)
	}
	return refs, cut, nil
}

var kinds = []struct{ prefix, kind string }{{"refs/heads/", "branch"}, {"refs/tags/", "tag"}, {"refs/remotes/", "remote"}}

func (r *reader) ref() (ref Ref, err error) {
	var fields [7][]byte
	for i := range fields {
		if fields[i], err = r.Until(0); err != nil {
			return ref, err
		}
	}
	ref.ID, ref.Commit = string(fields[1]), string(fields[2])
	if !r.Skip("\n") || !hexadecimal(ref.ID) || ref.Commit != "" && !hexadecimal(ref.Commit) {
		return ref, r.Bad("a branch or tag")
	}
	for _, k := range kinds {
		if name, ok := bytes.CutPrefix(fields[0], []byte(k.prefix)); ok {
			ref.Kind = k.kind
			ref.Name, ref.Raw = text(name)
		}
	}
	if ref.Kind == "" {
		return ref, r.Bad("the name of a branch or tag")
	}
	ref.Current, ref.Date = string(fields[3]) == "*", shown(fields[4])
	ref.Upstream = strings.TrimPrefix(strings.TrimPrefix(shown(fields[5]), "refs/remotes/"), "refs/heads/")
	ref.Subject = shown(fields[6][:min(len(fields[6]), mostSubject)])
	return ref, nil
}
