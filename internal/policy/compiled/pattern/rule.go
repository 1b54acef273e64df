package pattern

import (
	"fmt"
	"strings"
)

// A Source is an argument rule as a policy writes it.
type Source struct {
	Words []string
	Flags []Flag
	Rest  string // "" if there is none
}

// A Flag is a flag's name and the token of its value, or "none".
type Flag struct{ Name, Value string }

// A Rule is a compiled argument rule. It is immutable.
type Rule struct {
	words []Token
	flags []flag // in the order of the file
	// named finds a flag by its name.
	named map[string]*flag
	// rest matches each further word, if there may be any.
	rest *Token
	// any is set by a final `...`: everything further is taken as it is.
	any bool
	// paths is set when a token wants a path.
	paths bool
}

type flag struct {
	name  string
	bare  bool // has no value
	value Token
}

// A Part names the part of a Source that a fault is about.
type Part int

// The parts.
const (
	InWords Part = iota
	InFlagName
	InFlagValue
	InRest
)

// A Fault is one thing wrong with a Source: Index counts in its part.
type Fault struct {
	Part    Part
	Index   int
	Message string
}

// Compile returns the rule, or every fault of its source.
func Compile(s Source) (*Rule, []Fault) {
	c := compiler{rule: &Rule{}}
	c.words(s)
	c.flags(s)
	if s.Rest != "" {
		c.rest(s.Rest, InRest, 0)
	}
	if c.rule.any && len(s.Flags) > 0 {
		c.fault(InWords, len(s.Words)-1, "`...` takes every flag already, so `flags` would be checked by nobody; use a typed rest such as `<word>...`, or remove `flags`")
	}
	c.rule.named = make(map[string]*flag, len(c.rule.flags))
	for i := range c.rule.flags {
		c.rule.named[c.rule.flags[i].name] = &c.rule.flags[i]
	}
	if c.faults != nil {
		return nil, c.faults
	}
	return c.rule, nil
}

type compiler struct {
	rule   *Rule
	faults []Fault
}

func (c *compiler) fault(p Part, index int, format string, args ...any) {
	c.faults = append(c.faults, Fault{p, index, fmt.Sprintf(format, args...)})
}

func (c *compiler) words(s Source) {
	for i, text := range s.Words {
		last := i == len(s.Words)-1
		switch {
		case isRest(text) && !last:
			c.fault(InWords, i, "`%s` stands for any number of words, so it can only be the last token (write `=%s` for the literal text)", text, text)
		case isRest(text) && s.Rest != "":
			c.fault(InWords, i, "`%s` and `rest` both stand for further words; keep one", text)
		case text == "...":
			c.rule.any = true
		case isRest(text):
			c.rest(text, InWords, i)
		default:
			c.rule.words = append(c.rule.words, c.token(text, InWords, i))
		}
	}
}

// isRest reports whether text stands for any number of words. ./... doesn't:
// only a token can be repeated.
func isRest(text string) bool {
	return text == "..." || strings.HasSuffix(text, ">...") && strings.HasPrefix(text, "<") ||
		strings.HasSuffix(text, "}...") && strings.HasPrefix(text, "{")
}

func (c *compiler) rest(text string, p Part, index int) {
	if text == "..." {
		c.fault(p, index, "write `...` as the last token of `allow` or `deny`; `rest` is for a typed one such as `<word>...`")
		return
	}
	if !isRest(text) {
		c.fault(p, index, "`%s` stands for one word; a rest ends with dots: `%s...`", text, text)
		return
	}
	t := c.token(strings.TrimSuffix(text, "..."), p, index)
	c.rule.rest = &t
}

func (c *compiler) token(text string, p Part, index int) Token {
	t, err := ParseToken(text)
	if err != nil {
		c.fault(p, index, "%v", err)
	}
	c.rule.paths = c.rule.paths || t.IsPath()
	return t
}

func (c *compiler) flags(s Source) {
	for i, f := range s.Flags {
		for j, t := range c.rule.words {
			if t.isFixed() && t.Match(f.Name) {
				c.fault(InFlagName, i, "`%s` is both a flag and the token `%s`; keep one, so that there is one reading", f.Name, c.rule.words[j].Text())
			}
		}
		one := flag{name: f.Name, bare: f.Value == "none"}
		if !one.bare {
			one.value = c.token(f.Value, InFlagValue, i)
		}
		c.rule.flags = append(c.rule.flags, one)
	}
}

// Form shows what the rule allows, as usage texts do: test [-v] [-run <word>]
// [<package>...].
func (r *Rule) Form() string {
	var b strings.Builder
	add := func(parts ...string) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		for _, p := range parts {
			b.WriteString(p)
		}
	}
	after := r.flagsAfter()
	for i := 0; ; i++ {
		if i == after {
			for _, f := range r.flags {
				if f.bare {
					add("[", f.name, "]")
				} else {
					add("[", f.name, " ", f.value.Text(), "]")
				}
			}
		}
		if i == len(r.words) {
			break
		}
		add(r.words[i].Text())
	}
	switch {
	case r.any:
		add("...")
	case r.rest != nil:
		add("[", r.rest.Text(), "...]")
	}
	return b.String()
}

// flagsAfter is how many words must come before a flag may. A program's flags
// before its subcommand are others than those after it: git -p log isn't git
// log -p. So a fixed first word comes first.
func (r *Rule) flagsAfter() int {
	if len(r.words) > 0 && r.words[0].isFixed() {
		return 1
	}
	return 0
}

// WantsPaths reports whether the rule may ask where a path leads.
func (r *Rule) WantsPaths() bool { return r.paths }
