package judge

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"paddock"
	"paddock/internal/policy"
)

// decide has the policy judge what was found. Where only rules stand against it that
// ask, and somebody could approve, it is judged as if they had.
func (j *Judgement) decide(p *policy.Policy, req paddock.Request) {
	j.Decision, j.would = policy.Decide(p, req, j.facts), nil
	if j.Decision.Effect != paddock.Ask || len(p.Approvals().Keys) == 0 {
		return
	}
	approved := j.facts
	approved.Approved = true
	if d := policy.Decide(p, req, approved); d.Effect == paddock.Allow {
		j.would = &d
	}
}

// granted is what the request gets, or would get if it were approved.
func (j *Judgement) granted() *paddock.Grant {
	if j.would != nil {
		return j.would.Grant
	}
	return j.Decision.Grant
}

// conclude adds what stands against the request beside the policy, and the hook's
// word, to both decisions.
func (j *Judgement) conclude(ctx context.Context, by *Judge, reasons []paddock.Refusal) {
	if j.would == nil {
		deny(&j.Decision, reasons...)
		if j.Decision.Effect == paddock.Allow && by.cfg.Hook != nil {
			by.ask(ctx, j.request, &j.Decision)
		}
		return
	}
	if j.request.Command.Stdin.File != "" {
		r := paddock.Refused(paddock.StdinNotAllowed, "What needs approval can't read a file on its standard input: the file can change after it was approved.")
		r.Gate, r.Hint = paddock.GateStdin, "Give text, or the output of a settled run."
		reasons = append(slices.Clip(reasons), *r)
	}
	deny(j.would, reasons...)
	if j.would.Effect == paddock.Allow && by.cfg.Hook != nil {
		by.ask(ctx, j.request, j.would)
	}
	if j.would.Effect != paddock.Allow { // no approval would help
		deny(&j.Decision, j.would.Refusals...)
		j.would = nil
		return
	}
	for i := range j.Decision.Refusals {
		r := &j.Decision.Refusals[i]
		r.Retryable, r.Hint = true, "A person can approve it, with `paddock approve`; ask for exactly the same again then."
	}
}

// Asks reports whether persons can approve the request.
func (j *Judgement) Asks() bool { return j.Fault == nil && j.would != nil }

// Approvals says who can approve, by the policy that judged.
func (j *Judgement) Approvals() paddock.Approvals { return j.policy.Approvals() }

// Approve makes j the decision that was approved. It must ask.
func (j *Judgement) Approve(id paddock.ApprovalID) {
	j.Decision, j.facts.Approved, j.would = *j.would, true, nil
	j.Decision.Approval = id
}

// Matter is what an approval of j is bound to. It must ask.
func (by *Judge) Matter(ctx context.Context, j *Judgement) (paddock.Matter, error) {
	g := j.would.Grant
	m := paddock.Matter{
		Version: 1, Principal: j.request.Principal, RequestDigest: j.would.RequestDigest, PolicyDigest: j.would.PolicyDigest,
		Argv: g.Argv, Root: g.Root, Dir: g.Dir, EnvironmentNames: g.EnvironmentNames, Limits: g.Limits, Containment: g.Contain,
		EnvironmentDigest: paddock.DigestOf(sha256.Sum256([]byte(strings.Join(g.Environment, "\x00")))),
	}
	for _, r := range j.Decision.Refusals {
		m.Rules = append(m.Rules, r.Rule)
	}
	seen := map[string]bool{}
	for i, path := range j.programs(g) {
		if seen[path] {
			continue
		}
		seen[path] = true
		same := j.Found.Launch.File
		if i > 0 {
			same = nil
		}
		digest, err := contentOf(ctx, path, same)
		if err != nil {
			return m, fmt.Errorf("%w: what is to be approved can't be read: %w", paddock.ErrFault, err)
		}
		m.Programs = append(m.Programs, paddock.ProgramFile{Path: path, Digest: digest})
	}
	var err error
	m.Stdin, err = by.read(j.request.Command.Stdin)
	return m, err
}

// read is the digest of what the program reads; empty for nothing.
func (by *Judge) read(s paddock.Stdin) (paddock.Digest, error) {
	switch {
	case s.Text != nil:
		return paddock.DigestOf(sha256.Sum256([]byte(*s.Text))), nil
	case s.Run == "":
		return "", nil
	}
	dir, err := by.cfg.State.Run(s.Run)
	if err != nil {
		return "", err
	}
	outcome, err := dir.Outcome()
	if err == nil && outcome == nil {
		err = fmt.Errorf("run %s is not over yet", s.Run)
	}
	if err != nil {
		return "", err
	}
	if s.Stream == paddock.Stderr {
		return outcome.Stderr.Digest, nil
	}
	return outcome.Stdout.Digest, nil
}

// contentOf is the digest of the file at path, which must be the file same if that
// isn't nil.
func contentOf(ctx context.Context, path string, same *os.File) (_ paddock.Digest, err error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s isn't a regular file", path)
	}
	if same != nil {
		judged, err := same.Stat()
		if err != nil {
			return "", err
		}
		if !os.SameFile(info, judged) {
			return "", fmt.Errorf("%s was exchanged while it was looked at", path)
		}
	}
	h := sha256.New()
	if _, err := io.Copy(h, &reader{ctx, file}); err != nil {
		return "", err
	}
	return paddock.DigestOf([sha256.Size]byte(h.Sum(nil))), nil
}

// reader ends with its context.
type reader struct {
	ctx  context.Context
	file *os.File
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.file.Read(p)
}
