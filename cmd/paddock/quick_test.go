//go:build linux

package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paddock/internal/testproc"
)

// The quick build does itself what is asked again and again, and becomes the program
// beside it for the rest, with the same words, environment and descriptors.
func TestQuick(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	bin := filepath.Join(t.TempDir(), "bin")
	quick, whole := filepath.Join(bin, "paddock"), filepath.Join(bin, "paddock-server")
	err := errors.Join(os.Mkdir(bin, 0o755),
		os.Link(testproc.BuildTo(t, "quick", "paddock/cmd/paddock", "quick"), quick),
		os.Link(testproc.Build(t, "paddock/cmd/paddock-stage"), filepath.Join(bin, "paddock-stage")))
	if err != nil {
		t.Fatal(err)
	}
	do := func(env []string, args ...string) (said string, status int) {
		t.Helper()
		y.paddock = quick
		cmd := y.command(args...)
		cmd.Env = append(cmd.Env, env...)
		out, err := cmd.CombinedOutput()
		if err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	ruled := y.unruled()
	cases := []struct {
		env    []string
		args   []string
		itself bool
		status int
		says   string
	}{
		{nil, []string{"run", "--", "prog", "say", "hi"}, true, 0, "hi\n"},
		{nil, []string{"--json", "ps"}, true, 0, `"runs"`},
		{nil, []string{"run", "--help"}, true, 0, "Run a command under the policy"},
		{nil, []string{"run", "--nonsense"}, true, 125, "paddock run --help shows the flags"},
		{nil, []string{"run", "--", "unlisted"}, true, 126, "refused"},
		{nil, nil, false, 0, "The exit status of run and wait"},
		{nil, []string{"--help"}, false, 0, "The exit status of run and wait"},
		{nil, []string{"help", "run"}, false, 0, "Run a command under the policy"},
		{nil, []string{"version"}, false, 0, "paddock"},
		{nil, []string{"--state", "elsewhere", "policy", "path"}, false, 0, "policy"},
		{nil, []string{"rum"}, false, 125, "did you mean paddock run"},
		{nil, []string{"__complete", "vers"}, false, 0, "version"},
		{[]string{"PADDOCK_SERVER=nonsense"}, []string{"ps"}, false, 126, "no address of a server"},
		{nil, []string{"--server", "nonsense", "ps"}, false, 126, "no address of a server"},
		{nil, []string{"--server", "nonsense", "wait", "r01m8q6p1ed81yctzz94eybvdf6"}, false, 126, "no address of a server"},
		{nil, []string{"--server", "", "ps"}, true, 125, "--server was given an empty word"},
	}
	for _, c := range cases {
		said, status := do(c.env, c.args...)
		switch {
		case c.itself && (status != c.status || !strings.Contains(said, c.says)):
			t.Errorf("%v alone: %d, %s", c.args, status, said)
		case !c.itself && (status != 125 || !strings.Contains(said, "paddock-server is missing: install it with")):
			t.Errorf("%v with nothing beside it: %d, %s", c.args, status, said)
		}
	}
	// What was built without the server is called like it: it ends, wherever it got to.
	for name, put := range map[string]func(string, string) error{"the same": os.Link, "a link": os.Symlink, "a copy": copyProgram} {
		if err := put(quick, whole); err != nil {
			t.Fatal(err)
		}
		if said, status := do(nil, "version"); status != 125 || !strings.Contains(said, "is this very program, built without the server: install it with") {
			t.Errorf("%s beside it: %d, %s", name, status, said)
		}
		if err := os.Remove(whole); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(testproc.BuildTo(t, "plain", "paddock/cmd/paddock", "plain"), whole); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if said, status := do(c.env, c.args...); status != c.status || !strings.Contains(said, c.says) {
			t.Errorf("%v: %d, want %d: %s", c.args, status, c.status, said)
		}
	}
	y.ruled(ruled, quick, whole)
	policy, err := os.Open(filepath.Join(y.work, "policy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	defer policy.Close()
	cmd := y.command("policy", "check", "/dev/fd/3") // as a shell hands over what is written as <(…)
	cmd.ExtraFiles = []*os.File{policy}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "is a valid policy") {
		t.Errorf("%v: %s", err, out)
	}
}

func copyProgram(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o755)
}
