package pattern

import "encoding/binary"

// A State is how far a rule has got with the words so far. States are compared
// with ==; there are few of them, since matching never goes back.
type State struct {
	taken int
	value int // 1 + the flag that the next word is the value of
	ended bool
	dead  bool
}

// Dead reports whether no further word can make the rule match.
func (s State) Dead() bool { return s.dead }

// Step takes one more word, of which inside says whether it leads inside a root.
// It agrees with [Rule.Match]: words match when every step does and the state
// after the last one is one that the rule [Rule.Accepts].
func (r *Rule) Step(s State, word string, inside bool) State {
	if s.dead || r.any && s.taken == len(r.words) {
		return s
	}
	w := walk{rule: r, args: []string{word}, inside: func(string) bool { return inside }, taken: s.taken, ended: s.ended}
	var m miss
	if s.value > 0 {
		f := &r.flags[s.value-1]
		w.args = []string{f.name, word}
		m = w.flag(f, "", false)
	} else {
		m = w.step(word)
	}
	switch {
	case m.kind == valueMissing:
		for i := range r.flags {
			if r.flags[i].name == m.flag {
				s.value = i + 1
			}
		}
		return s
	case m.kind != 0 || len(w.outside) > 0:
		return State{dead: true}
	}
	return State{taken: w.taken, ended: w.ended}
}

// Accepts reports whether the rule matches when no word follows.
func (r *Rule) Accepts(s State) bool { return !s.dead && s.value == 0 && s.taken == len(r.words) }

// Tokens returns the tokens of the rule's words and of its rest.
func (r *Rule) Tokens() []Token {
	tokens := append([]Token(nil), r.words...)
	if r.rest != nil {
		tokens = append(tokens, *r.rest)
	}
	return tokens
}

// Flags returns the rule's flags with the tokens of their values, nil for a flag
// that takes none.
func (r *Rule) Flags() map[string]*Token {
	flags := make(map[string]*Token, len(r.flags))
	for i := range r.flags {
		f := &r.flags[i]
		flags[f.name] = &f.value
		if f.bare {
			flags[f.name] = nil
		}
	}
	return flags
}

// Literals returns the words of a literal or a set; nil for other tokens.
func (t Token) Literals() []string {
	switch t.kind {
	case literal:
		return []string{t.text}
	case set:
		return t.set
	}
	return nil
}

// What clean refuses, and the tokens, as RE2 says them. A test holds them to Match.
const (
	unclean   = `\p{Cc}\p{Zl}\p{Zp}\x{061C}\x{200E}\x{200F}\x{202A}-\x{202E}\x{2066}-\x{2069}`
	letters   = `A-Za-z0-9_~+`
	wordRE    = `\A[^\-@/` + unclean + `][^` + unclean + `]*\z`
	pathRE    = `\A[^\-@` + unclean + `][^` + unclean + `]*\z`
	intRE     = `\A-?[0-9]{1,18}\z`
	partRE    = `(?:\.\.\.|\.*[` + letters + `][` + letters + `.\-]*|\.+-[` + letters + `.\-]*)`
	packageRE = `\A(?:\./?|\./` + partRE + `(?:/` + partRE + `)*/?)\z`
)

// Expression returns the RE2 expression of the words that the token matches, with
// its anchors; "" for a literal or a set.
func (t Token) Expression() string {
	switch t.kind {
	case wordToken:
		return wordRE
	case intToken:
		return intRE
	case pathToken:
		return pathRE
	case packageToken:
		return packageRE
	case reToken:
		return t.re.String()
	}
	return ""
}

// AppendKey appends the state to b, in a form that is the same for equal states.
func (s State) AppendKey(b []byte) []byte {
	if s.dead {
		return append(b, 0xff)
	}
	flags := byte(0)
	if s.ended {
		flags = 1
	}
	return binary.AppendUvarint(binary.AppendUvarint(append(b, flags), uint64(s.taken)), uint64(s.value))
}
