package migrate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Claude reads the permissions of a settings.json of Claude Code.
func Claude(data []byte) (*Import, error) {
	if len(data) > most || !utf8.Valid(data) {
		return nil, fmt.Errorf("not a settings file: want at most %d bytes of UTF-8", most)
	}
	top, err := members(data)
	if err != nil {
		return nil, fmt.Errorf("not a settings file: %w", err)
	}
	p := map[string]json.RawMessage{}
	if given(top["permissions"]) {
		if p, err = members(top["permissions"]); err != nil {
			return nil, fmt.Errorf("not a settings file: permissions: %w", err)
		}
	}
	m := &Import{paths: map[string]string{}}
	for _, e := range []effect{allow, ask, deny} {
		m.list(e, p[string(e)])
	}
	for _, known := range []string{"allow", "ask", "deny"} {
		for _, key := range slices.Sorted(maps.Keys(p)) {
			if key != known && strings.EqualFold(key, known) {
				m.note("permissions.%s is left out: the key is %s, and Claude Code doesn't know another", key, known)
			}
		}
	}
	if given(p["defaultMode"]) {
		m.note("defaultMode %.40s has no counterpart: what isn't allowed is refused", strings.Trim(string(p["defaultMode"]), `"`))
	}
	if given(p["additionalDirectories"]) {
		m.note("additionalDirectories is left out: list them under roots, or under read and write of containment")
	}
	return m, nil
}

// list takes the rules of one effect. One that is no rule is left out, with all that it
// may be about.
func (m *Import) list(e effect, data json.RawMessage) {
	if !given(data) {
		return
	}
	var rules []json.RawMessage
	if json.Unmarshal(data, &rules) != nil {
		m.left(line{effect: e, said: string(e)}, "it isn't a list")
		return
	}
	for i, one := range rules {
		var rule string
		if !strings.HasPrefix(string(one), `"`) || json.Unmarshal(one, &rule) != nil {
			m.left(line{effect: e, said: fmt.Sprintf("rule %d of %s", i+1, e)}, "it isn't a text")
			continue
		}
		m.claude(e, rule)
	}
}

// given reports whether a key has a value.
func given(data json.RawMessage) bool { return len(data) > 0 && string(data) != "null" }

// members are the keys of an object, letter by letter, as Claude Code reads them. One that
// has a key twice is refused: readers differ on which counts. What is deeper isn't looked at.
func members(data []byte) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("want an object")
	}
	out := map[string]json.RawMessage{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		k := fmt.Sprint(key)
		for known := range out {
			if strings.EqualFold(known, k) {
				return nil, fmt.Errorf("the key %q is there twice", k)
			}
		}
		out[k] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows it")
	}
	return out, nil
}

// shellish are characters by which a shell line is more than its words.
const shellish = "|&;<>()$`\\\"'*?[]#~!{}\n\r\t"

// claude takes one rule.
func (m *Import) claude(e effect, said string) {
	l := line{effect: e, said: string(e) + " " + said}
	inner, ok := strings.CutPrefix(said, "Bash(")
	if said == "Bash" {
		inner, ok = "*)", true
	}
	if !ok || !strings.HasSuffix(inner, ")") {
		m.note("%s is left out: it isn't about commands", l.said)
		return
	}
	inner = strings.TrimSpace(strings.TrimSuffix(inner, ")"))
	switch {
	case strings.HasSuffix(inner, ":*"):
		inner, l.more, l.loose = strings.TrimSuffix(inner, ":*"), true, true
	case strings.HasSuffix(inner, " *"):
		// To refuse, the line without more counts, too.
		inner, l.more, l.needs = strings.TrimSuffix(inner, " *"), true, e == allow
	case strings.HasSuffix(inner, "*"):
		inner, l.more, l.loose = strings.TrimSuffix(inner, "*"), true, true
	}
	words := strings.Split(inner, " ")
	if program := words[0]; program != "" && !strings.ContainsAny(program, shellish+"=") {
		l.words = [][]string{{program}}
	}
	switch {
	case l.words == nil:
		m.left(l, "it isn't about one program")
		return
	case strings.ContainsAny(inner, shellish):
		m.left(l, "it is a line for a shell")
		return
	case strings.Contains(inner, "  ") || strings.HasSuffix(inner, " "):
		m.left(l, "its words can't be told")
		return
	}
	for _, w := range words[1:] {
		l.words = append(l.words, []string{w})
	}
	if e == allow && l.loose {
		m.note("%s allows whole words only: what goes on within its last word is refused", l.said)
	}
	if l.needs {
		m.note("%s allows no flag and no absolute path as its first further word", l.said)
	}
	m.add(l)
}
