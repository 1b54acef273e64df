// Package git answers questions about repositories that nobody trusts. A
// question is a value (package query); it becomes commands made of our own words,
// object ids and literal paths, each a run of its own that is judged by the
// policy's `git` section and contained as the policy says; what git prints is
// read into values (package parse). See docs/git.md.
//
// # Limits
//
// The package starts nothing: it asks the executor, which decides, contains and
// records. It changes no repository. What a hostile repository says of itself is
// shown as it is: authors, dates and messages are claims.
package git

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"time"

	"paddock"
	"paddock/internal/git/parse"
	"paddock/internal/git/query"
	"paddock/internal/git/query/below"
	"paddock/internal/git/query/command"
	"paddock/internal/git/repository"
)

// Name is the room's, in requests and in policies.
const Name = "git"

// Executor is what the room needs of the one that starts programs.
type Executor interface {
	Explain(ctx context.Context, req paddock.Request) (paddock.Decision, error)
	Start(ctx context.Context, req paddock.Request) (paddock.Run, error)
	Wait(ctx context.Context, id paddock.RunID) (paddock.Run, error)
	Follow(ctx context.Context, id paddock.RunID, s paddock.Stream, offset int64, w io.Writer) error
	Output(ctx context.Context, id paddock.RunID, req paddock.PageRequest) (paddock.Page, error)
	Seen(p paddock.Principal, id paddock.RunID) error
}

// A Room asks git. Its methods may be called concurrently.
type Room struct{ exec Executor }

// New returns a room that asks e.
func New(e Executor) *Room { return &Room{e} }

// An Ask is a question and who asks it.
type Ask struct {
	Principal paddock.Principal
	Door      paddock.Door
	Tied      bool // the runs end with whoever asks
	// Root is one of the policy's git roots; empty is the first.
	Root  string
	Query query.Query
	// Wait is the longest to wait for the answer; zero is as long as it takes.
	Wait time.Duration
}

const (
	mostRead    = 8 << 20 // bytes of output that are read into values
	mostStderr  = 600     // characters that are shown
	mostPreview = 2000    // likewise
	mostDrivers = 200
)

// Ask answers a question. What isn't allowed is a [*paddock.Refusal]. An answer
// may be that there is nothing to tell, with the reason in Notes.
func (r *Room) Ask(ctx context.Context, a Ask) (Answer, error) {
	if err := a.Query.Check(); err != nil {
		return Answer{}, err
	}
	root, store, err := r.root(ctx, a)
	if err != nil {
		return Answer{}, err
	}
	name, err := query.Within(root, a.Query.Path())
	if err != nil {
		return Answer{}, err
	}
	look, err := repository.Below(root, store)
	if err != nil {
		return Answer{}, err
	}
	out := newAnswer(a.Query, look)
	switch {
	case look.Dir == "":
		return out.said("There is no git repository at %s. (A repository is looked for at the root itself; where the root is a directory of one, the operator names that one in the policy, by `git.repositories`.)", root), nil
	case a.Query.Worktree() && look.Bare:
		return out.said("The repository is bare: it has no working tree.%s", query.Instead(a.Query)), nil
	}
	if name != "" {
		if err := look.Path(name); err != nil {
			return Answer{}, err
		}
	}
	if a.Wait > 0 {
		limited, cancel := context.WithTimeout(ctx, a.Wait)
		defer cancel()
		ctx = limited
	}
	s := session{Room: r, ask: a, look: look, place: command.Place{Dir: look.Dir, Worktree: look.Top}}
	s.quick = query.Known(a.Query, look.Named)
	return s.answer(ctx, out, name)
}

// root returns the policy's root that a means, and where the own files of the repository
// are that the policy has it to be a directory of. It is asked as a command would be:
// whoever may not ask git anything is refused before anything is looked at.
func (r *Room) root(ctx context.Context, a Ask) (root, store string, err error) {
	d, err := r.exec.Explain(ctx, paddock.Request{
		Principal: a.Principal, Door: a.Door, Room: Name, Tied: a.Tied,
		Command: paddock.Command{Argv: []string{"git", "--version"}, Dir: a.Root},
	})
	if err != nil {
		return "", "", err
	}
	if refusal := d.Refusal(); refusal != nil {
		return "", "", refusal
	}
	if real, err := filepath.EvalSymlinks(d.Grant.Root); err != nil || real != d.Grant.Dir {
		refusal := paddock.Refused(paddock.PathOutsideRoot, "%q is inside of the git root %s and not one itself.", a.Root, d.Grant.Root)
		refusal.Gate, refusal.Hint = "", "Name the root as the policy has it, or none for the first, and give the rest as the path."
		return "", "", refusal
	}
	if read := d.Grant.Contain.Read; len(read) > 0 {
		store = read[0]
	}
	return d.Grant.Root, store, nil
}

// A session is one question under way.
type session struct {
	*Room
	ask   Ask
	look  repository.Look
	place command.Place
	quick []string // the ids of what is named, where git needn't be asked first
}

// answer resolves, asks and reads.
func (s session) answer(ctx context.Context, out Answer, name string) (Answer, error) {
	if s.quick != nil {
		for i, ref := range s.ask.Query.Refs() {
			out.Revisions = append(out.Revisions, Revision{ref, s.quick[i]})
		}
		return s.asked(ctx, out, query.Commits(s.quick), name)
	}
	out, ids, err := s.resolved(ctx, out)
	if err != nil || len(ids) < len(s.ask.Query.Refs()) {
		return out, err
	}
	return s.asked(ctx, out, ids, name)
}

// asked asks for ids, and reads.
func (s session) asked(ctx context.Context, out Answer, ids []string, name string) (_ Answer, err error) {
	before := out
	if q, ok := s.ask.Query.(query.Cat); ok {
		return s.cat(ctx, out, q, ids, name)
	}
	var drivers []string
	switch _, search := s.ask.Query.(query.Grep); {
	case !s.ask.Query.Worktree():
	case search: // by no filter, but behind links
		if err := s.tracked(ctx, name); err != nil {
			return Answer{}, err
		}
	default:
		if drivers, err = s.drivers(ctx); err != nil {
			return Answer{}, err
		}
		out = out.unrun(drivers)
	}
	out, run, err := s.main(ctx, out, s.place.Command(s.args(ids, name), drivers), s.args(ids, name))
	if err != nil || !run.State.Settled() {
		return out, err
	}
	if status, ok := parse.Exited(run); ok && status == fatal && s.quick != nil {
		// Perhaps one of them names no commit: then that is what is to be said.
		if err := s.exec.Seen(s.ask.Principal, run.ID); err != nil {
			return Answer{}, err
		}
		s.quick, before.Revisions = nil, nil
		return s.answer(ctx, before, name)
	}
	stdout, cut, err := s.read(ctx, run, paddock.Stdout, mostRead)
	if err != nil {
		return Answer{}, err
	}
	stderr, _, err := s.read(ctx, run, paddock.Stderr, mostStderr*4)
	if err != nil {
		return Answer{}, err
	}
	out.fill(s.ask.Query, run, stdout, stderr, cut)
	out.from(s.look.Prefix)
	return out, s.exec.Seen(s.ask.Principal, run.ID)
}

// args are the words after git's own options.
func (s session) args(ids []string, name string) []string {
	if s.look.Prefix == "" {
		return s.ask.Query.Args(ids, name)
	}
	return below.Args(s.ask.Query, ids, s.look.Prefix, name)
}

// fatal is git's status where it could do nothing.
const fatal = 128

// resolved returns the commits that the question names; fewer than that where the
// answer is that there is none yet.
func (s session) resolved(ctx context.Context, out Answer) (Answer, []string, error) {
	refs := s.ask.Query.Refs()
	ids, err := s.together(ctx, refs)
	if err != nil {
		return Answer{}, nil, err
	}
	for i, id := range ids {
		out.Revisions = append(out.Revisions, Revision{refs[i], id})
	}
	for _, ref := range refs[len(ids):] {
		id, err := s.resolve(ctx, ref)
		if err != nil {
			return Answer{}, nil, err
		}
		if id == "" && ref == "HEAD" {
			return out.said("HEAD names no commit: the repository is empty, or its branch has no commit yet."), nil, nil
		}
		if id == "" {
			r := paddock.Refused(paddock.RevisionInvalid, "The revision %q names no commit here.", ref)
			if out.Shallow {
				r.Hint = "The repository is a shallow clone: what lies before its end isn't there."
			}
			return Answer{}, nil, r
		}
		ids = append(ids, id)
		out.Revisions = append(out.Revisions, Revision{ref, id})
	}
	return out, ids, nil
}

// together returns the ids of all of several refs, asked in one run; none where one of
// them names no commit, which is then to be found.
func (s session) together(ctx context.Context, refs []string) ([]string, error) {
	if len(refs) < 2 {
		return nil, nil
	}
	stdout, status, _, err := s.step(ctx, s.place.ResolveAll(refs), "git: what revisions name")
	if err != nil || status != 0 {
		return nil, err
	}
	if ids := parse.IDs(stdout); len(ids) == len(refs) {
		return ids, nil
	}
	return nil, nil
}

// main runs the command that answers, and waits for it as long as is asked for:
// the run that comes back may go on.
func (s session) main(ctx context.Context, out Answer, argv, args []string) (Answer, paddock.Run, error) {
	run, err := s.start(ctx, argv, "git "+s.ask.Query.Tool())
	if err != nil {
		return Answer{}, run, err
	}
	id := run.ID
	if run, err = s.exec.Wait(ctx, id); err != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) && s.ask.Wait > 0 {
			run = paddock.Run{ID: id, State: paddock.Running}
			out.of(run, args)
			return out.said("Git is still at work. Its end and its output are those of the task."), run, nil
		}
		return Answer{}, run, err
	}
	out.of(run, args)
	return out, run, nil
}

// start starts one command in the name of who asks.
func (s session) start(ctx context.Context, argv []string, label string) (paddock.Run, error) {
	return s.exec.Start(ctx, paddock.Request{
		Principal: s.ask.Principal, Door: s.ask.Door, Room: Name, Tied: s.ask.Tied,
		Command: paddock.Command{Argv: argv, Dir: s.look.Root, Label: label},
	})
}

// step runs a command that only prepares the answer, and returns what it printed
// and its status.
func (s session) step(ctx context.Context, argv []string, label string) (stdout []byte, status int, run paddock.Run, err error) {
	run, err = s.start(ctx, argv, label)
	if err == nil {
		run, err = s.exec.Wait(ctx, run.ID)
	}
	if err != nil {
		return nil, 0, run, err
	}
	if err := s.exec.Seen(s.ask.Principal, run.ID); err != nil {
		return nil, 0, run, err
	}
	status, ok := parse.Exited(run)
	if !ok {
		return nil, 0, run, s.broken(ctx, run)
	}
	stdout, cut, err := s.read(ctx, run, paddock.Stdout, mostRead)
	if err == nil && cut {
		err = paddock.Refused(paddock.RepositoryRefused, "The repository says more of itself than can be read (run %s).", run.ID)
	}
	return stdout, status, run, err
}

// broken refuses a repository that git can't read.
func (s session) broken(ctx context.Context, run paddock.Run) error {
	stderr, _, err := s.read(ctx, run, paddock.Stderr, mostStderr)
	if err != nil {
		return err
	}
	why := string(run.State)
	if len(bytes.TrimSpace(stderr)) > 0 {
		why += ": " + parse.Visible(bytes.TrimSpace(stderr), mostStderr)
	}
	return paddock.Refused(paddock.RepositoryRefused, "Git can't read the repository (run %s, %s)", run.ID, why)
}

// resolve returns the id of the commit that ref names, "" for none.
func (s session) resolve(ctx context.Context, ref string) (string, error) {
	stdout, status, run, err := s.step(ctx, s.place.Resolve(ref), "git: what a revision names")
	switch {
	case err != nil:
		return "", err
	case status == 0:
		return parse.ID(stdout)
	case status == 1 && len(stdout) == 0:
		return "", nil
	}
	return "", s.broken(ctx, run)
}

// drivers returns the repository's filters and hooks: read from its settings where
// they are easily told, and else asked of git.
func (s session) drivers(ctx context.Context) ([]string, error) {
	if drivers, told := s.look.Drivers(); told && len(drivers) <= mostDrivers {
		return drivers, nil
	}
	stdout, status, run, err := s.step(ctx, s.place.Settings(), "git: which filters and hooks there are")
	if err != nil {
		return nil, err
	}
	if status != 0 {
		return nil, s.broken(ctx, run)
	}
	drivers, err := parse.Drivers(stdout)
	if err == nil && len(drivers) > mostDrivers {
		err = paddock.Refused(paddock.RepositoryRefused, "The repository sets %d filters and hooks; at most %d are taken.", len(drivers), mostDrivers)
	}
	return drivers, err
}

// read returns the beginning of a stream of a settled run.
func (s session) read(ctx context.Context, run paddock.Run, stream paddock.Stream, most int) (text []byte, cut bool, err error) {
	b := parse.Beginning{Most: most}
	err = s.exec.Follow(ctx, run.ID, stream, 0, &b)
	if errors.Is(err, parse.ErrFull) {
		return b.Bytes(), true, nil
	}
	return b.Bytes(), parse.Lacking(run), err
}
