// Package asking finds in the text of a policy what its rules say to those whom they
// have asked.
//
// # Limits
//
// It judges nothing, and reads nothing: the text is handed in, as it was kept, by who has
// held it to its digest.
package asking

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"paddock/internal/policy/compiled"
	"paddock/internal/policy/compiled/layered"
)

// Words are the messages of rules that ask, by their names; empty where a rule has none.
type Words map[string]string

// Of reads text, a policy with all that belongs to it, as [layered.Bundle] writes it. A
// name that rules of several parts have says what each of them says.
func Of(text []byte) (Words, error) {
	w := Words{}
	for _, s := range sources(text) {
		read := compiled.Read
		if s.Floor {
			read = compiled.ReadFloor
		}
		doc, faults := read(s.Name, s.Data)
		if len(faults) > 0 {
			return nil, fmt.Errorf("line %d: %s", faults[0].At.Line, faults[0].Message)
		}
		w.add(doc)
		for _, n := range doc.Narrow {
			w.add(n.Part)
		}
	}
	return w, nil
}

func (w Words) add(doc compiled.Document) {
	for _, r := range doc.Rules {
		if !r.Ask {
			continue
		}
		said, known := w[r.Name.Value]
		switch more := r.Message.Value; {
		case !known || said == "":
			w[r.Name.Value] = more
		case more != "" && more != said:
			w[r.Name.Value] = said + " / " + more
		}
	}
}

// bundleHead is how a text begins that [layered.Bundle] made of several.
const bundleHead = "# paddock policy bundle 1\n"

// sources takes a bundle apart. What isn't one is a policy by itself.
func sources(text []byte) []layered.Source {
	alone := []layered.Source{{Name: "policy", Data: text}}
	rest, is := bytes.CutPrefix(text, []byte(bundleHead))
	if !is {
		return alone
	}
	var out []layered.Source
	for len(rest) > 0 {
		head, body, _ := bytes.Cut(rest, []byte("\n"))
		words := strings.SplitN(string(head), " ", 6) // # ROLE N bytes of "NAME"
		if len(words) != 6 {
			return alone
		}
		n, err := strconv.Atoi(words[2])
		name, unquoted := strconv.Unquote(words[5])
		if err != nil || unquoted != nil || n < 0 || n >= len(body) || body[n] != '\n' {
			return alone
		}
		out = append(out, layered.Source{Name: name, Data: body[:n], Floor: words[1] == "floor"})
		rest = body[n+1:]
	}
	return out
}
