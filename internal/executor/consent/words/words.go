// Package words says what the rules that asked say to the persons who are asked.
//
// What a person signs has the names of the rules and the digest of the policy, and not
// their words. These are read in the policy's text, which is kept where the question is
// and believed by that digest: so they are those of the policy that is signed, and what
// was signed before there were any stays as it was.
//
// # Limits
//
// Nothing hangs on a message: where it can't be told any more, that is said, and the
// question is as good as before.
package words

import (
	"paddock"
	"paddock/internal/policy/compiled/layered/asking"
	"paddock/internal/rundir/record/durable/places"
)

// A Book reads texts of policies, each once.
type Book struct {
	state string
	known map[paddock.Digest]asking.Words
}

// In is the Book of the state directory at state.
func In(state string) Book { return Book{state, map[paddock.Digest]asking.Words{}} }

// Put puts the words of those that asked into a, which is kept in dir.
func (b Book) Put(a *paddock.Approval, dir string) {
	words := b.of(a.Matter.PolicyDigest, dir)
	a.Says = nil
	for _, rule := range a.Matter.Rules {
		message, known := words[rule]
		a.Says = append(a.Says, paddock.RuleSays{Rule: rule, Message: message, Unknown: !known})
	}
}

// of reads the text of which digest is; nil when there is none that can be read.
func (b Book) of(digest paddock.Digest, dir string) asking.Words {
	if words, read := b.known[digest]; read {
		return words
	}
	text, err := places.PolicyOf(dir, digest)
	if err != nil { // of one that was asked before it was kept there
		text, err = places.TextOf(b.state, digest)
	}
	var words asking.Words
	if err == nil {
		words, err = asking.Of(text)
	}
	if err != nil {
		return nil // and the next one's directory is asked for itself
	}
	b.known[digest] = words
	return words
}
