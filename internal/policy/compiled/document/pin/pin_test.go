package pin

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"paddock"
)

var (
	someDigest = paddock.Digest("sha256:" + strings.Repeat("a1", 32))
	numeric    = paddock.Digest("sha256:" + strings.Repeat("1", 64))
	floating   = paddock.Digest("sha256:" + strings.Repeat("1", 30) + "e" + strings.Repeat("3", 33))
)

func TestPinChangesNothingElse(t *testing.T) {
	t.Parallel()
	const head = "# a policy\nversion: 1\nroots: [{path: /srv/ü}]   # here\nexecutables:\n"
	d := strings.TrimPrefix(string(someDigest), "sha256:")
	old := strings.Repeat("B0", 32)
	const agent = "delegates: {providers: {w: {path: /w}}}\n"
	for _, c := range []struct{ name, before, after string }{
		{"a block", "  - name: go\n    # where it is\n    path: /x # the one\n    args: any\n", "  - name: go\n    # where it is\n    path: /x # the one\n    sha256: " + d + "\n    args: any\n"},
		{"path first", "  - path: /x\n    args: any\n", "  - path: /x\n    sha256: " + d + "\n    args: any\n"},
		{"no line end", "  - args: any\n    path: /x", "  - args: any\n    path: /x\n    sha256: " + d},
		{"Windows lines", "  - path: /x\r\n    args: any\r\n", "  - path: /x\r\n    sha256: " + d + "\r\n    args: any\r\n"},
		{"a flow", "  - {path: /x, args: any}\n", "  - {path: /x, sha256: " + d + ", args: any}\n"},
		{"a quoted flow after letters", "  - {name: a, args: [{deny: [ü, ...], message: \"é\"}], path: '/x'}\n", "  - {name: a, args: [{deny: [ü, ...], message: \"é\"}], path: '/x', sha256: " + d + "}\n"},
		{"an old one", "  - path: /x\n    sha256:   " + old + "  # by hand\n    args: any\n", "  - path: /x\n    sha256:   " + d + "  # by hand\n    args: any\n"},
		{"an old one with its kind", "  - {path: /x, sha256: 'sha256:" + old + "', args: any}\n", "  - {path: /x, sha256: '" + d + "', args: any}\n"},
		{"one of several", "  - {path: /y, args: any}\n  - {path: /x, args: any}\n", "  - {path: /y, args: any}\n  - {path: /x, sha256: " + d + ", args: any}\n"},
		{"git in a flow", "  []\ngit: {executable: /x, roots: [.]}\n", "  []\ngit: {executable: /x, sha256: " + d + ", roots: [.]}\n"},
		{"git in a block", "  []\ngit:\n  roots: [.]\n  executable: '/x' # reads\n", "  []\ngit:\n  roots: [.]\n  executable: '/x' # reads\n  sha256: " + d + "\n"},
		{"git's old one", "  []\ngit:\n  sha256: " + old + "\n  executable: /x\n", "  []\ngit:\n  sha256: " + d + "\n  executable: /x\n"},
		{"git as a program, too", "  - {path: /x, args: any}\ngit: {executable: /x}\n", "  - {path: /x, sha256: " + d + ", args: any}\ngit: {executable: /x, sha256: " + d + "}\n"},
		{"an agent in a flow", "  []\ndelegates: {providers: {w: {path: /x}}}\n", "  []\ndelegates: {providers: {w: {path: /x, sha256: " + d + "}}}\n"},
		{"an agent in a block", "  []\ndelegates:\n  providers:\n    w:\n      path: /x\n      args: [a]\n", "  []\ndelegates:\n  providers:\n    w:\n      path: /x\n      sha256: " + d + "\n      args: [a]\n"},
		{"an agent's old one", "  []\ndelegates:\n  providers:\n    w: {path: /x, sha256: " + old + "}\n", "  []\ndelegates:\n  providers:\n    w: {path: /x, sha256: " + d + "}\n"},
		{"who says a secret, in a flow", "  []\nsecrets: {A: {exec: [/x, b], env_for: [w]}}\n" + agent, "  []\nsecrets: {A: {sha256: " + d + ", exec: [/x, b], env_for: [w]}}\n" + agent},
		{"who says a secret, in a block", "  []\nsecrets:\n  A:\n    env_for: [w]\n    # asks\n    exec:\n      - /x # it\n      - b\n    cache: 1m\n" + agent, "  []\nsecrets:\n  A:\n    env_for: [w]\n    # asks\n    sha256: " + d + "\n    exec:\n      - /x # it\n      - b\n    cache: 1m\n" + agent},
		{"who says a secret, in Windows lines", "  []\nsecrets:\r\n  A:\r\n    exec: [/x]\r\n    env_for: [w]\r\n" + agent, "  []\nsecrets:\r\n  A:\r\n    sha256: " + d + "\r\n    exec: [/x]\r\n    env_for: [w]\r\n" + agent},
		{"who says two secrets, of which one is pinned", "  []\nsecrets:\n  A: {exec: [/x], sha256: '" + old + "', env_for: [w]}\n  B: {exec: [/x, b], env_for: [w]}\n" + agent, "  []\nsecrets:\n  A: {exec: [/x], sha256: '" + d + "', env_for: [w]}\n  B: {sha256: " + d + ", exec: [/x, b], env_for: [w]}\n" + agent},
		{"a file's secret", "  - {path: /x, args: any}\nsecrets: {A: {file: /k, env_for: [w]}}\n" + agent, "  - {path: /x, sha256: " + d + ", args: any}\nsecrets: {A: {file: /k, env_for: [w]}}\n" + agent},
		{"what it is already", "  - {path: /x, args: any, sha256: " + strings.ToUpper(d) + "}\n", "  - {path: /x, args: any, sha256: " + strings.ToUpper(d) + "}\n"},
	} {
		got, err := Write([]byte(head+c.before), map[string]paddock.Digest{"/x": someDigest})
		if err != nil || string(got) != head+c.after {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.name, err, got, head+c.after)
		}
	}
}

// Digits alone would be a number, and a policy doesn't take one for a text.
func TestPinQuotesWhatWouldBeANumber(t *testing.T) {
	t.Parallel()
	const text = "version: 1\nroots: [{path: /r}]\nexecutables:\n- path: /x\n  args: any\n- {path: /z, sha256: " + "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc" + ", args: any}\n"
	for _, d := range []paddock.Digest{numeric, floating} {
		got, err := Write([]byte(text), map[string]paddock.Digest{"/x": d, "/z": d})
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(got), `sha256: "`+strings.TrimPrefix(string(d), "sha256:")+`"`); n != 2 {
			t.Errorf("%d of 2 are quoted:\n%s", n, got)
		}
	}
}

func TestPinRefusesWhatItCannotChange(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a fault":                                "version: 2\n",
		"a folded path":                          "version: 1\nroots: [{path: /r}]\nexecutables:\n- args: any\n  path: >-\n    /x\n",
		"an escape":                              "version: 1\nroots: [{path: /r}]\nexecutables:\n- args: any\n  path: \"\\x2fx\"\n",
		"a secret's program whose key is marked": "version: 1\nroots: [{path: /r}]\nexecutables: [{name: w, path: /w, args: any}]\nsecrets:\n  A:\n    ? exec\n    : [/x]\n    env_for: [w]\n",
		"a literal text":                         "version: 1\nroots: [{path: /r}]\nexecutables:\n- args: any\n  path: |-\n    /x\n",
	} {
		got, err := Write([]byte(text), map[string]paddock.Digest{"/x": someDigest})
		if err == nil && name != "a literal text" {
			t.Errorf("%s:\n%s", name, got)
		}
		if err == nil && onlyPinned([]byte(text), got, map[string]paddock.Digest{"/x": someDigest}) != nil {
			t.Errorf("%s became another policy:\n%s", name, got)
		}
	}
}

// Whatever the layout, a policy that was pinned says the same and holds the pin.
func TestPinnedPolicySaysTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		b.WriteString("version: 1\nroots: [{path: /r}]\nexecutables:\n")
		quote := rapid.SampledFrom([]string{"", "'", `"`})
		for range rapid.IntRange(1, 4).Draw(t, "executables") {
			path := quote.Draw(t, "quote")
			path += rapid.SampledFrom([]string{"/x", "/y", "/ü/z"}).Draw(t, "path") + path
			keys := rapid.Permutation([]string{"path: " + path, "args: any", "max_args: 3"}).Draw(t, "keys")
			if rapid.Bool().Draw(t, "flow") {
				b.WriteString("- {" + strings.Join(keys, ", ") + "} # c\n")
			} else {
				b.WriteString("-   " + strings.Join(keys, " # c\n    # d\n    ") + "\n")
			}
		}
		pins := map[string]paddock.Digest{"/x": someDigest, "/ü/z": rapid.SampledFrom([]paddock.Digest{numeric, floating}).Draw(t, "pin")}
		got, err := Write([]byte(b.String()), pins)
		if err != nil {
			t.Fatalf("%v\n%s", err, b.String())
		}
		again, err := Write(got, pins)
		if err != nil || string(again) != string(got) {
			t.Fatalf("pinned again: %v\n%s\n%s", err, got, again)
		}
	})
}
