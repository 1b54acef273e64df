//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/testproc"
)

// provided is given, where a script says the secret.
func (y *yard) provided(uid int, script, rest string) (command func(args ...string) *testproc.Cmd) {
	y.t.Helper()
	command = y.given(uid, "")
	provider, policy := filepath.Join(y.work, "say"), filepath.Join(y.work, "policy.yaml")
	text, err := os.ReadFile(policy)
	if err == nil {
		text := strings.Replace(string(text), fmt.Sprintf("file: %q", filepath.Join(y.work, "key")), fmt.Sprintf("exec: [%q]%s", provider, rest), 1)
		err = errors.Join(os.WriteFile(policy, []byte(text), 0o600), os.WriteFile(provider, []byte("#!/bin/sh\n"+script+"\n"), 0o755), os.Remove(filepath.Join(y.work, "key")))
	}
	if os.Geteuid() == 0 {
		err = errors.Join(err, os.Chown(provider, uid, uid))
	}
	if err != nil {
		y.t.Fatal(err)
	}
	return command
}

// unkept fails where anything that was kept has the secret in it.
func (y *yard) unkept() {
	y.t.Helper()
	if err := testproc.Unlocked(filepath.Join(y.work, "home/.local/state/paddock/runs/*/*/lock")); err != nil { // supervisors tidy up
		y.t.Fatal(err)
	}
	y.keptQuiet(false)
}

const says = "echo " + theSecret + "; echo " + theSecret + " >&2"

// gets tells whether the program got the secret, and nothing else.
const gets = `test ${#API} = 23 && echo got it`

// What a program says is given as what a file holds is, and is kept nowhere: neither
// what it prints as a secret nor what it prints beside.
func TestASecretThatAProgramSays(t *testing.T) {
	t.Parallel()
	for name, uid := range users() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := newYard(t)
			command := y.provided(uid, says, "")
			say := func(args ...string) string {
				out, err := command(args...).CombinedOutput()
				wantStatus(t, err, 0)
				quiet(t, strings.Join(args, " "), out)
				return string(out)
			}
			if text := say("policy", "explain", "--", "sh", "-c", gets); !strings.Contains(text, "API is asked for when the run starts") {
				t.Error(text)
			}
			if text := say("ps", "--all", "--json"); strings.Contains(text, `"id"`) {
				t.Errorf("explaining asked the program:\n%s", text)
			}
			if text := say("run", "--", "sh", "-c", gets); text != "got it\n" {
				t.Error(text)
			}
			y.unkept()
			asked := ""
			dirs, err := filepath.Glob(filepath.Join(y.work, "home/.local/state/paddock/runs/*/*"))
			if err != nil || len(dirs) != 2 {
				t.Fatal(dirs, err)
			}
			for _, dir := range dirs {
				id := filepath.Base(dir)
				request, err := os.ReadFile(filepath.Join(dir, "request.json"))
				if err == nil && strings.Contains(string(request), `"room":"secret:API"`) {
					var decision []byte
					if decision, err = os.ReadFile(filepath.Join(dir, "decision.json")); err == nil {
						asked = string(decision) + say("show", id)
					}
				}
				if err != nil {
					t.Fatal(err)
				}
				say("output", id)
				say("output", id, "--unmasked")
				say("verify", id)
			}
			if !strings.Contains(asked, `"redact":"unkept"`) || !strings.Contains(asked, "nothing of it is kept") {
				t.Errorf("the provider's record says\n%s", asked)
			}
			// Others' output is looked at as well, and their variables.
			if err := os.WriteFile(filepath.Join(y.work, "proj", "left"), []byte("x"+theSecret+"x\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			if text := say("run", "--", "cat", "left"); text != "x"+strings.Repeat("*", len(theSecret))+"x\n" {
				t.Error(text)
			}
			out, err := command("run", "--env", "GUESS=x"+theSecret, "--", "cat", "left").CombinedOutput()
			wantStatus(t, err, desk.ExitRefused)
			if !strings.Contains(string(out), "GUESS, which carries the value of the secret API") {
				t.Errorf("%s", out)
			}
			quiet(t, "a refusal", out)
		})
	}
}

// Whatever a provider does, who needs the secret is refused and told why, without a
// byte of what it printed; who doesn't need it goes on.
func TestProvidersThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	uid := os.Geteuid()
	for name, c := range map[string]struct{ script, rest, want string }{
		"fails":           {says + "; exit 3", "", "its provider ended with exit status 3"},
		"is killed":       {says + "; kill -9 $$", "", "its provider ended as"},
		"has no end":      {"exec yes " + theSecret, "", "its provider printed more than a secret has"},
		"is a byte over":  {"head -c 8195 /dev/zero | tr '\\0' x", "", "its provider printed more than a secret has"},
		"is too long":     {"head -c 8194 /dev/zero | tr '\\0' x", "", "what its provider says has more than 8192 bytes"},
		"hangs":           {says + "; exec sleep 600", ", timeout: 1s", "its provider didn't end in time"},
		"says a NUL":      {"printf '" + theSecret + "\\0x'", "", "a NUL byte"},
		"isn't UTF-8":     {"printf '" + theSecret + "\\377'", "", "what isn't UTF-8"},
		"says nothing":    {"echo " + theSecret + " >&2", "", "what its provider says is empty"},
		"says a line":     {"echo", "", "what its provider says is empty"},
		"says too little": {"echo 1234567", "", "fewer than 8 bytes"},
		"was changed":     {says, ", sha256: " + strings.Repeat("a", 64), "its provider was refused (executable_changed"},
	} {
		command := y.provided(uid, c.script, c.rest)
		out, err := command("run", "--", "sh", "-c", gets).CombinedOutput()
		wantStatus(t, err, desk.ExitRefused)
		if !strings.Contains(string(out), "The secret API can't be") || !strings.Contains(string(out), c.want) || !strings.Contains(string(out), string(paddock.SecretUnavailable)) {
			t.Errorf("%s: %s", name, out)
		}
		quiet(t, name, out)
	}
	y.unkept()
	command := y.provided(uid, "exit 3", "")
	if out, err := command("run", "--", "cat", "/dev/null").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// What a provider leaves behind is ended, and doesn't keep anybody waiting.
func TestAProviderThatForks(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	command := y.provided(os.Geteuid(), "for i in 1 2 3 4 5 6 7 8; do sleep 600 & done; setsid sleep 600 & "+says, "")
	out, err := command("run", "--", "sh", "-c", gets).CombinedOutput()
	if err != nil || string(out) != "got it\n" {
		t.Errorf("%v: %s", err, out)
	}
	y.unkept()
}

// The proxy puts what a program says into requests.
func TestAProvidedSecretInRequests(t *testing.T) {
	t.Parallel()
	y, a := newYard(t), newAPI(t)
	command := y.entrusted(os.Geteuid(), a)
	key, provider, policy := filepath.Join(y.work, "key"), filepath.Join(y.work, "say"), filepath.Join(y.work, "policy.yaml")
	text, err := os.ReadFile(policy)
	if err == nil {
		text := strings.Replace(string(text), fmt.Sprintf("file: %q", key), fmt.Sprintf("exec: [%q]", provider), 1)
		err = errors.Join(os.WriteFile(policy, []byte(text), 0o600), os.WriteFile(provider, []byte("#!/bin/sh\n"+says+"\n"), 0o755), os.Remove(key))
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := command("run", "--", "prog", "ask", "https://"+a.place+"/one").CombinedOutput()
	if err != nil || !strings.Contains(string(out), got("/one", "Bearer "+theSecret)) {
		t.Errorf("%v\n%s", err, out)
	}
	y.nowhere(out)
}
