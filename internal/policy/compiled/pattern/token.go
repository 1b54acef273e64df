// Package pattern matches a command's arguments against the argument rules of
// a policy.
//
// A rule is a list of tokens, one for each word, with flags that may stand in
// any order and a rest for any number of further words. Matching walks the
// words once, never goes back, and so takes time linear in their length.
//
// # Limits
//
// The package compares words. It doesn't know what a program does with them,
// and asks somebody else where a path leads: a path rule is a check of intent,
// not a boundary.
package pattern

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

type kind int

const (
	literal kind = iota
	set
	wordToken
	intToken
	pathToken
	packageToken
	reToken
)

// A Token says what one word may be. The zero Token matches only the empty word.
type Token struct {
	kind  kind
	text  string   // of a literal
	set   []string // of a set
	re    *regexp.Regexp
	shown string
	// dashes is set for an expression that itself begins with a dash: only
	// such a one matches a word that a program would take as a flag.
	dashes bool
}

// Text returns the token as a policy writes it.
func (t Token) Text() string { return t.shown }

var named = map[string]kind{"word": wordToken, "int": intToken, "path": pathToken, "package": packageToken}

const tokenHelp = "a token is a literal word, `<word>`, `<int>`, `<path>`, `<package>`, `<re:EXPRESSION>` or a set `{a,b}`; a literal that begins like one of these, or with `=`, is written with `=` before it"

// ParseToken reads a token for exactly one word.
func ParseToken(s string) (Token, error) {
	t := Token{shown: s}
	switch {
	case strings.ContainsRune(s, 0) || !utf8.ValidString(s):
		return t, errors.New("no argument can contain a NUL byte or invalid UTF-8")
	case strings.HasPrefix(s, "="):
		t.text = s[1:]
	case s == "...":
		return t, errors.New("`...` stands for any number of words, so it can only be the last token of `allow` or `deny`")
	case strings.HasPrefix(s, "<re:"):
		return t.expression(s)
	case strings.HasPrefix(s, "<"):
		k, ok := named[strings.TrimSuffix(s[1:], ">")]
		if !ok || !strings.HasSuffix(s, ">") {
			return t, fmt.Errorf("unknown token `%s`; %s", s, tokenHelp)
		}
		t.kind = k
	case strings.HasPrefix(s, "{"):
		return t.oneOf(s)
	case inside().MatchString(s):
		return t, fmt.Errorf("`%s` would match only itself, because a token is a whole word: put a flag with its value under `flags` (`--count: <int>`), or write `=%s` if the text is really meant", s, s)
	default:
		t.text = s
	}
	return t, nil
}

// inside finds what looks like a token within a literal.
var inside = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<(word|int|path|package|re:.*)>`) })

func (t Token) expression(s string) (Token, error) {
	if !strings.HasSuffix(s, ">") {
		return t, fmt.Errorf("`%s` has no closing `>`", s)
	}
	source := s[len("<re:") : len(s)-1]
	if len(source) > 1000 {
		return t, errors.New("an expression has at most 1000 bytes")
	}
	parsed, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return t, fmt.Errorf("not an RE2 expression: %w", err)
	}
	// What is put between the anchors is the expression as it was understood:
	// its own text could reach beyond them (\Q without \E). And \A and \z, not
	// ^ and $, which (?m) would turn into those of lines.
	t.kind = reToken
	if t.re, err = regexp.Compile(`\A(?:` + parsed.String() + `)\z`); err != nil {
		return t, fmt.Errorf("not an RE2 expression: %w", err)
	}
	plain, err := regexp.Compile(source)
	if err != nil {
		return t, fmt.Errorf("not an RE2 expression: %w", err)
	}
	prefix, _ := plain.LiteralPrefix()
	t.dashes = strings.HasPrefix(prefix, "-")
	return t, nil
}

func (t Token) oneOf(s string) (Token, error) {
	inner, ok := strings.CutSuffix(s[1:], "}")
	if !ok {
		return t, fmt.Errorf("`%s` has no closing `}`; %s", s, tokenHelp)
	}
	t.kind, t.set = set, strings.Split(inner, ",")
	for i, w := range t.set {
		switch {
		case w == "" || w != strings.TrimSpace(w):
			return t, fmt.Errorf("the set `%s` has an empty word or a space beside a comma; write {a,b}", s)
		case strings.ContainsAny(w, "<>{}"), w == "...":
			return t, fmt.Errorf("the set `%s` may hold only literal words", s)
		case slices.Contains(t.set[:i], w):
			return t, fmt.Errorf("the set `%s` holds `%s` twice", s, w)
		}
	}
	return t, nil
}

// Match reports whether the token matches the word w. For <path> that is only
// whether w could be one; where it leads is asked apart, see [Token.IsPath].
func (t Token) Match(w string) bool {
	switch t.kind {
	case literal:
		return w == t.text
	case set:
		return slices.Contains(t.set, w)
	case wordToken:
		return isWord(w)
	case intToken:
		return isInt(w)
	case pathToken:
		return isPath(w)
	case packageToken:
		return isPackage(w)
	}
	return utf8.ValidString(w) && t.re.MatchString(w)
}

// IsPath reports whether a word that the token matches must lead inside a root.
func (t Token) IsPath() bool { return t.kind == pathToken }

// isFixed reports whether the token is a literal or a set.
func (t Token) isFixed() bool { return t.kind == literal || t.kind == set }

// takesDash reports whether the token may match a word that looks like a flag.
func (t Token) takesDash() bool { return t.isFixed() || t.dashes }

// clean reports whether w is text without anything that could make it look
// like something else on a terminal or in a log.
func clean(w string) bool {
	for i, c := range w {
		if c < utf8.RuneSelf {
			if c < 0x20 || c == 0x7f {
				return false
			}
			continue
		}
		if c == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(w[i:]); size == 1 {
				return false
			}
		}
		if unicode.In(c, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control) {
			return false
		}
	}
	return true
}

func isWord(w string) bool {
	return w != "" && w[0] != '-' && w[0] != '@' && w[0] != '/' && clean(w)
}

// isPath refuses what a program could take for something else than a path: a
// flag, or @file for "read the arguments from there". ./-x and ./@x are ways
// to name such files.
func isPath(w string) bool { return w != "" && w[0] != '-' && w[0] != '@' && clean(w) }

func isInt(w string) bool {
	digits := strings.TrimPrefix(w, "-")
	if digits == "" || len(digits) > 18 {
		return false
	}
	return strings.Trim(digits, "0123456789") == ""
}

// isPackage accepts a relative import path or pattern as the go command has
// them: ., ./..., ./internal/policy, ./cmd/.... Never one that leads upwards,
// an absolute path, or path@version.
func isPackage(w string) bool {
	if w == "." || w == "./" {
		return true
	}
	rest, ok := strings.CutPrefix(w, "./")
	if !ok {
		return false
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(rest, "/"), "/") {
		if part == "..." {
			continue
		}
		if strings.Trim(part, ".") == "" || part[0] == '-' {
			return false
		}
		for i := range len(part) {
			c := part[i]
			if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~+", c) >= 0) {
				return false
			}
		}
	}
	return true
}
