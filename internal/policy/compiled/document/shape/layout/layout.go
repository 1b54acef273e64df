// Package layout writes a document in one layout: keys in the order of the table that
// describes it, two spaces for each step, a blank line between sections that take more
// than a line. Comments stay with what they stand at, and quotes, blocks and brackets
// are left as they are.
//
// # Limits
//
// It changes layout and nothing else: what was written is read again and compared, and
// where a comment or a word would be lost it gives up. Long lines aren't broken.
package layout

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v4"

	"paddock/internal/policy/compiled/document/shape"
)

// Format returns data in the layout. It must be a document of the shape, or the error
// says where it isn't.
func Format(data []byte, s shape.Object) ([]byte, error) {
	text := data
	for range 4 { // a comment may find its place only in the second layout
		next, err := once(text, s)
		if err != nil {
			return nil, err
		}
		if bytes.Equal(next, text) {
			return text, same(data, text)
		}
		text = next
	}
	return nil, errors.New("the comments of this file can't be laid out; move those that stand behind or between brackets to lines of their own")
}

func once(data []byte, s shape.Object) ([]byte, error) {
	if _, faults := shape.Read(data, s); len(faults) > 0 {
		return nil, fmt.Errorf("line %d: %s", faults[0].Line, faults[0].Message)
	}
	doc, err := parse(data)
	if err != nil {
		return nil, err
	}
	root := doc.Content[0]
	sort(root, s)
	words := veil(root, data)
	var out bytes.Buffer
	comment(&out, doc.HeadComment, "\n")
	comment(&out, root.HeadComment, "")
	lines := 0 // of the section before
	for i := 0; i+1 < len(root.Content); i += 2 {
		text, err := section(root, i)
		if err != nil {
			return nil, err
		}
		n := bytes.Count(text, []byte("\n"))
		if i > 0 && (n > 1 || lines > 1) {
			out.WriteByte('\n')
		}
		lines = n
		out.Write(text)
	}
	for _, foot := range []string{root.FootComment, doc.FootComment} {
		if foot != "" {
			out.WriteByte('\n')
			comment(&out, foot, "")
		}
	}
	return words.unveil(out.Bytes()), nil
}

// A veiled text has names in place of words that are written without quotes: the writer of YAML would
// quote some that needn't be, such as `...` and `off`.
type veiled struct {
	name  string
	words []string
}

// veil puts a name in the place of each word under n that has no quotes.
func veil(n *yaml.Node, data []byte) *veiled {
	v := &veiled{name: "Word"}
	for bytes.Contains(data, []byte(v.name)) {
		v.name += "X"
	}
	v.put(n)
	return v
}

func (v *veiled) put(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.Style == 0 && n.ShortTag() == "!!str" && n.Value != "" && !strings.Contains(n.Value, "\n") {
		v.words = append(v.words, n.Value)
		n.Value = fmt.Sprintf("%s%dX", v.name, len(v.words)-1)
	}
	for _, c := range n.Content {
		v.put(c)
	}
}

// unveil puts the words in their places again.
func (v *veiled) unveil(text []byte) []byte {
	pairs := make([]string, 0, 2*len(v.words))
	for i, w := range v.words {
		pairs = append(pairs, fmt.Sprintf("%s%dX", v.name, i), w)
	}
	return []byte(strings.NewReplacer(pairs...).Replace(string(text)))
}

func parse(data []byte) (*yaml.Node, error) {
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	var doc yaml.Node
	return &doc, loader.Load(&doc)
}

func comment(out *bytes.Buffer, text, after string) {
	if text != "" {
		out.WriteString(text + "\n" + after)
	}
}

// section writes one key of the document with its value, without blank lines around.
func section(root *yaml.Node, i int) ([]byte, error) {
	one := yaml.Node{Kind: yaml.MappingNode, Tag: root.Tag, Content: root.Content[i : i+2]}
	var b bytes.Buffer
	d, err := yaml.NewDumper(&b, yaml.WithV3Defaults(), yaml.WithIndent(2), yaml.WithLineWidth(-1))
	if err != nil {
		return nil, err
	}
	if err := errors.Join(d.Dump(&one), d.Close()); err != nil {
		return nil, err
	}
	return append(bytes.Trim(b.Bytes(), "\n"), '\n'), nil
}

// sort puts the keys of n in the order of its shape, and so below it.
func sort(n *yaml.Node, s shape.Shape) {
	switch s := s.(type) {
	case shape.Object:
		if n.Kind != yaml.MappingNode {
			return
		}
		type pair struct {
			key, value *yaml.Node
			rank       int
		}
		var pairs []pair
		for i := 0; i+1 < len(n.Content); i += 2 {
			p := pair{n.Content[i], n.Content[i+1], 0}
			p.rank = slices.IndexFunc(s.Keys, func(k shape.Key) bool { return k.Name == p.key.Value })
			sort(p.value, s.Keys[p.rank].Shape) // every key is known, or it wouldn't have been read
			pairs = append(pairs, p)
		}
		if len(pairs) == 0 {
			return
		}
		last := pairs[len(pairs)-1].key
		slices.SortStableFunc(pairs, func(a, b pair) int { return a.rank - b.rank })
		// What stands after the last key is about the end, whichever key is there.
		if end := pairs[len(pairs)-1].key; end != last && end.FootComment == "" {
			end.FootComment, last.FootComment = last.FootComment, ""
		}
		n.Content = n.Content[:0]
		for _, p := range pairs {
			n.Content = append(n.Content, p.key, p.value)
		}
	case shape.List:
		for _, c := range n.Content {
			sort(c, s.Of)
			if c.Kind == yaml.MappingNode && len(c.Content) > 0 && c.HeadComment == "" {
				// Above the dash, not between it and the key.
				c.HeadComment, c.Content[0].HeadComment = c.Content[0].HeadComment, ""
			}
		}
	case shape.Either:
		if n.Kind != yaml.ScalarNode {
			sort(n, s.Other)
		}
	}
}

// same refuses a layout that says something else than what was there.
func same(before, after []byte) error {
	was, err := parse(before)
	if err != nil {
		return err
	}
	is, err := parse(after)
	if err != nil {
		return err
	}
	if said(was) != said(is) {
		return errors.New("the file is written in a way that can't be laid out anew without changing what it says")
	}
	if lost := missing(comments(before), comments(after)); lost != "" {
		return fmt.Errorf("the comment %q would be lost or changed; move it to a line of its own", lost)
	}
	return nil
}

// said is everything that a document says, in one order.
func said(n *yaml.Node) string {
	parts := make([]string, 0, len(n.Content))
	for _, c := range n.Content {
		parts = append(parts, said(c))
	}
	if n.Kind == yaml.MappingNode {
		var pairs []string
		for i := 0; i+1 < len(parts); i += 2 {
			pairs = append(pairs, parts[i]+":"+parts[i+1])
		}
		slices.Sort(pairs)
		parts = pairs
	}
	return fmt.Sprintf("%d%s%q(%s)", n.Kind, n.ShortTag(), n.Value, strings.Join(parts, ","))
}

// comments lists what looks like a comment, also where it is in a text: that must stay
// as well.
func comments(data []byte) []string {
	var out []string
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, " \t\r\n")
		for i := range len(line) {
			if line[i] == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
				out = append(out, line[i:])
				break
			}
		}
	}
	slices.Sort(out)
	return out
}

// missing is the first of some texts that isn't as often in others.
func missing(these, those []string) string {
	for _, one := range these {
		i := slices.Index(those, one)
		if i < 0 {
			return one
		}
		those = slices.Delete(those, i, i+1)
	}
	return ""
}
