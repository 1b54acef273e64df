package asking_test

import (
	"maps"
	"strings"
	"testing"

	"paddock/internal/policy/compiled/layered"
	"paddock/internal/policy/compiled/layered/asking"
)

const (
	base = `version: 1
roots: [{path: /a, narrow: {rules: [{name: here, ask: "true", message: Not here without Ben.}]}}]
executables: [{name: go, path: /bin/go, args: any}]
containment: {require: off}
rules:
  - {name: push, ask: "true", message: "Somebody reads the diff.\n# floor 1 bytes of \"x\""}
  - {name: mute, ask: "true"}
  - {name: never, deny: "true", message: No.}
`
	narrower = "version: 1\nextends: base.yaml\nrules: [{name: push, ask: 'true', message: Ask Ann first.}]\n"
	floor    = "version: 1\nrules: [{name: all, ask: 'true', message: The machine asks.}]\n"
)

func TestOf(t *testing.T) {
	t.Parallel()
	own := "Somebody reads the diff.\n# floor 1 bytes of \"x\""
	extended := []layered.Source{{Name: "base.yaml", Data: []byte(base)}, {Name: "the \"floor\"\n", Data: []byte(floor), Floor: true}}
	for name, c := range map[string]struct {
		text []byte
		want asking.Words
	}{
		"alone":                                 {layered.Bundle("p", []byte(base)), asking.Words{"here": "Not here without Ben.", "push": own, "mute": ""}},
		"bundle":                                {layered.Bundle("p", []byte(narrower), extended...), asking.Words{"here": "Not here without Ben.", "push": "Ask Ann first. / " + own, "mute": "", "all": "The machine asks."}},
		"no rules, and what looks like several": {[]byte("# paddock policy bundle 1\nversion: 1\nroots: [{path: /a}]\nexecutables: [{name: go, path: /bin/go, args: any}]\ncontainment: {require: off}\n"), asking.Words{}},
	} {
		got, err := asking.Of(c.text)
		if err != nil || !maps.Equal(got, c.want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestOfWhatIsNoPolicy(t *testing.T) {
	t.Parallel()
	whole := string(layered.Bundle("p", []byte(narrower), layered.Source{Name: "base.yaml", Data: []byte(base)}))
	for _, text := range []string{
		"", "\x00", "\xff\xfe", "[]", "version: 1\nrules: 7\n", whole[:len(whole)/2],
		strings.Replace(whole, " bytes of", "0 bytes of", 1), strings.Replace(whole, "# policy ", "# policy -", 1),
		strings.Replace(whole, "# policy ", "# policy 99999999999999999999", 1),
		strings.Replace(whole, "rules: [{name: push, ask: 'true'", "rules: [{name: push, ask: 7, ask: 8", 1),
	} {
		if got, err := asking.Of([]byte(text)); err == nil {
			t.Errorf("%.60q says %v", text, got)
		}
	}
}
