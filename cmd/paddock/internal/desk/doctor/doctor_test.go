//go:build linux

package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/cmd/paddock/internal/desk/screen"
	"paddock/internal/contain/probe"
	"paddock/internal/policy"
)

// A hospital lets no program attempt anything: what came of it is made up.
type hospital struct {
	desk.Verbs
	run     paddock.Run
	refuse  *paddock.Refusal
	results []probe.Result
	asked   []paddock.Request
	status  int // of what starts what isn't listed
	listed  bool
}

func (h *hospital) Start(_ context.Context, req paddock.Request) (paddock.Run, error) {
	h.asked = append(h.asked, req)
	if h.refuse != nil {
		return paddock.Run{}, h.refuse
	}
	h.listed = req.Command.Argv[0] == "env"
	return h.run, nil
}

func (h *hospital) Follow(_ context.Context, _ paddock.Principal, _ paddock.RunID, _ paddock.Stream, _ int64, w io.Writer) error {
	enc := json.NewEncoder(w)
	for _, r := range h.results {
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

func (h *hospital) Wait(context.Context, paddock.Principal, paddock.RunID, time.Duration) (paddock.Run, error) {
	run := h.run
	if h.listed {
		run.Outcome = &paddock.Outcome{State: run.State, Reason: paddock.Reason{Kind: paddock.ReasonExit, ExitCode: &h.status}}
	}
	return run, nil
}

func (h *hospital) Close() error { return nil }

// healthy holds everything.
func healthy() *hospital {
	h := &hospital{status: 126, run: paddock.Run{State: paddock.Exited, Isolation: paddock.UserPIDNamespace, Tree: paddock.TreeKernel, Enforced: &paddock.Enforced{LandlockABI: 7}}}
	for _, c := range probe.Table {
		if c.Beside {
			continue
		}
		h.results = append(h.results, probe.Result{Check: c.ID, Held: true, Tried: true, Detail: "no"})
	}
	return h
}

func (h *hospital) set(check string, held, tried bool) {
	i := slices.IndexFunc(h.results, func(r probe.Result) bool { return r.Check == check })
	h.results[i] = probe.Result{Check: check, Held: held, Tried: tried, Detail: "done"}
}

// doctor examines in the hospital, on a machine with these levels, and returns
// the status and what was printed.
func doctor(t *testing.T, h *hospital, levels []paddock.Level, asJSON bool, policyText string, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	home := t.TempDir()
	env := map[string]string{"HOME": home}
	if policyText != "" {
		env["PADDOCK_POLICY"] = filepath.Join(home, "policy.yaml")
		if err := os.WriteFile(env["PADDOCK_POLICY"], []byte(policyText), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := &desk.Desk{
		Screen: screen.Screen{Out: &out, Err: &out, JSON: asJSON, Now: time.Now, Getenv: func(name string) string { return env[name] }},
		Dir:    home, UID: 1000,
		Levels: func() ([]paddock.Level, map[paddock.Level]string) {
			return levels, map[paddock.Level]string{paddock.Full: "no namespaces in a house of paper"}
		},
		Judge: func(_ context.Context, _ string, p *policy.Policy) (desk.Verbs, error) {
			if words := p.Words(); len(words) != 1 || words[0] != "paddock-stage" && words[0] != "env" {
				t.Errorf("the throw-away policy permits %q", words)
			}
			return h, nil
		},
	}
	only := ""
	if len(args) > 0 {
		only = args[0]
	}
	c := commands{d, func(context.Context, string) (string, error) { return "/usr/lib/paddock-stage", nil }}
	err := c.examine(t.Context(), only)
	d.Tell(err)
	return desk.StatusOf(err), out.String()
}

var every = []paddock.Level{paddock.Full, paddock.Standard, paddock.Off}

func policyFor(level string) string {
	return "version: 1\nroots: [{path: /srv}]\nexecutables: [{path: /usr/bin/true, args: any}]\ncontainment: {require: " + level + "}\n"
}

func TestHealthy(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"no policy": "", "a policy that can be kept": policyFor("standard")} {
		h := healthy()
		status, out := doctor(t, h, every, false, text)
		if status != 0 || strings.Count(out, "every promise holds") != 3 || strings.Contains(out, "BROKEN") {
			t.Errorf("%s: status %d:\n%s", name, status, out)
		}
		if len(h.asked) != 5 || // exec: listed is for two levels
			!slices.Equal(h.asked[0].Command.Argv, []string{"paddock-stage", "probe"}) || !h.asked[0].Tied {
			t.Errorf("%s: it asked for %+v", name, h.asked)
		}
	}
}

// A broken promise gives status 1 and names the row, what it means and what to do.
func TestBrokenPromise(t *testing.T) {
	t.Parallel()
	h := healthy()
	h.set("read_outside", false, true)
	status, out := doctor(t, h, every, false, "")
	check, _ := probe.Find("read_outside")
	if status != desk.ExitNo {
		t.Errorf("status %d", status)
	}
	for _, want := range []string{"promises that do NOT hold: 1", "BROKEN read_outside: done", check.Row, check.Meaning, check.Remedy} {
		if strings.Count(out, want) != 2 { // at full and at standard, which promise it
			t.Errorf("it doesn't say %q at full and standard:\n%s", want, out)
		}
	}
}

func TestBrokenPromiseJSON(t *testing.T) {
	t.Parallel()
	h := healthy()
	h.set("protected", false, true)
	status, out := doctor(t, h, every, true, "")
	var r Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if status != desk.ExitNo || r.OK || len(r.Levels) != 3 || r.Levels[0].Broken != 1 || r.Levels[1].Broken != 0 || r.Levels[2].Broken != 0 {
		t.Errorf("status %d, %+v", status, r)
	}
	i := slices.IndexFunc(r.Levels[0].Checks, func(c CheckReport) bool { return c.Check == "protected" })
	if c := r.Levels[0].Checks[i]; !c.Broken || !c.Promised || c.Held || c.Meaning == "" || c.Remedy == "" || c.Row == "" {
		t.Errorf("%+v", c)
	}
	if len(r.Machine) < 5 {
		t.Errorf("of the machine it says %+v", r.Machine)
	}
}

// What isn't all well, one at a time.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	weak := []paddock.Level{paddock.Standard, paddock.Off}
	for name, c := range map[string]struct {
		change func(*hospital)
		levels []paddock.Level
		policy string
		only   string
		status int
		says   string
	}{
		"not attempted, so not known":   {change: func(h *hospital) { h.set("etc", false, false) }, levels: every, says: "full: every promise that could be tried holds, 1 could not"},
		"not promised":                  {change: func(h *hospital) { h.set("core_dumps", false, true) }, levels: every, only: "off", says: "core_dumps          -         open"},
		"what isn't listed starts":      {change: func(h *hospital) { h.status = 0 }, levels: every, status: 1, says: "BROKEN exec_listed: start a program that isn't listed: done"},
		"what starts it fails":          {change: func(h *hospital) { h.status = 2 }, levels: every, says: "full: every promise that could be tried holds, 1 could not"},
		"no answer":                     {change: func(h *hospital) { h.results = h.results[:3] }, levels: every, status: 1, says: "ended before it said anything"},
		"refused":                       {change: func(h *hospital) { h.refuse = paddock.Refused(paddock.ContainmentUnavailable, "Not here.") }, levels: every, status: 1, says: "nothing could be attempted: Not here."},
		"a level that isn't there":      {levels: weak, says: "full: not available here: no namespaces in a house of paper"},
		"named, and not there":          {levels: weak, only: "full", status: 1, says: "not available"},
		"no levels at all":              {levels: nil, says: "standard: not available here"},
		"a level that there isn't":      {levels: every, only: "half", status: desk.ExitFault, says: "the levels are full, standard and off"},
		"the policy wants what isn't":   {levels: weak, policy: policyFor("full"), status: 1, says: "it requires full, which this machine doesn't have"},
		"the policy is broken":          {levels: every, policy: "version: 9\n", status: 1, says: "→ "},
		"the policy wants what is here": {levels: weak, policy: policyFor("off"), says: "requires off, which is available here"},
		"hidden only in a PID namespace": {change: func(h *hospital) {
			h.set("proc", false, true)
			h.run.Isolation = paddock.Guardian
		}, levels: weak, says: "proc                -         open"},
		"hidden in a PID namespace": {change: func(h *hospital) { h.set("proc", false, true) }, levels: weak, status: 1, says: "BROKEN proc"},
		"failed to start": {change: func(h *hospital) {
			h.run.State = paddock.FailedToStart
			h.run.Outcome = &paddock.Outcome{State: paddock.FailedToStart, Reason: paddock.Reason{Kind: paddock.ReasonStart, Step: "clone", Detail: "EPERM"}}
		}, levels: every, status: 1, says: "a run can't be started"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := healthy()
			if c.change != nil {
				c.change(h)
			}
			status, out := doctor(t, h, c.levels, false, c.policy, c.only)
			if status != c.status || !strings.Contains(out, c.says) {
				t.Errorf("status %d, want %d and %q:\n%s", status, c.status, c.says, out)
			}
		})
	}
}
