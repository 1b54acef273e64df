package migrate_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"paddock"
	"paddock/internal/review/migrate"
)

// What is left out of a source, and what that takes with it.
type left struct {
	rule string
	note string // what is said of it
	// git says what becomes of `git log`, which another rule of the file allows: it is
	// refused where the rule may be about git and isn't one that allows. So is `make`
	// where it may be about anything.
	git, make_ bool
}

// check holds the rest of a file to what one rule of it takes with it.
func (l left) check(t *testing.T, m *migrate.Import, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%.200s: the whole file is refused: %v", l.rule, err)
		return
	}
	text := m.Policy("/w", find)
	for command, allowed := range map[string]bool{"git log": l.git, "make": l.make_} {
		if got := judged(t, text, strings.Fields(command)) == paddock.Allow; got != allowed {
			t.Errorf("%.200s: %s is allowed: %v, want %v", l.rule, command, got, allowed)
		}
	}
	if !slices.ContainsFunc(m.Notes, func(n string) bool { return strings.Contains(n, l.note) }) {
		t.Errorf("%.200s: no note says %q: %q", l.rule, l.note, m.Notes)
	}
}

// One rule that can't be said doesn't keep the others out, and what it may refuse isn't allowed.
func TestCodexLeavesOneRuleOut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 9000)
	for _, l := range []left{
		{`prefix_rule(pattern=["git", "commit", "-m", "a\nb"], decision="allow")`, "the rule at line 3 is left out: a word of it has a line break", true, true},
		{`prefix_rule(pattern=["git", "a\nb"], decision="forbidden")`, "a word of it has a line break, and no command with one is run; so nothing of git is allowed", false, true},
		{`prefix_rule(pattern=["git", ["a\tb"]], decision="prompt")`, "a control character", false, true},
		{`prefix_rule(pattern=["git", ""])`, "a word of it is empty", true, true},
		{`prefix_rule(pattern=["git", ["a,b", "c"]])`, "can't stand beside others", true, true},
		{`prefix_rule(pattern=["git", "` + long + `"], decision="prompt")`, "nothing of git is allowed", false, true},
		{`prefix_rule(pattern=["git", "\q"])`, "its pattern isn't all literal words", true, true},
		{`prefix_rule(pattern=["git", "\xff"], decision="forbidden")`, "its pattern isn't all literal words", false, true},
		{`prefix_rule(pattern=["git", f"{x}"])`, "its pattern isn't all literal words", true, true},
		{`prefix_rule(pattern=["git", b"x"])`, "its pattern isn't all literal words", true, true},
		{`prefix_rule(pattern=["git", [["x"]]])`, "its pattern isn't all literal words", true, true},
		{`prefix_rule(pattern=["git", []], decision="forbidden")`, "its pattern isn't all literal words", false, true},
		{`prefix_rule(pattern=["git", X])`, "its pattern isn't all literal words", true, true},
		{`prefix_rule(pattern=[X, "log"], decision="forbidden")`, "so nothing is allowed", false, false},
		{`prefix_rule(pattern=[X, "log"])`, "its pattern isn't all literal words", true, true},
		{`prefix_rule(pattern=["git"] + X, decision="prompt")`, "so nothing is allowed", false, false},
		{`prefix_rule(pattern=["git", "x"], decision=X)`, "so nothing of git is allowed", false, true},
		{`prefix_rule(pattern=["git", "x"], decision="maybe")`, `the decision "maybe" isn't known; so nothing of git is allowed`, false, true},
		{`prefix_rule(pattern=["git", "x"], unless="y")`, "the argument unless isn't known", true, true},
		{`prefix_rule(pattern=["git", "x"], unless="y", decision="prompt")`, "so nothing of git is allowed", false, true},
		{`prefix_rule(pattern=["git"], pattern=["git"])`, "pattern is given twice; so nothing is allowed", false, false},
		{`prefix_rule(**rule)`, "its arguments aren't all written there; so nothing is allowed", false, false},
		{`prefix_rule(decision="forbidden", ["git"])`, "behind those with one; so nothing is allowed", false, false},
		{`prefix_rule()`, "it has no pattern of literal words", true, true},
		{`prefix_rule(pattern=[], decision="forbidden")`, "so nothing is allowed", false, false},
		{`prefix_rule(pattern=[""], decision="forbidden")`, "so nothing is allowed", false, false},
		{`prefix_rule(pattern="git", decision="forbidden")`, "so nothing is allowed", false, false},
		{`prefix_rule(pattern=["x"], justification=why(prefix_rule(["git"], "forbidden")))`, "may make rules itself; so nothing is allowed", false, false},
		{`other_rule(pattern=["git", "x"], decision="forbidden")`, "other_rule isn't known; so nothing of git is allowed", false, true},
		{`other_rule(pattern=["git", "x"], decision="allow")`, "other_rule at line 3 is left out: other_rule isn't known", true, true},
		{`other_rule(x=1)`, "so nothing is allowed", false, false},
		{`network_rule(host=X)`, "the network_rule at line 3", true, true},
		{`host_executable(name=X, paths=["/usr/bin/git"])`, "which program it is about can't be told; so nothing is allowed", false, false},
		{`host_executable(name="git", paths=X)`, "so nothing of git is allowed", false, true},
		{`host_executable(name="git")`, "so nothing of git is allowed", false, true},
		{`host_executable(name="git", paths=["bin/git"])`, "one absolute path", false, true},
		{`host_executable(name="git", paths=["/bin/sh"])`, "its file has another name; so nothing of git is allowed", false, true},
		{`host_executable(name="git", paths=["/bin/git"]); host_executable(name="git", paths=["/usr/bin/git"])`, "another one has another file", false, true},
	} {
		m, err := migrate.Codex([]byte("prefix_rule(pattern=['git', 'log'])\n\n" + l.rule + "\nprefix_rule(pattern=['make'])\n"))
		l.check(t, m, err)
	}
}

// What Starlark has of ways to write words is understood.
func TestCodexWords(t *testing.T) {
	t.Parallel()
	for rule, command := range map[string]string{
		`prefix_rule(["tool", "a"], "allow")`:                                "tool a",
		`prefix_rule(pattern=["""tool""", '''a"b'''])`:                       `tool a"b`,
		`prefix_rule(pattern=["tool", r"\d\n"])`:                             `tool \d\n`,
		`prefix_rule(pattern=["tool", "\u00e9\x41\U0001F600\\\"\'"])`:        `tool éA😀\"'`,
		"prefix_rule(pattern=[\"tool\", \"a\\\nb\"])":                        "tool ab",
		"T = 'tool'; A = [\"x\", \"a\"]\nprefix_rule(pattern=[T, A])":        "tool a",
		"\"\"\"What this\nis for.\"\"\"\nprefix_rule(pattern=['tool', 'a'])": "tool a",
		"prefix_rule(\\\npattern=['tool', # )]\n'a',\n],\n)  # end":          "tool a",
	} {
		m, err := migrate.Codex([]byte(rule))
		if err != nil {
			t.Errorf("%s: %v", rule, err)
			continue
		}
		text := m.Policy("/w", find)
		if judged(t, text, strings.Fields(command)) != paddock.Allow || judged(t, text, []string{"tool", "other"}) == paddock.Allow || len(m.Notes) > 0 {
			t.Errorf("%s: %q\n%s", rule, m.Notes, text)
		}
	}
}

func TestClaudeLeavesOneRuleOut(t *testing.T) {
	t.Parallel()
	long, _ := json.Marshal("Bash(git " + strings.Repeat("é.", 600) + "*)")
	for _, l := range []left{
		{`"allow": [1, {}, null, "Bash(git log)", "Bash(make)"]`, "rule 1 of allow is left out: it isn't a text", true, true},
		{`"deny": [7]`, "rule 1 of deny can't be said here: it isn't a text; so nothing is allowed", false, false},
		{`"ask": "Bash(git push)"`, "ask can't be said here: it isn't a list; so nothing is allowed", false, false},
		{`"deny": [` + string(long) + `]`, "at most 1000 bytes; so nothing of git is allowed", false, true},
		{`"deny": ["Bash(git a\nb)"]`, "it is a line for a shell; so nothing of git is allowed", false, true},
		{`"deny": ["Bash(git \u0001)"]`, "a control character; so nothing of git is allowed", false, true},
		{`"Deny": ["Bash(git log)"]`, "permissions.Deny is left out: the key is deny", true, true},
		{`"defaultMode": 1, "additionalDirectories": "x"`, "defaultMode 1", true, true},
	} {
		rules := l.rule
		if !strings.Contains(rules, `"allow"`) {
			rules += `, "allow": ["Bash(git log)", "Bash(make)"]`
		}
		m, err := migrate.Claude([]byte(`{"env": {"HTTP_PROXY": "x", "http_proxy": "y", "a": 1, "a": 2}, "permissions": {` + rules + `}}`))
		l.check(t, m, err)
	}
}

// Whatever a file of Codex has, and however broken one rule of it is, nothing is allowed
// that its strictest rule for a command doesn't allow.
func TestCodexNeverWider(t *testing.T) {
	t.Parallel()
	word := rapid.SampledFrom([]string{"git", "push", "log", "-f", "x", "a,b", "a\nb", ""})
	type one struct {
		pattern  [][]string
		decision string
	}
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		var rules []one
		for range rapid.IntRange(0, 5).Draw(t, "rules") {
			r := one{
				pattern:  rapid.SliceOfN(rapid.SliceOfN(word, 1, 2), 1, 3).Draw(t, "pattern"),
				decision: rapid.SampledFrom([]string{"allow", "allow", "prompt", "forbidden"}).Draw(t, "decision"),
			}
			pattern, _ := json.Marshal(r.pattern)
			fmt.Fprintf(&text, "prefix_rule(pattern=%s, decision=%q%s)\n", pattern, r.decision, rapid.SampledFrom([]string{"", "", "", ", unless='x'", ", match=[f()]", ", decision='allow'", ", **more"}).Draw(t, "more"))
			rules = append(rules, r)
		}
		m, err := migrate.Codex([]byte(text.String()))
		if err != nil {
			t.Fatalf("%v\n%s", err, text.String())
		}
		argv := append([]string{"git"}, rapid.SliceOfN(word, 0, 3).Draw(t, "argv")...)
		policy := m.Policy("/w", find)
		if judged(t, policy, argv) != paddock.Allow {
			return
		}
		allowed := false
		for _, r := range rules {
			matches := len(argv) >= len(r.pattern)
			for i := 0; matches && i < len(r.pattern); i++ {
				matches = slices.Contains(r.pattern[i], argv[i])
			}
			if matches && r.decision != "allow" {
				t.Fatalf("%q is allowed, and a rule says %s:\n%s\n%s", argv, r.decision, text.String(), policy)
			}
			allowed = allowed || matches
		}
		if !allowed {
			t.Fatalf("%q is allowed by nobody:\n%s\n%s", argv, text.String(), policy)
		}
	})
}
