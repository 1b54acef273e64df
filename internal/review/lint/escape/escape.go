// Package escape follows the words of commands for the ways by which tools get out.
//
// # Limits
//
// A program that another one starts is known by its word alone, where a rule spells it
// out: `env bash`. Which words of a wrapper are its own isn't known, so a word that only
// looks like a program counts as one.
package escape

import (
	"maps"
	"regexp"
	"slices"

	"paddock/internal/policy/compiled/pattern/language"
	"paddock/internal/review/lint/escape/tools"
)

// A Watch is for one way of a tool.
type Watch struct {
	Way tools.Way
	// inside is the word behind which the tool's own words begin, where another starts it.
	inside      string
	first, word *regexp.Regexp
}

// What a watch has seen.
const (
	before = iota // the word inside hasn't come; not where there is none
	atStart
	atSecond
	onTheWay
	lost
	open
)

// Of returns what is to be watched for of a tool, and, where that starts others, of those
// among the words that are spelled out; and expressions of words that are to be told apart.
func Of(tool *tools.Tool, spelled []string) (list []Watch, apart []string) {
	all := map[string]*tools.Tool{"": tool}
	for _, word := range spelled {
		if one := tools.Find(word); one != nil && tool.Kind == "wrapper" {
			all[word] = one
			apart = append(apart, whole(regexp.QuoteMeta(word)))
		}
	}
	for _, inside := range slices.Sorted(maps.Keys(all)) {
		for _, w := range all[inside].Ways {
			list = append(list, Watch{w, inside, regexp.MustCompile(whole(w.First)), regexp.MustCompile(whole(w.Word))})
			for _, source := range []string{w.First, w.Word} {
				if source != "" {
					apart = append(apart, whole(source))
				}
			}
		}
	}
	slices.Sort(apart)
	return list, slices.Compact(apart)
}

func whole(source string) string { return `\A(?:` + source + `)\z` }

// Does says what happens, after "it".
func (w Watch) Does() string {
	if w.inside != "" {
		return "starts " + w.inside + ", which " + w.Way.Does
	}
	return w.Way.Does
}

// Out reports whether a command gets out.
func (w Watch) Out(f language.Found) bool {
	state := f.Watched
	if w.inside == "" && state == before {
		state = atStart
	}
	return state == open || w.Way.Bare && state == atStart
}

// Step goes by one word.
func (w Watch) Step(state int, one language.Letter) int {
	switch {
	case state == open || state == lost:
		return state
	case state == before && w.inside != "":
		if one.Fixed && one.Word == w.inside {
			return atStart
		}
		return before
	case state == before || state == atStart:
		switch {
		case w.Way.Bare:
			return lost
		case w.Way.First == "" && w.opens(w.word, one):
			return open
		case w.Way.First == "":
			return onTheWay
		case w.Way.Word == "" && w.opens(w.first, one):
			return open
		case w.Way.Word != "" && w.first.MatchString(one.Word):
			return atSecond
		}
		return lost
	case w.opens(w.word, one):
		return open
	case w.Way.Second:
		return lost
	}
	return onTheWay
}

func (w Watch) opens(expr *regexp.Regexp, one language.Letter) bool {
	return expr.MatchString(one.Word) && (!w.Way.Free || !one.Fixed)
}
