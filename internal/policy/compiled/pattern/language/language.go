// Package language answers questions about all commands that argument rules
// allow, not only about one: whether a list of rules allows something that another
// doesn't, whether a rule can ever decide, whether a dangerous word can get in.
//
// Matching walks words once and never goes back, so a rule is a finite automaton
// over words, and words are of finitely many kinds, since rules can tell them
// apart only by literals, tokens and expressions. What is answered here is
// therefore exact, and comes with an example, the shortest that there is.
//
// # Limits
//
// Where a path leads is taken as any. Words that aren't UTF-8, or contain NUL, are
// no words. Expressions that look around themselves, and rules that are too many to
// be compared, are an error and never an answer. Whether an example is really
// judged as said here is for the caller to verify with Decide.
package language

import (
	"encoding/binary"
	"maps"
	"regexp"
	"slices"
	"strings"

	"paddock/internal/policy/compiled/pattern"
)

// A Rule is an argument rule. Its nil Pattern matches any words.
type Rule struct {
	Pattern *pattern.Rule
	Deny    bool
}

// A List is the rules of an executable; the first that matches decides.
type List []Rule

// A Letter is a word of a command, one for all words that no rule can tell from
// it.
type Letter struct {
	Word string
	// Inside is whether it leads inside a root, where it is asked as a path.
	Inside bool
	// Fixed is set for a word that stands in a rule, letter by letter.
	Fixed bool
}

// A Space is the words that some lists can tell apart.
type Space struct {
	lists   []List
	letters []Letter
}

// Options are what words may be, and what else is to be told apart.
type Options struct {
	// Apart are RE2 expressions.
	Apart []string
	// Breaks lets words contain line breaks.
	Breaks bool
}

const flaggy = `(?s)\A-.+\z`

// New returns the words that lists can tell apart.
func New(lists []List, o Options) (*Space, error) {
	g := gather(lists)
	s := &Space{lists: lists}
	sources := append(append([]string{flaggy}, o.Apart...), g.sources...)
	glued := ""
	if len(g.flags) > 0 {
		glued = `(?s)\A(?:` + strings.Join(quoted(slices.Sorted(maps.Keys(g.flags))), "|") + `)=.*\z`
		sources = append(sources, glued)
	}
	all, list, err := expressions(sources)
	if err != nil {
		return nil, err
	}
	literals := slices.Sorted(maps.Keys(g.literals))
	words, err := everyKind(readers(append(all, newWordList(literals)), ""), alphabet(list, literals, o.Breaks))
	if err != nil {
		return nil, err
	}
	for _, w := range literals {
		s.add(w, true, g.paths)
	}
	for _, w := range words {
		if !g.literals[w] && (glued == "" || !regexp.MustCompile(glued).MatchString(w)) {
			s.add(w, false, g.paths)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.flags)) {
		if err := s.glue(name, g, o); err != nil {
			return nil, err
		}
	}
	// An example is plainest when its words are no rule's own.
	slices.SortStableFunc(s.letters, func(a, b Letter) int { return a.strange() - b.strange() })
	return s, nil
}

func (l Letter) strange() int {
	switch {
	case !l.Inside:
		return 2
	case l.Fixed:
		return 1
	}
	return 0
}

// glue adds the words that are a flag with a value after `=`: they are asked as a
// whole and in part.
func (s *Space) glue(name string, g gathered, o Options) error {
	flag := g.flags[name]
	wholes, list, err := expressions(slices.Concat(o.Apart, g.whole))
	if err != nil {
		return err
	}
	parts, more, err := expressions(flag.sources)
	if err != nil {
		return err
	}
	values := slices.Sorted(maps.Keys(flag.literals))
	var ends []string
	for w := range g.literals {
		if rest, ok := strings.CutPrefix(w, name+"="); ok {
			ends = append(ends, rest)
		}
	}
	values = append(values, ends...)
	all := append(readers(wholes, name+"="), readers(append(parts, newWordList(values)), "")...)
	words, err := everyKind(all, alphabet(append(list, more...), values, o.Breaks))
	if err != nil {
		return err
	}
	for _, v := range slices.Concat(values, words) {
		s.add(name+"="+v, slices.Contains(values, v), g.paths)
	}
	return nil
}

func readers(automata []automaton, prefix string) []reader {
	var out []reader
	for _, a := range automata {
		out = append(out, after(a, prefix))
	}
	return out
}

// add adds a word once, as one that leads inside a root and, where that is asked,
// as one that doesn't.
func (s *Space) add(word string, fixed, paths bool) {
	if strings.ContainsRune(word, 0) || slices.ContainsFunc(s.letters, func(l Letter) bool { return l.Word == word }) {
		return
	}
	s.letters = append(s.letters, Letter{word, true, fixed})
	if paths {
		s.letters = append(s.letters, Letter{word, false, fixed})
	}
}

// What some rules say about words.
type gathered struct {
	said
	// whole are the expressions that a flag with its value can match.
	whole []string
	flags map[string]*said
	paths bool
}

type said struct {
	literals map[string]bool
	sources  []string
}

func (s *said) token(t pattern.Token) {
	for _, w := range t.Literals() {
		s.literals[w] = true
	}
	if e := t.Expression(); e != "" {
		s.sources = append(s.sources, e)
	}
}

func gather(lists []List) gathered {
	g := gathered{said: said{literals: map[string]bool{"--": true}}, flags: map[string]*said{}}
	for _, r := range slices.Concat(lists...) {
		if r.Pattern == nil {
			continue
		}
		g.paths = g.paths || r.Pattern.WantsPaths()
		for _, t := range r.Pattern.Tokens() {
			g.token(t)
			if e := t.Expression(); e != "" {
				g.whole = append(g.whole, e)
			}
		}
		for name, value := range r.Pattern.Flags() {
			g.literals[name] = true
			if g.flags[name] == nil {
				g.flags[name] = &said{literals: map[string]bool{}}
			}
			if value != nil {
				g.token(*value) // it may be the next word, too
				g.flags[name].token(*value)
			}
		}
	}
	return g
}

func quoted(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = regexp.QuoteMeta(w)
	}
	return out
}

// Kinds returns one word for each kind that tokens tell apart.
func Kinds(tokens []pattern.Token) ([]string, error) {
	s := said{literals: map[string]bool{}}
	for _, t := range tokens {
		s.token(t)
	}
	all, list, err := expressions(s.sources)
	if err != nil {
		return nil, err
	}
	literals := slices.Sorted(maps.Keys(s.literals))
	words, err := everyKind(readers(append(all, newWordList(literals)), ""), alphabet(list, literals, true))
	return append(words, literals...), err
}

// A Found is a command, the shortest of its kind.
type Found struct {
	Args []Letter
	// Deciders has for each list the index of the rule that decides; -1 is none.
	Deciders []int
	// Matches has all rules that match, the one that decides first.
	Matches [][]int
	// Watched is what Watch said after the last word.
	Watched int
}

// Allowed reports whether list i allows the command.
func (s *Space) Allowed(f Found, i int) bool {
	return f.Deciders[i] >= 0 && !s.lists[i][f.Deciders[i]].Deny
}

// Watch follows the words of a command for its own ends, from 0.
type Watch func(state int, l Letter) int

const (
	mostNodes = 20_000
	mostSteps = 20_000_000
)

type node struct {
	states  [][]pattern.State
	watched int
	before  int // the node of the words before the last
	letter  int
}

// Search calls found with every kind of command that some list doesn't give up,
// short ones first, until it returns false.
func (s *Space) Search(watch Watch, found func(Found) bool) error {
	first := node{before: -1}
	for _, l := range s.lists {
		first.states = append(first.states, make([]pattern.State, len(l)))
	}
	nodes := []node{first}
	seen := map[string]bool{s.key(first): true}
	steps := 0
	for at := 0; at < len(nodes); at++ {
		if !found(s.found(nodes, at)) {
			return nil
		}
		for i, l := range s.letters {
			next, alive := s.step(nodes[at], l, &steps)
			if watch != nil {
				next.watched = watch(nodes[at].watched, l)
			}
			k := s.key(next)
			if !alive || seen[k] {
				continue
			}
			if len(nodes) >= mostNodes || steps > mostSteps {
				return ErrTooLarge
			}
			seen[k] = true
			next.before, next.letter = at, i
			nodes = append(nodes, next)
		}
	}
	return nil
}

// step reads one more word, and says whether any rule is left that may match.
func (s *Space) step(n node, l Letter, steps *int) (next node, alive bool) {
	next.states = make([][]pattern.State, len(s.lists))
	for i, list := range s.lists {
		next.states[i] = make([]pattern.State, len(list))
		for j, r := range list {
			if r.Pattern != nil && !n.states[i][j].Dead() {
				*steps++
				next.states[i][j] = r.Pattern.Step(n.states[i][j], l.Word, l.Inside || r.Deny)
			} else {
				next.states[i][j] = n.states[i][j]
			}
			alive = alive || !next.states[i][j].Dead()
		}
	}
	return next, alive
}

func (s *Space) key(n node) string {
	out := binary.AppendVarint(nil, int64(n.watched))
	for _, states := range n.states {
		for _, state := range states {
			out = state.AppendKey(out)
		}
	}
	return string(out)
}

func (s *Space) found(nodes []node, at int) Found {
	f := Found{Watched: nodes[at].watched, Deciders: make([]int, len(s.lists)), Matches: make([][]int, len(s.lists))}
	for i, list := range s.lists {
		f.Deciders[i] = -1
		for j, r := range list {
			if r.Pattern == nil || r.Pattern.Accepts(nodes[at].states[i][j]) {
				f.Matches[i] = append(f.Matches[i], j)
			}
		}
		if len(f.Matches[i]) > 0 {
			f.Deciders[i] = f.Matches[i][0]
		}
	}
	for ; nodes[at].before >= 0; at = nodes[at].before {
		f.Args = append(f.Args, s.letters[nodes[at].letter])
	}
	slices.Reverse(f.Args)
	return f
}
