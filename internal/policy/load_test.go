package policy_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"paddock"
	"paddock/internal/policy"
)

const head = "version: 1\nroots: [{path: /srv}]\n"

// exe makes a policy with one executable; its lines begin at line 4.
func exe(lines ...string) string {
	return head + "executables:\n  - " + strings.Join(append([]string{"path: /bin/x"}, lines...), "\n    ") + "\n"
}

func TestLoadFaults(t *testing.T) {
	tests := []struct {
		name string
		text string
		want []string // each begins with line:column: and holds these words
	}{
		{"empty", "", []string{"1:1: the file is empty"}},
		{"only comments", "# nothing\n", []string{"1:1: the file is empty"}},
		{"null", "~\n", []string{"1:1: want a mapping"}},
		{"a list", "[]\n", []string{"1:1: want a mapping"}},
		{"not YAML", "version: [", []string{"not YAML"}},
		{"a tab", "version: 1\nroots:\n\t- path: /a\n", []string{"3:1: not YAML: found character that cannot start any token (is this a tab"}},
		{"not UTF-8", "version: 1 # \xff\n", []string{"1:14: not valid UTF-8"}},
		{"UTF-16", "\xff\xfev\x00e\x00", []string{"1:1: not valid UTF-8"}},
		{"too long", head + "executables: []\n#" + strings.Repeat("x", 1<<20), []string{"1:1: the file has"}},
		{"second document", head + "executables: []\n---\nversion: 1\n", []string{"4:1: a second document"}},
		{"empty second document", head + "executables: []\n---\n", []string{"4:1: a second document"}},
		{"broken second document", head + "executables: []\n---\n[", []string{"not YAML"}},
		{"nothing required", "{}\n", []string{"`version` is missing", "`roots` is missing", "`executables` is missing"}},
		{"version 2", "version: 2\nroots: [{path: /}]\nexecutables: []\n", []string{"1:10: want the number 1, not `2`"}},
		{"version in quotes", "version: '1'\nroots: [{path: /}]\nexecutables: []\n", []string{"1:10: want the number 1"}},
		{"no roots", "version: 1\nroots: []\nexecutables: []\n", []string{"2:8: want a list of at least one item"}},
		{"null roots", "version: 1\nroots:\nexecutables: []\n", []string{"want a list of at least one item, not nothing (null)"}},
		{"roots", "version: 1\nroots: [{path: srv}, {path: /a/../b}, {path: /a/}, {path: /ok}, {path: /ok}, {}]\nexecutables: []\n", []string{
			"2:16: want an absolute path", "2:29: write this path as /b", "2:46: write this path as /a ", "2:72: this root is listed before", "2:78: `path` is missing",
		}},
		{"misspelt", head + "exectuables: []\nexecutables: []\n", []string{"3:1: unknown key `exectuables`; did you mean `executables`?"}},
		{"unknown", head + "executables: []\nfoo: 1\n", []string{"4:1: unknown key `foo`; the keys here are `version`, `extends`, `roots`"}},
		{"unknown in Unicode", head + "executables: []\n\"a\\x1b\": 1\n", []string{"4:1: unknown key `a\uFFFD`"}},
		{"keys twice at every level", "version: 1\nversion: 1\nroots: [{path: /a, path: /b}]\nexecutables:\n- {path: /x, args: [{allow: [], flags: {-v: none, -v: none}}], environment: {set: {A: 1, A: 2}}}\n", []string{
			"2:1: `version` is given twice; the first is on line 1", "3:20: `path` is given twice", "5:51: `-v` is given twice", "5:90: `A` is given twice",
		}},
		{"anchors and aliases", head + "executables: &e []\nrules: *e\n", []string{"3:14: an anchor (`&e`)", "4:8: an alias (`*e`)"}},
		{"merge key", head + "executables: []\nlimits: {<<: {timeout: 1s}}\n", []string{"4:10: a merge key"}},
		{"tag", head + "executables: []\nlimits: {timeout: !!str 1s, output: !mine 5}\n", []string{"4:19: a tag (`!!str`)", "4:37: a tag (`!mine`)"}},
		{"odd keys", head + "executables: []\n? [a]\n: 1\n~: 2\n", []string{"a key must be a word, not a list", "a key must be a word, not nothing"}},
		{"later sections", head + "executables: []\nlaunch: {engines: true}\nagents: {}\npty: {}\n", []string{
			"4:10: `engines` (", "5:1: `agents` (", "6:1: unknown key `pty`",
		}},
		{"git without a program", head + "executables: []\ngit: {roots: [.]}\n", []string{"4:6: `executable` is missing"}},
		{"git elsewhere", head + "executables: []\ngit: {executable: git, roots: [.., /elsewhere, a, a, 5], shell: x}\n", []string{
			"4:19: want an absolute path", "4:51: this root is listed before", "4:54: want a path", "4:58: unknown key `shell`",
		}},
		{"repositories elsewhere", head + "executables: []\ngit: {executable: /g, roots: [.., /elsewhere, a/../../b, a]}\n", []string{
			"4:31: this repository isn't inside of a root", "4:35: this repository isn't inside of a root", "4:47: this repository isn't inside of a root",
		}},
		{"repositories of no root", head + "executables: []\ngit: {executable: /g, roots: [a/b, a/c], repositories: [a, /elsewhere, a/b, a/bb, .., a, 5, '']}\n", []string{
			"4:60: no root of the git tools lies below", "4:72: no root of the git tools lies below", "4:77: no root of the git tools lies below", "4:87: this repository is listed before", "4:90: want a path", "4:93: want a path",
		}},
		{"what is kept", head + "executables: []\nretention: {age: 0s, runs: 0, size: 0, records: soon, days: 3}\n", []string{"4:18: ", "4:28: ", "4:37: want a size", "4:49: want a duration", "4:55: unknown key `days`"}},
		{"later keys", head + "executables: [{path: /x, args: any, network: []}]\nlimits: {disk: 1, file_size: 0}\ncontainment: {read: [/a], write: [], exec: x, workspace: overlay, require: off, network: none}\n", []string{
			"3:46: nothing holds a program to this list", "4:30: want a size",
			"5:21: `require: off` contains nothing, so `read`", "5:34: `require: off` contains nothing, so `write`", "5:44: want `any` or `listed`", "5:58: `overlay` needs `require: full`", "5:90: `require: off` contains nothing: the network is `host`",
		}},
		{"an unknown workspace", head + "executables: []\ncontainment: {workspace: copy}\n", []string{"4:26: want `direct` or `overlay`, not `copy`"}},
		{"listed where nothing is contained", head + "executables: []\ncontainment: {require: off, network: host, exec: listed}\n", []string{"4:50: `require: off` contains nothing, so `listed`"}},
		{"a list beside any", head + "executables: []\ncontainment: {exec: any, exec_also: [/usr/libexec]}\n", []string{"4:38: everything may be executed unless `exec: listed`"}},
		{"a list without entries", head + "executables: []\ncontainment: {exec: listed, exec_also: []}\n", []string{"4:40: want a list of at least one item"}},
		{"a list of what programs write", head + "executables: []\ncontainment: {exec: listed, write: [/var/cache/x], exec_also: [/, /tmp, /var/tmp/a, /dev/shm, /var/cache, /var/cache/x/y, relative, /a/, /usr/lib/git-core]}\n", []string{
			"4:64: programs may write in ", "4:67: programs may write in /tmp", "4:73: programs may write in /var/tmp", "4:85: programs may write in /dev/shm",
			"4:95: programs may write in /var/cache/x", "4:107: programs may write in /var/cache/x", "4:123: want an absolute path", "4:133: write this path as /a",
		}},
		{"copy-on-write at standard", head + "executables: []\ncontainment: {workspace: overlay, require: standard}\n", []string{"4:26: `overlay` needs `require: full`"}},
		{"an unknown network", head + "executables: []\ncontainment: {network: some}\n", []string{"4:24: want `none`, `allowlist` or `host`, not `some`"}},
		{"an allowlist at standard", head + "executables: []\ncontainment: {network: allowlist, require: standard}\n", []string{"4:24: `allowlist` needs `require: full`"}},
		{"proxy variables of others", head + "executables: []\nenvironment: {set: {https_proxy: x}, pass: [NO_PROXY]}\ncontainment: {network: allowlist}\n", []string{"4:21: `https_proxy` leads to the run's own proxy", "4:45: `NO_PROXY` leads to the run's own proxy"}},
		{"an alias for a suffix", head + "executables: [{path: /x, args: any, network: [*.example.org:443]}]\ncontainment: {network: allowlist}\n", []string{"3:"}},
		{"places that can't be", head + "executables: [{path: /x, args: any, network: [localhost:1, a:65536, \"*.org:1\", 127.1:1, a:1, a:1]}]\ncontainment: {network: allowlist}\n", []string{
			"3:47: `localhost:1`: localhost is this machine", "3:60: `a:65536`: a port", "3:69: `*.org:1`: a suffix", "3:80: `127.1:1`: an IPv4", "3:94: this place is listed before",
		}},
		{"paths of containment", head + "executables: []\ncontainment: {read: [a, /b/../c, /d/], write: /e}\n", []string{
			"4:22: want an absolute path", "4:25: write this path as /c", "4:34: write this path as /d ", "4:47: want a list",
		}},
		{"accounts that can't be", head + "executables: []\ncontainment: {run_as: root}\n", []string{"4:23: root may do what nothing holds"}},
		{"root's number", head + "executables: []\ncontainment: {run_as: 0}\n", []string{"4:23: want a user's name, or uid or uid:gid in numbers, and not root's, not `0`"}},
		{"root's group", head + "executables: []\ncontainment: {run_as: '1000:0'}\n", []string{"4:23: want a user's name"}},
		{"nobody's number", head + "executables: []\ncontainment: {run_as: 4294967295}\n", []string{"4:23: 4294967295 is nobody's number: the highest is 4294967294"}},
		{"nobody's group", head + "executables: []\ncontainment: {run_as: '1:9999999999'}\n", []string{"4:23: 9999999999 is nobody's number"}},
		{"a negative account", head + "executables: []\ncontainment: {run_as: -1}\n", []string{"4:23: want a user's name"}},
		{"a fraction of an account", head + "executables: []\ncontainment: {run_as: 1.5}\n", []string{"4:23: want a user's name"}},
		{"an account that counts on", head + "executables: []\ncontainment: {run_as: 10000000000}\n", []string{"4:23: want a user's name"}},
		{"an account with a space", head + "executables: []\ncontainment: {run_as: a b}\n", []string{"4:23: want a user's name"}},
		{"an account with NUL", head + "executables: []\ncontainment: {run_as: \"a\\0b\"}\n", []string{"4:23: want a user's name"}},
		{"an account too long", head + "executables: []\ncontainment: {run_as: " + strings.Repeat("a", 33) + "}\n", []string{"4:23: want a user's name"}},
		{"an account of octal digits", head + "executables: []\ncontainment: {run_as: 012}\n", []string{"4:23: want a user's name"}},
		{"no account", head + "executables: []\ncontainment: {run_as: ''}\n", []string{"4:23: want a user's name"}},
		{"accounts in a list", head + "executables: []\ncontainment: {run_as: [a]}\n", []string{"4:23: want a user's name"}},
		{"an account that is a truth", head + "executables: []\ncontainment: {run_as: true}\n", []string{"4:23: want a user's name"}},
		{"containment level", head + "executables: []\ncontainment: {require: none}\n", []string{"4:24: want `full`, `standard` or `off`, not `none`"}},
		{"no args", exe(), []string{"4:5: `args` is missing: either `any`, or a list of rules"}},
		{"args", exe("args: all"), []string{"5:11: want `any` or a list of at least one item, not `all`"}},
		{"null args", exe("args:"), []string{"want `any` or a list"}},
		{"no rules", exe("args: []"), []string{"5:11: want a list of at least one item, not an empty one"}},
		{"allow and deny", exe("args: [{allow: [], deny: []}, {flags: {}}]"), []string{"5:12: want exactly one of `allow`, `deny`", "5:35: want exactly one of"}},
		{"message of an allow", exe("args: [{allow: [], message: x}]"), []string{"5:24: `message` makes sense only beside `deny`"}},
		{"a set without quotes", exe("args: [{allow: [{a,b}]}]"), []string{"5:21: want a word, not a mapping"}},
		{"null word", exe("args: [{allow: [~]}]"), []string{"5:21: want a word, not nothing"}},
		{"tokens", exe("args: [{allow: [<wrod>, '<re:(>', <int, '{a', '{a, b}', '{a,a}', '{}', --x=<int>, '<re:x', ..., a]}]"), []string{
			"5:21: unknown token `<wrod>`", "5:29: not an RE2 expression", "5:39: unknown token `<int`", "has no closing `}`",
			"an empty word or a space", "holds `a` twice", "an empty word", "would match only itself", "no closing `>`", "can only be the last token",
		}},
		{"flags", exe("args: [{allow: [-v], flags: {-v: none, --: none, v: none, -a=b: none, -c: <wrod>, -d: ...}}]"), []string{
			"5:34: `-v` is both a flag and the token `-v`", "want a flag such as", "want a flag such as", "want a flag such as", "unknown token", "any number of words",
		}},
		{"rests", exe("args: [{allow: ['<int>...'], rest: <word>...}, {allow: [], rest: ...}, {allow: [], rest: <word>}, {allow: [...], flags: {-v: none}}, {allow: [], rest: a...}]"), []string{
			"both stand for further words", "write `...` as the last token", "a rest ends with dots", "takes every flag already", "a rest ends with dots",
		}},
		{"names", exe("args: any", "name: a/b") + "  - {path: /y, args: any, name: 'a b'}\n  - {path: /z, args: any, name: 'a;b'}\n  - {path: /w, args: any, name: ''}\n  - {path: /v, args: any, name: 7}\n", []string{
			"6:11: want one word", "7:33: want one word", "8:33: want one word", "9:33: want one word", "10:33: want one word of letters, digits and . _ + - that begins with a letter, a digit or _, not the number `7`; put it in quotes",
		}},
		{"paths", head + "executables: [{path: bin/x, args: any}, {path: /a/./b, args: any}, {path: /, args: any}, {path: \"/a\\nb\", args: any}]\n", []string{
			"3:22: want an absolute path", "3:48: write this path as /a/b", "3:75: / is a directory", "want an absolute path",
		}},
		{"words twice", head + "executables: [{name: a, path: /a, args: any}, {name: a, path: /b, args: any}, {path: /c, args: any}, {path: /c, args: any}]\n", []string{
			"3:54: `a` is the word of another executable", "`/c` is the word of another",
		}},
		{"sha256", exe("args: any", "sha256: abc"), []string{"6:13: want 64 hexadecimal digits"}},
		{"bounds", exe("args: any", "max_args: 0", "max_arg_bytes: 128KiB", "line_breaks: yes", "pty: [24, 80]"), []string{
			"6:15: want a whole number from 1 to 65536, not `0`", "7:20: `128KiB` is more than the most that is possible, 131071 bytes", "8:18: want true or false, not `yes`", "9:10: want true or false, not a list",
		}},
		{"sizes", head + "executables: []\nlimits: {output: 0}\n", []string{"4:18: want a size"}},
		{"size units", head + "executables: []\nlimits: {output: 10MB}\n", []string{"4:18: want a size such as 4096, 64KiB or 10MiB, above zero, not `10MB`"}},
		{"size overflow", head + "executables: []\nlimits: {output: 9223372036854775807TiB}\n", []string{"4:18: `9223372036854775807TiB`: too large"}},
		{"size too large", head + "executables: []\nlimits: {output: 99999999999999999999}\n", []string{"4:18: "}},
		{"limits of the tree", head + "executables: [{path: /x, args: any, limits: {memory: 1GB, processes: 0, cpus: 0}}]\nlimits: {memory: -1, processes: 1.5, cpus: 1e3}\n", []string{
			"3:54: want a size", "3:70: want a whole number", "3:79: want a number from 0.01 to 65536, not `0`",
			"4:18: want a size", "4:33: want a whole number", "4:44: want a number from",
		}},
		{"hardly a number", head + "executables: []\nlimits: {cpus: .nan, memory: 9PiB}\n", []string{"4:16: want a number from", "4:30: want a size"}},
		{"no number", head + "executables: []\nlimits: {cpus: two, processes: many}\n", []string{"4:16: want a number from", "4:32: want a whole number"}},
		{"more memory than can be counted", head + "executables: []\nlimits: {memory: 4097TiB}\n", []string{"4:18: `4097TiB` is more than the most that is possible"}},
		{"octal size", head + "executables: []\nlimits: {output: 012}\n", []string{"4:18: want a size"}},
		{"durations", head + "executables: [{path: /x, args: any, limits: {timeout: 10}}]\nlimits: {timeout: -1s}\n", []string{"3:55: want a duration such as 90s", "4:19: want a duration"}},
		{"zero duration", head + "executables: []\nlimits: {timeout: 0s}\n", []string{"4:19: `0s`: want at least 1ms"}},
		{"days overflow", head + "executables: []\nlimits: {timeout: 999999999d}\n", []string{"too large"}},
		{"hours overflow", head + "executables: []\nlimits: {timeout: 99999999999999h}\n", []string{"too large"}},
		{"sum overflow", head + "executables: []\nlimits: {timeout: 50000d1300000h}\n", []string{"too large"}},
		{"numbers", head + "executables: []\nlimits: {open_files: 2, concurrent: 0x10}\n", []string{"4:22: want a whole number from 3", "4:37: want a whole number from 1 to 10000, not `0x10`"}},
		{"variables", head + "executables: []\nenvironment: {set: {1A: x, PWD: /, GITHUB_TOKEN: x}, pass: [DATABASE_URL, LANG, LANG, B-C], accept: {LD_PRELOAD: <word>, MY_SECRET: <word>, X: ..., Y: <wrod>, PATH: <word>}}\n", []string{
			"4:21: want a variable's name", "4:28: `PWD` is always", "4:36: `GITHUB_TOKEN` looks like a secret", "`DATABASE_URL` looks like a secret", "listed before", "want a variable's name",
			"`LD_PRELOAD` can change", "`MY_SECRET` looks like a secret", "any number of words", "unknown token", "`PATH` can change",
		}},
		{"NUL in a value", exe("args: any", "environment: {set: {A: \"x\\0y\"}}") + "environment: {set: {B: \"\\0\", C: 012}}\n", []string{"6:28: want a value without NUL", "7:24: want a value without NUL"}},
		{"set and pass", exe("args: any", "environment: {set: {A: 1}, pass: [A]}"), []string{"6:25: this variable is both in `set` and in `pass`"}},
		{"secret of one program", exe("args: any", "environment: {set: {API_KEY: 1}, accept: {}}"), []string{"6:25: `API_KEY` looks like a secret", "6:38: unknown key `accept`"}},
		{"rules", head + "executables: []\nrules:\n  - {name: a, deny: 'true', ask: 'true'}\n  - {name: b}\n  - {deny: 'true'}\n  - {name: c, deny: 'true'}\n  - {name: c, deny: 'true'}\n  - {name: 'a b', deny: ''}\n", []string{
			"5:5: want exactly one of `deny`, `ask`", "6:5: want exactly one of", "7:5: `name` is missing", "9:12: another rule is called `c`", "10:12: want a name", "10:25: want a text for people",
		}},
		{"CEL", head + "executables: []\nrules:\n  - {name: a, deny: argv.exist(a)}\n  - name: b\n    deny: |\n      true &&\n        nope\n  - {name: c, deny: size(argv)}\n  - {name: d, deny: 'argv[0].matches(\"(\")'}\n  - {name: e, deny: 'argv == \"x\"'}\n  - {name: f, ask: '1 +'}\n", []string{
			"5:31: CEL: undeclared reference to 'exist'", "5:32: CEL: undeclared reference to 'a'", "9:9: CEL: undeclared reference to 'nope'", "10:21: the expression must be true or false, not int",
			"11:38: CEL: invalid matches", "12:27: CEL: found no matching overload", "CEL: Syntax error",
		}},
		{"long CEL", head + "executables: []\nrules: [{name: a, deny: '" + strings.Repeat("true && ", 1100) + "true'}]\n", []string{"4:26: the expression has 8804 bytes"}},
		{"deep CEL", head + "executables: []\nrules: [{name: a, deny: '" + strings.Repeat("(", 500) + "true" + strings.Repeat(")", 500) + "'}]\n", []string{"CEL: "}},
		{"tests", head + "executables: []\ntests:\n  - {allow: [a], refuse: [b]}\n  - {allow: [a], code: busy}\n  - {refuse: [a], code: nope}\n  - {allow: a}\n  - {allow: [a], dir: x}\n", []string{
			"5:5: want exactly one of", "6:18: `code` makes sense only beside `refuse`", "7:25: want one of `invalid_request`", "8:13: want a list", "9:23: want an absolute path",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p, err := policy.Load("p.yaml", []byte(test.text))
			var all *policy.Errors
			if p != nil || !errors.As(err, &all) {
				t.Fatalf("got %v, %v", p, err)
			}
			lines := strings.Split(all.Error(), "\n")
			if len(lines) != len(test.want) {
				t.Fatalf("%d faults, want %d:\n%v", len(lines), len(test.want), err)
			}
			for i, want := range test.want {
				place, rest := "p.yaml:", want
				if line, _, ok := strings.Cut(want, ": "); ok && strings.Trim(line, "0123456789:") == "" {
					place += want
					rest = ""
				}
				if !strings.HasPrefix(lines[i], place) || !strings.Contains(lines[i], rest) {
					t.Errorf("fault %d is\n%s\nwant %s", i, lines[i], want)
				}
			}
		})
	}
}

// Nobody is buried under a flood of faults.
func TestLoadFaultsAreBounded(t *testing.T) {
	_, err := policy.Load("p.yaml", []byte(head+"executables: []\nlimits:\n"+strings.Repeat("  x: 1\n", 100_000)))
	var all *policy.Errors
	if !errors.As(err, &all) || len(all.List) != 201 || !strings.Contains(all.List[200].Message, "more from here on") {
		t.Errorf("got %d faults", len(all.List))
	}
}

// Words of lists are kept letter by letter, whatever YAML takes them for.
func TestLoadKeepsLetters(t *testing.T) {
	p := load(t, head+`executables:
  - path: /bin/x
    args:
      - allow: [012, 0x1F, 1_000, 1.50, true, Yes, 2026-11-29, "~", '', =..., ==, =<word>]
environment: {set: {N: 012, B: off}}
containment: {require: off}
tests: [{allow: [/bin/x, 012, 1e3]}]
`)
	req := ask("/bin/x", "012", "0x1F", "1_000", "1.50", "true", "Yes", "2026-11-29", "~", "", "...", "=", "<word>")
	d := policy.Decide(p, req, friendly(p, req))
	if d.Effect != paddock.Allow {
		t.Fatalf("refused: %v, %s", d.Refusal(), d.Refusal().Hint)
	}
	env := strings.Join(d.Grant().Environment, " ")
	if !strings.Contains(env, "N=012") || !strings.Contains(env, "B=off") {
		t.Errorf("environment is %s", env)
	}
	if diff := cmp.Diff([]string{"/bin/x", "012", "1e3"}, p.Tests()[0].Argv); diff != "" {
		t.Error(diff)
	}
}

func TestLoadDefaults(t *testing.T) {
	p := load(t, head+"executables: [{name: x, path: /bin/x, args: any}]\ncontainment: {require: off, network: host}\n")
	g := policy.Decide(p, ask("x"), friendly(p, ask("x"))).Grant()
	want := paddock.Limits{Timeout: defaultTimeout, Output: 10 << 20, OpenFiles: 1024}
	if g.Limits != want || p.Concurrent() != 8 {
		t.Errorf("limits are %+v, %d at once", g.Limits, p.Concurrent())
	}
	p = load(t, head+"executables: [{name: x, path: /bin/x, args: any, limits: {timeout: 30d}}]\nlimits: {output: 1TiB, timeout: 1d12h}\ncontainment: {require: off}\n")
	g = policy.Decide(p, ask("x"), friendly(p, ask("x"))).Grant()
	if g.Limits.Timeout.String() != "720h0m0s" || g.Limits.Output != 1<<40 {
		t.Errorf("limits are %+v", g.Limits)
	}
	if l := p.Limits(); l.Timeout.String() != "36h0m0s" || l.Output != 1<<40 {
		t.Errorf("the policy's limits are %+v", l)
	}
	p = load(t, head+"executables: []\n")
	if p.Contain().Level != paddock.Full {
		t.Errorf("requires %q", p.Contain().Level)
	}
}

func TestMessagesAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, "  - {name: tool%d, path: /bin/tool%d, args: any}\n", i, i)
	}
	p := load(t, head+"executables:\n"+b.String())
	r := policy.Decide(p, ask("x"), policy.Facts{}).Refusal()
	if !strings.HasSuffix(r.Message, "tool39 and 260 more.") {
		t.Errorf("message is %q", r.Message)
	}
}

func FuzzLoad(f *testing.F) {
	for _, s := range []string{minimal, paths, ruled, generous, "", "a: &x [*x]", "version: 1\n---\n", "? {a: b}\n: c", "<<: {a: b}", "\ufeffversion: 1"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := policy.Load("p.yaml", data)
		if (p == nil) == (err == nil) {
			t.Fatalf("%v, %v", p, err)
		}
		if err != nil {
			var all *policy.Errors
			if !errors.As(err, &all) || len(all.List) == 0 {
				t.Fatalf("%v", err)
			}
			for _, e := range all.List {
				if e.Position.Line < 1 || e.Position.Column < 1 || e.Position.File != "p.yaml" || e.Message == "" {
					t.Fatalf("%+v", e)
				}
			}
			return
		}
		for _, req := range []paddock.Request{ask("go", "test"), ask("x y"), ask()} {
			p.Wanted(req)
			policy.Decide(p, req, policy.Facts{})
		}
	})
}

// A program that has CEL judges by every policy; what one without does is tried by it.
func TestJudges(t *testing.T) {
	for _, rules := range []string{"", "rules: [{name: no-force, deny: '\"--force\" in argv'}]\n"} {
		p := load(t, head+"executables: [{path: /bin/x, args: any}]\ncontainment: {require: off}\n"+rules)
		if err := p.Judges(); err != nil {
			t.Errorf("%q: %v", rules, err)
		}
	}
}
