package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"paddock"
	"paddock/internal/policy/compiled"
	"paddock/internal/policy/compiled/document"
	"paddock/internal/policy/compiled/pattern"
	"paddock/internal/policy/compiled/pattern/program"
	"paddock/internal/policy/lookalike"
	"paddock/internal/policy/shell"
	"paddock/internal/policy/wellformed"
	"paddock/internal/policy/wellformed/phrase"
)

// argv judges the shape of the command, and of what the request says of itself.
func (j *judge) argv() {
	if problem := wellformed.Request(&j.req); problem != "" {
		j.Refuse(paddock.Position{}, paddock.Refused(paddock.InvalidRequest, "%s", problem))
	}
	argv := j.req.Command.Argv
	mostArgs, mostBytes, breaks := compiled.DefaultArgs, int64(compiled.DefaultArgBytes), false
	var at paddock.Position
	if e := j.executable; e != nil {
		mostArgs, mostBytes, breaks, at = e.MaxArgs, e.MaxArgBytes, e.LineBreaks, e.At
	}
	if len(argv) == 0 {
		j.Refuse(at, paddock.Refused(paddock.ArgvEmpty, "The command has no words."))
	}
	if len(argv) > mostArgs {
		j.Refuse(at, paddock.Refused(paddock.ArgvTooMany, "The command has %d words; at most %d are allowed.", len(argv), mostArgs))
		argv = argv[:mostArgs] // the others are as good as not there
	}
	var said []paddock.Code // each code once, for the first word
	for i, w := range argv {
		if code, problem := wellformed.Word(i, w, mostBytes, breaks); code != "" && !slices.Contains(said, code) {
			said = append(said, code)
			j.Refuse(at, paddock.Refused(code, "argv[%d] %s", i, problem))
		}
	}
	if len(argv) > 0 && j.executable == nil {
		if r := shell.Refused(argv); r != nil {
			j.Refuse(paddock.Position{}, r)
		}
	}
	j.Count(int64(len(argv)))
	j.shapely = j.Answer(paddock.GateArgv, paddock.Position{}, " words")
}

// word asks whether argv[0] is one of the policy's words.
func (j *judge) word() {
	argv := j.req.Command.Argv
	switch {
	case len(argv) == 0 || argv[0] == "":
		j.Skip(paddock.GateExecutable, "there is no word")
		return
	case j.executable != nil:
		j.Say(argv[0], " is ")
		j.Answer(paddock.GateExecutable, j.executable.At, j.executable.Path)
		return
	case j.Refused(paddock.ShellSyntax):
		j.Skip(paddock.GateExecutable, "argv[0] isn't a word")
		return
	}
	if bar, ok := j.policy.file.Barred[argv[0]]; ok {
		r := paddock.Refused(paddock.ExecutableNotAllowed, "%s isn't permitted here. %s", phrase.Quote(argv[0]), bar.Why)
		j.Refuse(bar.At, r)
		j.Answer(paddock.GateExecutable, paddock.Position{}, "")
		return
	}
	words := j.policy.Words()
	r := paddock.Refused(paddock.ExecutableNotAllowed, "%s isn't a permitted word. Permitted: %s.", phrase.Quote(argv[0]), phrase.List(words))
	like := lookalike.Of(argv[0], words)
	switch near := document.Nearest(argv[0], words); {
	case shell.IsShell(argv):
		r.Suggestion = shell.Suggest(shell.Line(argv))
		r.Hint = "A shell isn't permitted. Send the commands themselves, each as an argv array; the suggestion shows them where they can be told."
	case like != "":
		r.Hint = fmt.Sprintf("argv[0] has letters of another script that look like `%s`. Type the word anew in plain letters.", like)
	case slices.Contains(words, path.Base(argv[0])):
		r.Hint = fmt.Sprintf("Use the word `%s`, which stands for the policy's own path of it.", path.Base(argv[0]))
	case near != "":
		r.Hint = fmt.Sprintf("Did you mean `%s`?", near)
	}
	j.Refuse(j.policy.file.Sections["executables"], r)
	j.Answer(paddock.GateExecutable, paddock.Position{}, "")
}

// pin asks whether the file is there, safe, and the one that was pinned.
func (j *judge) pin() {
	e, f := j.executable, j.facts.Executable
	if e == nil {
		j.Skip(paddock.GatePin, "no executable to look at")
		return
	}
	detail, changed := j.policy.file.Pinned(e, f.Digest, f.Interpreters)
	switch {
	case !f.Found:
		j.Refuse(e.At, paddock.Refused(paddock.ExecutableMissing, "The policy permits %s as %s, but there is no such file.", e.Word(), e.Path))
	case f.Unsafe != "":
		j.Refuse(e.At, paddock.Refused(paddock.ExecutableUnsafe, "%s can't be trusted: %s.", e.Path, phrase.Shown(strings.TrimSuffix(f.Unsafe, "."))))
	case changed != nil:
		j.Refuse(e.At, changed)
	}
	j.Answer(paddock.GatePin, e.At, detail)
}

// arguments asks the executable's argument rules; the first that matches decides.
func (j *judge) arguments() {
	e := j.executable
	switch {
	case e == nil:
		j.Skip(paddock.GateArguments, "no executable whose rules could be asked")
		return
	case !j.shapely:
		j.Skip(paddock.GateArguments, "the words aren't in shape")
		return
	}
	passed, detail := &j.executable.ArgsAt, ""
	for i := range max(1, len(e.Layers)) { // each must allow, and each says why it doesn't
		if at, said, ok := j.asked(e.Layer(i)); ok && detail == "" {
			passed, detail = at, said
		}
	}
	if j.Answer(paddock.GateArguments, *passed, detail) {
		j.allowedAt = passed
	}
}

// asked asks one list of argument rules; at is the rule that allows.
func (j *judge) asked(e *compiled.Executable) (at *paddock.Position, detail string, ok bool) {
	if e.Any {
		return &e.ArgsAt, "any arguments are allowed", true
	}
	args := j.req.Command.Argv[1:]
	near := program.Nearest{Match: pattern.Match{At: -1}}
	for _, r := range e.Candidates(args) {
		m := j.match(r, args)
		switch {
		case m.OK && r.Deny:
			j.Refuse(r.At, r.Refusal())
			return at, "", false
		case m.OK && len(m.Outside) == 0:
			return &r.At, r.Allowed, true
		case !r.Deny:
			near.Take(r, m)
		}
	}
	if len(near.Match.Outside) > 0 {
		j.Refuse(near.Rule.At, phrase.Outside(near.Match.Outside, func(w string) string { return j.facts.Paths[w].Real }))
	} else {
		j.noForm(e, near)
	}
	return at, "", false
}

// match asks one rule. For a deny rule every path counts as inside a root: what is
// refused within the roots isn't allowed beyond them.
func (j *judge) match(r *compiled.ArgumentRule, args []string) pattern.Match {
	j.anywhere = r.Deny
	return r.Rule.Match(args, j.inside)
}

// noForm refuses with the forms that are allowed, and says what is wrong with
// the nearest.
func (j *judge) noForm(e *compiled.Executable, near program.Nearest) {
	r := paddock.Refused(paddock.ArgumentsNotAllowed, "")
	r.Message = e.Forms(phrase.List)
	if why := near.Match.Why(); why != "" {
		r.Hint = "In the nearest form " + why + ". " + r.Hint
	} else {
		r.Hint = "No form begins like this. " + r.Hint
	}
	if shell.HasOperators(j.req.Command.Argv) {
		r.Suggestion = shell.Suggest(shell.Quote(j.req.Command.Argv))
		r.Hint = "There is no shell: words such as && or | are passed to the program as they are. Run the parts as separate commands. " + r.Hint
	}
	j.Refuse(e.ArgsAt, r)
}
