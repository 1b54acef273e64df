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
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"paddock"
	"paddock/internal/git/ground"
	"paddock/internal/git/parse"
	"paddock/internal/git/parse/printed"
	"paddock/internal/git/query"
	"paddock/internal/git/query/below"
	"paddock/internal/git/query/command"
	"paddock/internal/git/query/known"
	"paddock/internal/git/repository"
)

// Name is the room's, in requests and in policies.
const Name = "git"

// Executor is what the room needs of the one that starts programs.
type Executor interface {
	printed.Executor
	ground.Executor
	Output(ctx context.Context, id paddock.RunID, req paddock.PageRequest) (paddock.Page, error)
	// Refused has a refusal written down that came before anything was started.
	Refused(ctx context.Context, req paddock.Request, policy paddock.Digest, r *paddock.Refusal)
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
	mostRead    = printed.Most // bytes of output that are read into values
	mostStderr  = printed.MostStderr
	mostPreview = 2000 // characters that are shown
	mostDrivers = 200
	fatal       = 128 // git's status where it could do nothing
)

// Ask answers a question. What isn't allowed is a [*paddock.Refusal], which is written down. An answer
// may be that there is nothing to tell, with the reason in Notes.
func (r *Room) Ask(ctx context.Context, a Ask) (Answer, error) {
	s, out, name, policy, err := r.ready(ctx, a)
	if refusal, ok := errors.AsType[*paddock.Refusal](err); ok { // those that come later are the executor's, or of what git found
		req := a.request(a.Root)
		req.Command.Argv = []string{"git", a.Query.Tool()}
		r.exec.Refused(ctx, req, policy, refusal)
	}
	if err != nil || s == nil {
		return out, err
	}
	if a.Wait > 0 {
		limited, cancel := context.WithTimeout(ctx, a.Wait)
		defer cancel()
		ctx = limited
	}
	return s.answer(ctx, out, name)
}

// ready returns what is to ask git, before anything is started, with the path as it is
// relative to the root, and which policy was asked; no session where out is the answer already.
func (r *Room) ready(ctx context.Context, a Ask) (s *session, out Answer, name string, policy paddock.Digest, err error) {
	if err := a.Query.Check(); err != nil {
		return nil, Answer{}, "", "", err
	}
	g, err := ground.Of(ctx, r.exec, a.request(a.Root))
	if err != nil {
		return nil, Answer{}, "", g.Policy, err
	}
	if name, err = query.Within(g.Root, a.Query.Path()); err != nil {
		return nil, Answer{}, "", g.Policy, err
	}
	look, err := repository.Below(g.Root, g.Store)
	if err != nil {
		return nil, Answer{}, "", g.Policy, err
	}
	out = newAnswer(a.Query, look)
	switch {
	case look.Dir == "":
		return nil, out.said("There is no git repository at %s. (A repository is looked for at the root itself; where the root is a directory of one, the operator names that one in the policy, by `git.repositories`.)", g.Root), "", g.Policy, nil
	case a.Query.Worktree() && look.Bare:
		return nil, out.said("The repository is bare: it has no working tree.%s", query.Instead(a.Query)), "", g.Policy, nil
	}
	_, list := a.Query.(query.ListFiles)
	if err = cmp.Or(look.Path(name), look.Revisions(a.Query.Refs())); err == nil && g.Free {
		err = look.Alone(list || a.Query.Worktree())
	}
	if err != nil {
		return nil, Answer{}, "", g.Policy, err
	}
	s = &session{Room: r, ask: a, look: look, Asker: printed.Asker{Exec: r.exec, Request: a.request(look.Root)}, place: command.Place{Dir: look.Dir, Worktree: look.Top}}
	s.other, s.place.Writable = g.Other, g.Free
	s.tells = look.Prefix == "" && known.Tells(a.Query) // of a directory there may be nothing to tell
	s.quick = known.IDs(a.Query, s.tells, look.Named)
	if s.quick == nil {
		s.steps = known.Steps(a.Query, look.Named)
	}
	return s, out, name, g.Policy, nil
}

// request is what is asked of the executor for a, in dir, without the words.
func (a Ask) request(dir string) paddock.Request {
	return paddock.Request{Principal: a.Principal, Door: a.Door, Room: Name, Tied: a.Tied, Command: paddock.Command{Dir: dir}}
}

// A session is one question under way.
type session struct {
	*Room
	printed.Asker
	ask   Ask
	look  repository.Look
	place command.Place
	quick []string // the ids of what is named, where git needn't be asked first
	steps []string // ids with steps to what is named, where git can be asked meanwhile
	alone bool     // the ids are steps, which another run resolves
	tells bool     // the answer says which commit it is of
	stdin string   // what git is to read
	other bool     // files have other owners in a run
	apart bool     // submodules aren't looked at
}

// answer resolves, asks and reads.
func (s session) answer(ctx context.Context, out Answer, name string) (Answer, error) {
	if s.quick != nil {
		for i, ref := range s.ask.Query.Refs() {
			if !s.tells {
				out.Revisions = append(out.Revisions, Revision{ref, s.quick[i]})
			}
		}
		return s.asked(ctx, out, known.Commits(s.quick), name)
	}
	if q, ok := s.ask.Query.(query.Cat); ok {
		if a, told, err := s.once(ctx, out, q, name); err != nil || told {
			return a, err
		}
	}
	if s.steps != nil {
		if a, told, err := s.beside(ctx, out, s.steps, name); err != nil || told {
			return a, err
		}
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
	if err := s.within(ctx, name); err != nil {
		return Answer{}, err
	}
	var drivers []string
	if _, search := s.ask.Query.(query.Grep); s.ask.Query.Worktree() && !search { // which no filter is for
		if drivers, err = s.drivers(ctx); err != nil {
			return Answer{}, err
		}
		s.place.Unmoved = s.other && s.look.Unmoved(ctx)
		if inside, told := s.look.Nested(); told && !inside || !told && s.place.Writable {
			out, s.apart = out.said("Which commits submodules are at wasn't looked at: files of one lie elsewhere, or that isn't easily told."), true
		}
		if filters := parse.Filters(drivers); len(filters) > 0 {
			out = out.said("The repository's filters (%s) weren't run: files that they change when they are added may show as different.", parse.Shortened(strings.Join(filters, ", "), 200))
		}
	}
	out, run, err := s.main(ctx, out, s.place.Command(s.args(ids, name), drivers), s.args(ids, name))
	if err != nil || !run.State.Settled() {
		return out, err
	}
	if status, ok := parse.Exited(run); ok && status == fatal && (s.quick != nil || s.alone) {
		// Perhaps one of them names no commit: then that is what is to be said.
		if err := s.exec.Seen(s.ask.Principal, run.ID); err != nil {
			return Answer{}, err
		}
		if s.alone {
			return before, errNoCommit
		}
		s.quick, s.steps, before.Revisions = nil, nil, nil
		return s.answer(ctx, before, name)
	}
	stdout, cut, err := s.Read(ctx, run, paddock.Stdout, mostRead)
	if err != nil {
		return Answer{}, err
	}
	stderr, _, err := s.Read(ctx, run, paddock.Stderr, mostStderr*4)
	if err != nil {
		return Answer{}, err
	}
	out.fill(s.ask.Query, ids, run, stdout, stderr, cut)
	if s.quick != nil && s.tells && len(out.Commits) > 0 {
		out.Revisions = []Revision{{s.ask.Query.Refs()[0], out.Commits[0].ID}}
	}
	out.from(s.look.Prefix)
	return out, s.exec.Seen(s.ask.Principal, run.ID)
}

// args are the words after git's own options.
func (s session) args(ids []string, name string) []string {
	if s.look.Prefix == "" {
		return query.Apart(s.apart, s.ask.Query.Args(ids, name))
	}
	return query.Apart(s.apart, below.Args(s.ask.Query, ids, s.look.Prefix, name))
}

// resolved returns the commits that the question names; fewer than that where the
// answer is that there is none yet.
func (s session) resolved(ctx context.Context, out Answer) (Answer, []string, error) {
	refs := s.ask.Query.Refs()
	var ids []string
	if len(refs) > 1 {
		all, err := s.Commits(ctx, s.place.ResolveAll(refs))
		if err != nil {
			return Answer{}, nil, err
		}
		if len(all) == len(refs) { // else one of them is to be found that names none
			ids = all
		}
	}
	for i, id := range ids {
		out.Revisions = append(out.Revisions, Revision{refs[i], id})
	}
	for _, ref := range refs[len(ids):] {
		id, err := s.Commit(ctx, s.place.Resolve(ref))
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

// main runs the command that answers, and waits for it as long as is asked for:
// the run that comes back may go on.
func (s session) main(ctx context.Context, out Answer, argv, args []string) (Answer, paddock.Run, error) {
	run, err := s.Start(ctx, argv, "git "+s.ask.Query.Tool(), s.stdin)
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

// drivers returns the repository's filters and hooks: read from its settings where
// they are easily told, and else asked of git.
func (s session) drivers(ctx context.Context) ([]string, error) {
	if drivers, told := s.look.Drivers(); told && len(drivers) <= mostDrivers {
		return drivers, nil
	}
	stdout, status, run, err := s.Step(ctx, s.place.Settings(), "git: which filters and hooks there are")
	if err != nil {
		return nil, err
	}
	if status != 0 {
		return nil, s.Broken(ctx, run)
	}
	drivers, err := parse.Drivers(stdout)
	if err == nil && len(drivers) > mostDrivers {
		err = paddock.Refused(paddock.RepositoryRefused, "The repository sets %d filters and hooks; at most %d are taken.", len(drivers), mostDrivers)
	}
	return drivers, err
}
