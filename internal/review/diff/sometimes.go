package diff

import (
	"slices"

	"paddock"
)

// sometimes compares the parts that hold for some requests only, by how they read.
func (d *differ) sometimes() {
	o, n := parts(d.old), parts(d.new)
	for _, one := range o {
		if !slices.ContainsFunc(n, one.same) {
			d.add(Unclear, one.at, one.where, "What held for some requests only is gone or says something else; what only it refused is allowed now, and what that is can't be told.")
		}
	}
	for _, one := range n {
		if !slices.ContainsFunc(o, one.same) {
			d.add(Narrowed, one.at, one.where, "A part is new that holds for some requests; it refuses more and allows nothing.")
		}
	}
}

// somePart is a part with the text that it was made of.
type somePart struct {
	at, text string
	where    paddock.Position
}

func (p somePart) same(o somePart) bool { return p.at == o.at && p.text == o.text }

func parts(s side) []somePart {
	var out []somePart
	for _, n := range s.file.Narrow {
		at := "principals"
		if n.Root != "" {
			at = "roots." + n.Root + ".narrow"
		} else if n.Kind != "" {
			at += "." + n.Kind
		}
		id := ""
		if n.ID != nil {
			id = n.ID.Text()
		}
		out = append(out, somePart{at, id + "\x00" + n.Text, n.At})
	}
	return out
}
