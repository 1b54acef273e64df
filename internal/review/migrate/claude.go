package migrate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Claude reads the permissions of a settings.json of Claude Code.
func Claude(data []byte) (*Import, error) {
	if len(data) > most || !utf8.Valid(data) {
		return nil, fmt.Errorf("not a settings file: want at most %d bytes of UTF-8", most)
	}
	if err := unique(data); err != nil {
		return nil, err
	}
	var file struct {
		Permissions struct {
			Allow       []string `json:"allow"`
			Ask         []string `json:"ask"`
			Deny        []string `json:"deny"`
			DefaultMode string   `json:"defaultMode"`
			Directories []string `json:"additionalDirectories"`
		} `json:"permissions"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("not a settings file: %w", err)
	}
	m := &Import{paths: map[string]string{}}
	p := file.Permissions
	for _, list := range []struct {
		effect effect
		rules  []string
	}{{allow, p.Allow}, {ask, p.Ask}, {deny, p.Deny}} {
		for _, rule := range list.rules {
			m.claude(list.effect, rule)
		}
	}
	if p.DefaultMode != "" {
		m.note("defaultMode %s has no counterpart: what isn't allowed is refused", p.DefaultMode)
	}
	if len(p.Directories) > 0 {
		m.note("additionalDirectories is left out: list them under roots, or under read and write of containment")
	}
	return m, nil
}

// unique refuses objects that have a key twice: readers differ on which counts.
func unique(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	var walk func() error
	walk = func() error {
		t, err := d.Token()
		if err != nil {
			return err
		}
		delim, ok := t.(json.Delim)
		if !ok {
			return nil
		}
		seen := map[string]bool{}
		for d.More() {
			if delim == '{' {
				key, err := d.Token()
				if err != nil {
					return err
				}
				k := strings.ToLower(fmt.Sprint(key)) // the reader of settings here doesn't mind case
				if seen[k] {
					return fmt.Errorf("the key %q is there twice", key)
				}
				seen[k] = true
			}
			if err := walk(); err != nil {
				return err
			}
		}
		_, err = d.Token()
		return err
	}
	if err := walk(); err != nil {
		return fmt.Errorf("not a settings file: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("not a settings file: something follows it")
	}
	return nil
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
