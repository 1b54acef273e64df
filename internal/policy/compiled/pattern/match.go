package pattern

import (
	"fmt"
	"strings"
)

// A Match is how far a rule agrees with a command's arguments.
type Match struct {
	// OK means that every word is as the rule says, paths taken on trust.
	OK bool
	// Outside are the words that must be paths inside a root and aren't. A rule
	// matches when OK is set and there are none.
	Outside []string
	// At is the index of the first word that the rule doesn't know what to do
	// with; the number of words if some are missing.
	At   int
	miss miss
}

// A miss is why a word doesn't match. It becomes a sentence only when somebody
// asks: most rules of a long list miss, and nobody reads why.
type miss struct {
	kind  missKind
	word  string
	flag  string
	token *Token
}

type missKind int

const (
	tooMany missKind = iota + 1
	missing
	unknownFlag
	otherWord
	noValueWanted
	valueMissing
	valueLooksLikeFlag
	otherValue
)

// Why says in words why the rule doesn't match; "" if it does.
func (m Match) Why() string {
	text := ""
	if m.miss.token != nil {
		text = "`" + m.miss.token.Text() + "`"
	}
	switch word := show(m.miss.word); m.miss.kind {
	case tooMany:
		return word + " is one word too many"
	case missing:
		return text + " is missing"
	case unknownFlag:
		return word + " isn't a flag that is allowed here"
	case otherWord:
		return word + " isn't " + text
	case noValueWanted:
		return m.miss.flag + " takes no value"
	case valueMissing:
		return m.miss.flag + " needs a value, " + text
	case valueLooksLikeFlag:
		return m.miss.flag + " is followed by " + word + ", which looks like a flag and isn't " + text
	case otherValue:
		return "the value " + word + " of " + m.miss.flag + " isn't " + text
	}
	return ""
}

// Match compares the rule with the words after argv[0]. Inside tells whether a
// path leads inside a root; it is asked once for each word that must be one.
func (r *Rule) Match(args []string, inside func(word string) bool) Match {
	w := walk{rule: r, args: args, inside: inside}
	return w.run()
}

// First returns the literal that the first word must be, if there is one. By
// it the rules of a long list that can match at all are found at once.
func (r *Rule) First() (string, bool) {
	if len(r.words) == 0 || r.words[0].kind != literal {
		return "", false
	}
	return r.words[0].text, true
}

// Paths returns the words that Match may ask about.
func (r *Rule) Paths(args []string) []string {
	if !r.paths {
		return nil
	}
	var asked []string
	r.Match(args, func(word string) bool {
		asked = append(asked, word)
		return true
	})
	return asked
}

type walk struct {
	rule   *Rule
	args   []string
	inside func(string) bool

	at      int  // the next word
	taken   int  // how many of the rule's words are matched
	ended   bool // `--` was seen
	outside []string
}

func (w *walk) run() Match {
	for w.at < len(w.args) {
		if w.rule.any && w.taken == len(w.rule.words) {
			break
		}
		if m := w.step(w.args[w.at]); m.kind != 0 {
			return Match{At: w.at, miss: m}
		}
	}
	if w.taken < len(w.rule.words) {
		return Match{At: len(w.args), miss: miss{kind: missing, token: &w.rule.words[w.taken]}}
	}
	return Match{OK: true, Outside: w.outside, At: len(w.args)}
}

// step takes one word, or a flag with its value.
func (w *walk) step(word string) miss {
	if !w.ended && len(w.rule.flags) > 0 && w.taken >= w.rule.flagsAfter() && looksLikeFlag(word) {
		if word == "--" && !w.nextIs(word) {
			w.ended = true
			w.at++
			return miss{}
		}
		if f, value, glued, known := w.rule.flag(word); known {
			return w.flag(f, value, glued)
		}
	}
	t := w.rule.rest
	fixed := w.taken < len(w.rule.words)
	if fixed {
		t = &w.rule.words[w.taken]
	}
	switch {
	case looksLikeFlag(word) && !w.ended && (t == nil || !t.takesDash()):
		return miss{kind: unknownFlag, word: word}
	case t == nil:
		return miss{kind: tooMany, word: word}
	case !t.Match(word):
		return miss{kind: otherWord, word: word, token: t}
	}
	w.ask(t, word)
	if fixed {
		w.taken++
	}
	w.at++
	return miss{}
}

// nextIs reports whether the rule's next word is exactly this one.
func (w *walk) nextIs(word string) bool {
	return w.taken < len(w.rule.words) && w.rule.words[w.taken].isFixed() && w.rule.words[w.taken].Match(word)
}

func looksLikeFlag(word string) bool { return len(word) > 1 && word[0] == '-' }

func (w *walk) flag(f *flag, value string, glued bool) miss {
	switch {
	case f.bare && glued:
		return miss{kind: noValueWanted, flag: f.name}
	case f.bare:
		w.at++
		return miss{}
	case !glued && w.at+1 == len(w.args):
		return miss{kind: valueMissing, flag: f.name, token: &f.value}
	case !glued:
		w.at++
		value = w.args[w.at]
		// A program whose flag has an optional value would take this word as
		// the next flag. Numbers below zero are the one exception.
		if looksLikeFlag(value) && !f.value.takesDash() && f.value.kind != intToken {
			return miss{kind: valueLooksLikeFlag, word: value, flag: f.name, token: &f.value}
		}
	}
	if !f.value.Match(value) {
		return miss{kind: otherValue, word: value, flag: f.name, token: &f.value}
	}
	w.ask(&f.value, value)
	w.at++
	return miss{}
}

func (w *walk) ask(t *Token, word string) {
	if t.IsPath() && !w.inside(word) {
		w.outside = append(w.outside, word)
	}
}

// flag finds the flag that word is, with the value glued to it by `=`.
func (r *Rule) flag(word string) (f *flag, value string, glued, known bool) {
	name, value, glued := strings.Cut(word, "=")
	f, known = r.named[name]
	return f, value, glued, known
}

// show quotes a caller's word so that it can stand in a sentence.
func show(word string) string {
	const most = 60
	if len(word) > most {
		word = strings.ToValidUTF8(word[:most], "") + "…"
	}
	return fmt.Sprintf("%q", word)
}
