package screen

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
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"paddock"
	"paddock/cmd/paddock/internal/desk/screen/ends"
	"paddock/cmd/paddock/internal/desk/screen/finds"
	"paddock/internal/app"
)

// A Screen is where answers are shown. Out, Err, Getenv and Now must be set.
type Screen struct {
	Out, Err io.Writer
	// Terminal and ErrTerminal say that Out and Err are looked at by a person.
	Terminal, ErrTerminal bool
	// JSON is set when the answer is for a program.
	JSON   bool
	Getenv func(string) string
	Now    func() time.Time
}

// Say writes a line about what happened, each further line with the same prefix.
func (c *Screen) Say(label, text string) {
	prefix := "paddock: " + label + ": "
	if c.ErrTerminal {
		prefix = "paddock: " + c.paint(label, label) + ": "
	}
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		// A broken standard error leaves nobody to tell.
		_, _ = fmt.Fprintln(c.Err, prefix+Plain(line))
	}
}

// paint gives text the colour of what it means, where colour is wanted.
func (c *Screen) paint(meaning, text string) string {
	if c.Getenv("NO_COLOR") != "" || c.Getenv("TERM") == "dumb" {
		return text
	}
	colour := map[string]string{
		"error": "31", "refused": "31", "refuse": "31", "failed-to-start": "31", "lost": "31",
		"warning": "33", "waiting": "33", "killed": "33", "timeout": "33", "output-limit": "33",
		"hint": "36", "try": "36", "note": "2", "skipped": "2",
		"pass": "32", "allowed": "32", "running": "32", "bold": "1",
	}[meaning]
	if colour == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// Failure tells of what went wrong on our side, with what to do if that is known.
func (c *Screen) Failure(message, hint string) {
	c.Say("error", message)
	if hint != "" {
		c.Say("hint", hint)
	}
}

// Refusal shows one refusal whole: what, why, what to do, where it says so.
func (c *Screen) Refusal(r *paddock.Refusal) {
	c.Say("refused", string(r.Code)+": "+r.Message)
	if r.Hint != "" {
		c.Say("hint", r.Hint)
	}
	if s := r.Suggestion; s != nil {
		if s.Note != "" {
			c.Say("note", s.Note)
		}
		for _, argv := range s.Argvs {
			c.Say("try", "paddock run -- "+QuoteAll(argv))
		}
	}
	if p := Place(r.Position); p != "" {
		c.Say("note", "decided at "+p)
	}
	for _, other := range r.Others {
		c.Say("also refused", string(other.Code)+": "+other.Message)
	}
}

// Object writes v as one object. A person gets it indented.
func (c *Screen) Object(v any) error {
	enc := json.NewEncoder(c.Out)
	enc.SetEscapeHTML(false)
	if c.Terminal {
		enc.SetIndent("", "  ")
	}
	return enc.Encode(v)
}

// Run shows one run in a few lines.
func (c *Screen) Run(r paddock.Run) error {
	if c.JSON {
		return c.Object(r)
	}
	return c.Fields(c.runFields(r))
}

func (c *Screen) runFields(r paddock.Run) [][2]string {
	f := [][2]string{
		{"run", string(r.ID)},
		{"state", c.state(r.State, Describe(r))},
		{"command", QuoteAll(r.Argv)},
	}
	if r.Label != "" && r.Label != strings.Join(r.Argv, " ") {
		f = append(f, [2]string{"label", Plain(r.Label)})
	}
	f = append(f, [2]string{"directory", Plain(r.Dir)}, [2]string{"created", c.when(r.CreatedAt)})
	if r.StartedAt != nil {
		f = append(f, [2]string{"took", Span(time.Duration(r.Duration))})
	}
	if r.Asks {
		f = append(f, [2]string{"waiting", "silent for " + Span(time.Duration(r.Silent)) + " after a line that looks like a question; nobody answers a run"})
	}
	out, errs := r.Stdout, r.Stderr
	if r.Outcome != nil {
		out, errs = r.Outcome.Stdout, r.Outcome.Stderr
	}
	f = append(f, [2]string{"stdout", summary(out)}, [2]string{"stderr", summary(errs)})
	if r.Tree != "" {
		f = append(f, [2]string{"tree", string(r.Tree) + " (" + string(r.Isolation) + "), containment " + string(r.Containment)})
	}
	if o := r.Outcome; o != nil && o.CPU > 0 {
		f = append(f, [2]string{"processors", o.CPU.String() + " of their time"})
	}
	if o := r.Outcome; o != nil && o.Leftovers+o.Survivors > 0 {
		f = append(f, [2]string{"left behind", fmt.Sprintf("%d ended, %d still there", o.Leftovers, o.Survivors)})
	}
	f = append(append(f, stock(r)...), later(r.Addenda)...)
	if r.Outcome != nil {
		for _, d := range r.Outcome.Denied {
			f = append(f, [2]string{"denied", fmt.Sprintf("%d times: %s", d.Count, Plain(d.Text))})
		}
	}
	return f
}

// Detail shows everything that was written down about a run.
func (c *Screen) Detail(d app.Detail) error {
	if c.JSON {
		return c.Object(d)
	}
	r := d.Run
	f := append(c.runFields(r), [][2]string{
		{"principal", Plain(r.Principal.ID) + ", " + string(r.Principal.Kind) + ", by " + string(r.Door)},
		{"executable", Plain(r.Executable)},
		{"timeout", Span(time.Duration(r.Limits.Timeout))},
		{"output", "at most " + Size(r.Limits.Output) + " of each stream"},
	}...)
	f = append(f, limits(r.Limits)...)
	if len(d.EnvironmentNames) > 0 {
		f = append(f, [2]string{"asked for", QuoteAll(d.EnvironmentNames)})
	}
	if g := d.Decision.Grant(); g != nil {
		f = append(f, [2]string{"environment", QuoteAll(g.EnvironmentNames)})
	}
	f = append(f, enforced(r.Enforced)...)
	f = append(append(f, finds.Lines(r, Plain)...), deeds(r.Deeds)...)
	if p := r.Supervisor; p != nil {
		f = append(f, [2]string{"supervisor", fmt.Sprintf("process %d", p.PID)})
	}
	if r.Cgroup != "" {
		f = append(f, [2]string{"cgroup", Plain(r.Cgroup)})
	}
	f = append(f, [2]string{"request", string(r.RequestDigest)}, [2]string{"policy", string(r.PolicyDigest)})
	f = append(f, connections(d.Connections)...)
	if err := c.Fields(f); err != nil {
		return err
	}
	return c.gates(d.Decision.Gates)
}

// Runs shows a listing as a table, newest first.
func (c *Screen) Runs(list app.Listing) error {
	if c.JSON {
		if list.Runs == nil {
			list.Runs = []paddock.Run{} // an empty list is a list
		}
		return c.Object(list)
	}
	rows := [][]string{{"RUN", "STATE", "AGE", "TOOK", "OUTPUT", "LABEL"}}
	for _, r := range list.Runs {
		state := string(r.State)
		if r.State == paddock.Exited {
			state += exitCode(r)
		}
		label := r.Label
		if label == "" {
			label = QuoteAll(r.Argv)
		}
		rows = append(rows, []string{
			string(r.ID), state, Span(c.Now().Sub(r.CreatedAt)), Span(time.Duration(r.Duration)),
			Size(r.Stdout.Bytes + r.Stderr.Bytes), shorten(Plain(label), 60),
		})
	}
	if err := c.table(rows); err != nil {
		return err
	}
	if list.Next != "" {
		c.Say("note", "there are more: paddock ps --all --before "+string(list.Next))
	}
	return nil
}

func exitCode(r paddock.Run) string {
	if r.Outcome == nil || r.Outcome.Reason.ExitCode == nil {
		return ""
	}
	return " " + strconv.Itoa(*r.Outcome.Reason.ExitCode)
}

// End tells why a run ended, unless its program simply returned.
func (c *Screen) End(r paddock.Run) {
	switch r.State {
	case paddock.FailedToStart, paddock.Lost:
		c.Say("error", Describe(r))
	case paddock.RefusedState:
		c.Say("refused", Describe(r))
	case paddock.Killed, paddock.TimedOut, paddock.OutputLimit:
		c.Say("note", Describe(r))
	}
	for _, l := range r.Losses() {
		c.Say("warning", l.String())
	}
	if r.Outcome != nil {
		c.denied(r.ID, r.Outcome.Denied)
	}
	for _, text := range finds.Warnings(r, Plain) {
		c.Say("warning", text)
	}
	if r.Enforced != nil && r.Enforced.Workspace != "" {
		c.Say("note", "what the run changed is kept apart from the workspace: paddock diff "+string(r.ID))
	}
	if o := r.Outcome; o != nil && o.Survivors > 0 {
		c.Say("warning", fmt.Sprintf("%d processes of the run could not be ended; see paddock show %s", o.Survivors, r.ID))
	}
}

// mostDenied is how much of what the kernel refused is told at a run's end.
const mostDenied = 3

// denied tells what the kernel refused a run: the program's own message seldom
// says that it was the policy.
func (c *Screen) denied(id paddock.RunID, all []paddock.Denial) {
	for _, d := range all[:min(len(all), mostDenied)] {
		c.Say("note", Plain(d.Text))
	}
	if more := len(all) - mostDenied; more > 0 {
		c.Say("note", fmt.Sprintf("and %d other things that were refused; see paddock show %s", more, id))
	}
}

// Decision shows every gate with its ground.
func (c *Screen) Decision(d paddock.Decision) error {
	if c.JSON {
		return c.Object(d)
	}
	verdict := "refused"
	if d.Effect == paddock.Allow {
		verdict = "allowed"
	}
	by := ": there is no policy that could allow it"
	if d.PolicyDigest != "" {
		by = " by policy " + d.PolicyDigest.Short()
	}
	if _, err := fmt.Fprintf(c.Out, "%s%s\n", c.Painted(verdict, verdict), by); err != nil {
		return err
	}
	if err := c.gates(d.Gates); err != nil {
		return err
	}
	for _, r := range d.Refusals {
		c.Refusal(&r)
	}
	return nil
}

// gates shows what each gate answered, and why.
func (c *Screen) gates(gates paddock.Answers) error {
	var rows [][]string
	for g := range gates.All() {
		detail := Plain(g.Detail)
		if p := Place(g.Position); p != "" {
			detail += " (" + p + ")"
		}
		rows = append(rows, []string{"  " + string(g.Verdict), string(g.Gate), detail})
	}
	return c.table(rows)
}

// Fields writes names and values below each other.
func (c *Screen) Fields(f [][2]string) error {
	var b bytes.Buffer
	for _, line := range f {
		fmt.Fprintf(&b, "%-12s %s\n", line[0], line[1])
	}
	_, err := c.Out.Write(b.Bytes())
	return err
}

// table aligns columns. Cells must not be painted: escapes have no width.
func (c *Screen) table(rows [][]string) error {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(b.String()) {
		if _, err := io.WriteString(c.Out, strings.TrimRight(line, " \n")+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// Painted is paint for standard output.
func (c *Screen) Painted(meaning, text string) string {
	if !c.Terminal {
		return text
	}
	return c.paint(meaning, text)
}

// state is the state with its ground, as "exited with status 0".
func (c *Screen) state(s paddock.State, text string) string {
	return c.Painted(string(s), text)
}

// when is a time as a person reads it, with how long ago it was.
func (c *Screen) when(t time.Time) string {
	return t.Local().Format("2006-01-02 15:04:05") + " (" + Span(c.Now().Sub(t)) + " ago)"
}

// Describe says in one line how a run stands or why it ended.
func Describe(r paddock.Run) string {
	if r.Outcome == nil {
		return string(r.State)
	}
	o := r.Outcome.Reason
	detail := ""
	if o.Detail != "" {
		detail = ": " + Plain(o.Detail)
	}
	switch o.Kind {
	case paddock.ReasonExit:
		if o.ExitCode != nil {
			return "exited with status " + strconv.Itoa(*o.ExitCode)
		}
	case paddock.ReasonSignal:
		return "the program was ended by " + o.Signal + " from elsewhere"
	case paddock.ReasonKill:
		text := "killed on request"
		if o.Signal != "" {
			text += " with " + o.Signal
		}
		if o.Why != "" {
			text += ": " + Plain(o.Why)
		}
		return text
	case paddock.ReasonCallerGone:
		return "killed because its caller was gone"
	case paddock.ReasonLease:
		return "killed because its worker fell silent"
	case paddock.ReasonAbort:
		return "killed because its caller gave up"
	case paddock.ReasonShutdown:
		return "killed because its host program shut down"
	case paddock.ReasonDenied, paddock.ReasonExpired, paddock.ReasonChanged:
		return ends.Unapproved(o, Plain)
	case paddock.ReasonTimeout:
		return "ended because its time was over (" + Span(time.Duration(o.Limit)*time.Millisecond) + ")"
	case paddock.ReasonIdle:
		return "ended because it printed nothing for " + Span(time.Duration(o.Limit)*time.Millisecond) + detail
	case paddock.ReasonOutputLimit:
		return "ended because " + string(o.Stream) + " passed its limit of " + Size(o.Limit)
	case paddock.ReasonDiskReserve:
		return "ended because the disk of its output came down to its reserve of " + Size(o.Limit)
	case paddock.ReasonQuota:
		return "ended because it printed the " + Size(o.Limit) + " that a quota had left when it began" + detail
	case paddock.ReasonOutOfMemory:
		return "ended because it needed more memory than its limit of " + Size(o.Limit)
	case paddock.ReasonDiskLimit:
		return "ended because it wrote " + Size(o.Written) + " to the disk, and its limit is " + Size(o.Limit)
	case paddock.ReasonSink:
		return "killed because its output could not be kept" + detail
	case paddock.ReasonStart:
		return "the program could not be started (" + Plain(o.Step) + ")" + detail
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
		text += " (" + Plain(o.Evidence.Note) + ")"
	}
	return text
}

// Place is a position as compilers write it.
func Place(p *paddock.Position) string {
	if p == nil || p.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d:%d", Plain(p.File), p.Line, p.Column)
}
