package language

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// ErrTooLarge says that rules differ in too many ways to look at each.
var ErrTooLarge = errors.New("the rules are too many, or too different, to be compared here")

// mostStates bounds how many kinds of beginnings of words are looked at.
const mostStates = 20_000

// expressions compiles each source once.
func expressions(sources []string) ([]automaton, []*expression, error) {
	var all []automaton
	var list []*expression
	slices.Sort(sources)
	for _, s := range slices.Compact(sources) {
		e, err := newExpression(s)
		if err != nil {
			return nil, nil, err
		}
		all, list = append(all, e), append(list, e)
	}
	return all, list, nil
}

// alphabet returns one letter of each kind that the expressions and words tell
// apart. Where a kind has a letter that people know, it is that one.
func alphabet(list []*expression, words []string, breaks bool) []rune {
	bounds := map[rune]bool{1: true, '\n': true, '\n' + 1: true, '\r': true, '\r' + 1: true, 0xd800: true, 0xe000: true}
	for _, e := range list {
		e.edges(bounds)
	}
	known := []rune("xa1A./-@=_ ,:+b2")
	own := map[rune]bool{}
	for _, w := range words {
		for _, r := range w {
			own[r] = true
		}
	}
	for _, r := range slices.Concat(known, slices.Collect(maps.Keys(own))) {
		bounds[r], bounds[r+1] = true, true
	}
	kinds := map[string]rune{}
	add := func(r rune) {
		heard := []string{""}
		if own[r] {
			heard[0] = string(r)
		}
		for _, e := range list {
			heard = append(heard, e.hears(r))
		}
		if _, ok := kinds[key(heard)]; !ok {
			kinds[key(heard)] = r
		}
	}
	for _, r := range known {
		add(r)
	}
	for _, r := range slices.Sorted(maps.Keys(bounds)) {
		if r >= 1 && utf8.ValidRune(r) && (breaks || r != '\n' && r != '\r') {
			add(r)
		}
	}
	rank := func(r rune) int {
		if i := slices.Index(known, r); i >= 0 {
			return i
		}
		return len(known) + int(r)
	}
	return slices.SortedFunc(maps.Values(kinds), func(a, b rune) int { return rank(a) - rank(b) })
}

// key makes one text of several states, none of which can be taken for another.
func key(states []string) string {
	var out []byte
	for _, s := range states {
		out = append(binary.AppendUvarint(out, uint64(len(s))), s...)
	}
	return string(out)
}

// A reader is an automaton that has read something already.
type reader struct {
	automaton
	from string
}

func after(a automaton, prefix string) reader {
	state := a.start()
	for _, r := range prefix {
		state = a.step(state, r)
	}
	return reader{a, state}
}

// everyKind returns one word for each combination of answers that readers give,
// short ones before long ones.
func everyKind(readers []reader, letters []rune) ([]string, error) {
	type node struct {
		states []string
		word   string
	}
	first := node{}
	for _, r := range readers {
		first.states = append(first.states, r.from)
	}
	memo := make([]map[string][]string, len(readers)) // what each letter leads to
	for i := range memo {
		memo[i] = map[string][]string{}
	}
	queue, seen := []node{first}, map[string]bool{key(first.states): true}
	var words []string
	answers := map[string]bool{}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		var out strings.Builder
		next := make([][]string, len(readers))
		for i, r := range readers {
			out.WriteByte(r.out(n.states[i]))
			if next[i] = memo[i][n.states[i]]; next[i] == nil {
				for _, letter := range letters {
					next[i] = append(next[i], r.step(n.states[i], letter))
				}
				memo[i][n.states[i]] = next[i]
			}
		}
		if !answers[out.String()] {
			answers[out.String()] = true
			words = append(words, n.word)
		}
		for l, letter := range letters {
			states := make([]string, len(readers))
			for i := range readers {
				states[i] = next[i][l]
			}
			k := key(states)
			if seen[k] {
				continue
			}
			if len(seen) >= mostStates {
				return nil, ErrTooLarge
			}
			seen[k] = true
			queue = append(queue, node{states, n.word + string(letter)})
		}
	}
	return words, nil
}
