package main

// This file holds everything that a person sees. Its rules:
//
//   - What was asked for goes to standard output and nothing else does, so that
//     it can be piped. All that is said about it goes to standard error, each
//     line after "paddock: ".
//   - Such a line is one thought in lower case without a full stop: error,
//     refused, warning or note. Then comes what to do next, as a hint. Texts of
//     the policy and of refusals are shown as they are.
//   - Nothing is said about what went well and can be seen anyway.
//   - Colour is for terminals, and never the only bearer of a meaning.
//   - Nothing moves, waits for a key or asks, except policy init and trust.
//   - Words that came from a program, a request or a file pass through plain or
//     quote: they may not move the cursor, hide or reorder what stands there.
//   - What a program printed is the exception: it is passed on byte by byte.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"paddock"
	"paddock/internal/app"
)

// say writes a line about what happened, each further line with the same prefix.
func (c *cli) say(label, text string) {
	prefix := "paddock: " + label + ": "
	if c.errTerminal {
		prefix = "paddock: " + c.paint(label, label) + ": "
	}
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		// A broken standard error leaves nobody to tell.
		_, _ = fmt.Fprintln(c.err, prefix+plain(line))
	}
}

// paint gives text the colour of what it means, where colour is wanted.
func (c *cli) paint(meaning, text string) string {
	if c.getenv("NO_COLOR") != "" || c.getenv("TERM") == "dumb" {
		return text
	}
	colour := map[string]string{
		"error": "31", "refused": "31", "refuse": "31", "failed-to-start": "31", "lost": "31",
		"warning": "33", "killed": "33", "timeout": "33", "output-limit": "33",
		"hint": "36", "try": "36", "note": "2", "skipped": "2",
		"pass": "32", "allowed": "32", "running": "32", "bold": "1",
	}[meaning]
	if colour == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// showError tells of err in the way of the mode: as text on standard error, or
// as an object on standard output.
func (c *cli) showError(err error) {
	var status exitStatus
	var refusal *paddock.Refusal
	var usage *usageError
	switch {
	case err == nil, errors.As(err, &status):
	case errors.As(err, &refusal):
		if c.settings.json {
			c.showErrorJSON(map[string]any{"refusal": refusal})
			return
		}
		c.showRefusal(refusal)
	case c.settings.json:
		e := map[string]string{"message": err.Error()}
		if errors.As(err, &usage) {
			e["hint"] = usage.hint
		}
		c.showErrorJSON(map[string]any{"error": e})
	default:
		c.say("error", err.Error())
		if errors.As(err, &usage) && usage.hint != "" {
			c.say("hint", usage.hint)
		}
	}
}

// showErrorJSON falls back on text when standard output can't be written.
func (c *cli) showErrorJSON(v any) {
	if err := c.showJSON(v); err != nil {
		c.say("error", err.Error())
	}
}

// showRefusal shows one refusal whole: what, why, what to do, where it says so.
func (c *cli) showRefusal(r *paddock.Refusal) {
	c.say("refused", string(r.Code)+": "+r.Message)
	if r.Hint != "" {
		c.say("hint", r.Hint)
	}
	if s := r.Suggestion; s != nil {
		if s.Note != "" {
			c.say("note", s.Note)
		}
		for _, argv := range s.Argvs {
			c.say("try", "paddock run -- "+quoteAll(argv))
		}
	}
	if p := place(r.Position); p != "" {
		c.say("note", "decided at "+p)
	}
	for _, other := range r.Others {
		c.say("also refused", string(other.Code)+": "+other.Message)
	}
}

// showJSON writes v as one object. A person gets it indented.
func (c *cli) showJSON(v any) error {
	enc := json.NewEncoder(c.out)
	enc.SetEscapeHTML(false)
	if c.terminal {
		enc.SetIndent("", "  ")
	}
	return enc.Encode(v)
}

// showRun shows one run in a few lines.
func (c *cli) showRun(r paddock.Run) error {
	if c.settings.json {
		return c.showJSON(r)
	}
	return c.fields(c.runFields(r))
}

func (c *cli) runFields(r paddock.Run) [][2]string {
	f := [][2]string{
		{"run", string(r.ID)},
		{"state", c.state(r.State, describe(r))},
		{"command", quoteAll(r.Argv)},
	}
	if r.Label != "" && r.Label != strings.Join(r.Argv, " ") {
		f = append(f, [2]string{"label", plain(r.Label)})
	}
	f = append(f, [2]string{"directory", plain(r.Dir)}, [2]string{"created", c.when(r.CreatedAt)})
	if r.StartedAt != nil {
		f = append(f, [2]string{"took", span(time.Duration(r.Duration))})
	}
	out, errs := r.Stdout, r.Stderr
	if r.Outcome != nil {
		out, errs = r.Outcome.Stdout, r.Outcome.Stderr
	}
	f = append(f, [2]string{"stdout", summary(out)}, [2]string{"stderr", summary(errs)})
	if r.Tree != "" {
		f = append(f, [2]string{"tree", string(r.Tree) + " (" + string(r.Isolation) + "), containment " + string(r.Containment)})
	}
	if o := r.Outcome; o != nil && o.Leftovers+o.Survivors > 0 {
		f = append(f, [2]string{"left behind", fmt.Sprintf("%d ended, %d still there", o.Leftovers, o.Survivors)})
	}
	return f
}

// showDetail shows everything that was written down about a run.
func (c *cli) showDetail(d app.Detail) error {
	if c.settings.json {
		return c.showJSON(d)
	}
	r := d.Run
	f := append(c.runFields(r), [][2]string{
		{"principal", plain(r.Principal.ID) + ", " + string(r.Principal.Kind) + ", by " + string(r.Door)},
		{"executable", plain(r.Executable)},
		{"timeout", span(time.Duration(r.Limits.Timeout))},
		{"output", "at most " + size(r.Limits.Output) + " of each stream"},
	}...)
	if len(d.EnvironmentNames) > 0 {
		f = append(f, [2]string{"asked for", quoteAll(d.EnvironmentNames)})
	}
	if g := d.Decision.Grant; g != nil {
		f = append(f, [2]string{"environment", quoteAll(g.EnvironmentNames)})
	}
	if p := r.Supervisor; p != nil {
		f = append(f, [2]string{"supervisor", fmt.Sprintf("process %d", p.PID)})
	}
	if r.Cgroup != "" {
		f = append(f, [2]string{"cgroup", plain(r.Cgroup)})
	}
	f = append(f, [2]string{"request", string(r.RequestDigest)}, [2]string{"policy", string(r.PolicyDigest)})
	if err := c.fields(f); err != nil {
		return err
	}
	return c.gates(d.Decision.Gates)
}

// showRuns shows a listing as a table, newest first.
func (c *cli) showRuns(list app.Listing) error {
	if c.settings.json {
		if list.Runs == nil {
			list.Runs = []paddock.Run{} // an empty list is a list
		}
		return c.showJSON(list)
	}
	rows := [][]string{{"RUN", "STATE", "AGE", "TOOK", "OUTPUT", "COMMAND"}}
	for _, r := range list.Runs {
		state := string(r.State)
		if r.State == paddock.Exited {
			state += " " + itoa(runStatus(r))
		}
		label := r.Label
		if label == "" {
			label = quoteAll(r.Argv)
		}
		rows = append(rows, []string{
			string(r.ID), state, span(c.now().Sub(r.CreatedAt)), span(time.Duration(r.Duration)),
			size(r.Stdout.Bytes + r.Stderr.Bytes), shorten(plain(label), 60),
		})
	}
	if err := c.table(rows); err != nil {
		return err
	}
	if list.Next != "" {
		c.say("note", "there are more: paddock ps --all --before "+string(list.Next))
	}
	return nil
}

// showEnd tells why a run ended, unless its program simply returned.
func (c *cli) showEnd(r paddock.Run) {
	switch r.State {
	case paddock.FailedToStart, paddock.Lost:
		c.say("error", describe(r))
	case paddock.Killed, paddock.TimedOut, paddock.OutputLimit:
		c.say("note", describe(r))
	}
	if o := r.Outcome; o != nil && o.Survivors > 0 {
		c.say("warning", fmt.Sprintf("%d processes of the run could not be ended; see paddock show %s", o.Survivors, r.ID))
	}
}

// showDecision shows every gate with its ground.
func (c *cli) showDecision(d paddock.Decision) error {
	if c.settings.json {
		return c.showJSON(d)
	}
	verdict := "refused"
	if d.Effect == paddock.Allow {
		verdict = "allowed"
	}
	policy := "no policy"
	if d.PolicyDigest != "" {
		policy = "policy " + d.PolicyDigest.Short()
	}
	if _, err := fmt.Fprintf(c.out, "%s by %s\n", c.painted(verdict, verdict), policy); err != nil {
		return err
	}
	if err := c.gates(d.Gates); err != nil {
		return err
	}
	for _, r := range d.Refusals {
		c.showRefusal(&r)
	}
	return nil
}

// gates shows what each gate answered, and why.
func (c *cli) gates(gates []paddock.GateResult) error {
	rows := make([][]string, 0, len(gates))
	for _, g := range gates {
		detail := plain(g.Detail)
		if p := place(g.Position); p != "" {
			detail += " (" + p + ")"
		}
		rows = append(rows, []string{"  " + string(g.Verdict), string(g.Gate), detail})
	}
	return c.table(rows)
}

// fields writes names and values below each other.
func (c *cli) fields(f [][2]string) error {
	var b bytes.Buffer
	for _, line := range f {
		fmt.Fprintf(&b, "%-12s %s\n", line[0], line[1])
	}
	_, err := c.out.Write(b.Bytes())
	return err
}

// table aligns columns. Cells must not be painted: escapes have no width.
func (c *cli) table(rows [][]string) error {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(b.String()) {
		if _, err := io.WriteString(c.out, strings.TrimRight(line, " \n")+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// painted is paint for standard output.
func (c *cli) painted(meaning, text string) string {
	if !c.terminal {
		return text
	}
	return c.paint(meaning, text)
}

// state is the state with its ground, as "exited with status 0".
func (c *cli) state(s paddock.State, text string) string {
	return c.painted(string(s), text)
}

// when is a time as a person reads it, with how long ago it was.
func (c *cli) when(t time.Time) string {
	return t.Local().Format("2006-01-02 15:04:05") + " (" + span(c.now().Sub(t)) + " ago)"
}

// describe says in one line how a run stands or why it ended.
func describe(r paddock.Run) string {
	if r.Outcome == nil {
		return string(r.State)
	}
	o := r.Outcome.Reason
	detail := ""
	if o.Detail != "" {
		detail = ": " + plain(o.Detail)
	}
	switch o.Kind {
	case paddock.ReasonExit:
		if o.ExitCode != nil {
			return "exited with status " + itoa(*o.ExitCode)
		}
	case paddock.ReasonSignal:
		return "the program was ended by " + o.Signal + " from elsewhere"
	case paddock.ReasonKill:
		text := "killed on request"
		if o.Signal != "" {
			text += " with " + o.Signal
		}
		if o.Why != "" {
			text += ": " + plain(o.Why)
		}
		return text
	case paddock.ReasonCallerGone:
		return "killed because its caller was gone"
	case paddock.ReasonAbort:
		return "killed because its caller gave up"
	case paddock.ReasonShutdown:
		return "killed because its host program shut down"
	case paddock.ReasonTimeout:
		return "ended because its time was over (" + span(time.Duration(o.Limit)*time.Millisecond) + ")"
	case paddock.ReasonOutputLimit:
		return "ended because " + string(o.Stream) + " passed its limit of " + size(o.Limit)
	case paddock.ReasonSink:
		return "killed because its output could not be kept" + detail
	case paddock.ReasonStart:
		return "the program could not be started (" + plain(o.Step) + ")" + detail
	case paddock.ReasonLost, paddock.ReasonHost:
		return lost(o)
	}
	return string(r.State) + detail
}

func lost(o paddock.Reason) string {
	text := "lost: its supervisor vanished without writing how it ended"
	if o.Kind == paddock.ReasonHost {
		text = "lost: the machine restarted while it ran"
	}
	if o.Evidence != nil && o.Evidence.Note != "" {
		text += " (" + plain(o.Evidence.Note) + ")"
	}
	return text
}

func summary(s paddock.StreamSummary) string {
	text := size(s.Bytes)
	if s.Dropped > 0 {
		text += fmt.Sprintf(", %s more were counted and not kept", size(s.Dropped))
	}
	if s.Digest != "" {
		text += ", " + string(s.Digest)
	}
	return text
}

// place is a position as compilers write it.
func place(p *paddock.Position) string {
	if p == nil || p.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d:%d", plain(p.File), p.Line, p.Column)
}
