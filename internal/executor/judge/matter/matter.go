// Package matter collects everything that an approval is bound to.
//
// # Limits
//
// Programs are hashed when they are looked at. What keeps them so until they are
// executed is that nobody but root and their owner may change them, or a pin.
package matter

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
	"paddock/internal/rundir"
)

// Of is the matter of what d would allow p, where asks are the questions of rules. The
// first of the programs is the file binary.
func Of(ctx context.Context, p paddock.Principal, d paddock.Decision, asks []paddock.Refusal, programs []string, binary *os.File, stdin paddock.Digest) (paddock.Matter, error) {
	g := d.Grant()
	m := paddock.Matter{
		Version: 1, Principal: p, RequestDigest: d.RequestDigest, PolicyDigest: d.PolicyDigest,
		Argv: g.Argv, Root: g.Root, Dir: g.Dir, EnvironmentNames: g.EnvironmentNames, Limits: g.Limits, Containment: g.Contain,
		EnvironmentDigest: paddock.DigestOf(sha256.Sum256([]byte(strings.Join(g.Environment, "\x00")))), Stdin: stdin,
	}
	for _, r := range asks {
		m.Rules, m.SecondFactor = append(m.Rules, r.Rule), m.SecondFactor || r.SecondFactor
	}
	for i, path := range programs {
		if slices.Contains(programs[:i], path) {
			continue
		}
		same := binary
		if i > 0 {
			same = nil
		}
		digest, err := contentOf(ctx, path, same)
		if err != nil {
			return m, fmt.Errorf("%w: what is to be approved can't be read: %w", paddock.ErrFault, err)
		}
		m.Programs = append(m.Programs, paddock.ProgramFile{Path: path, Digest: digest})
	}
	return m, nil
}

// Stdin is the digest of what the program reads; empty for nothing.
func Stdin(state *rundir.State, s paddock.Stdin) (paddock.Digest, error) {
	switch {
	case s.Text != nil:
		return paddock.DigestOf(sha256.Sum256([]byte(*s.Text))), nil
	case s.Run == "":
		return "", nil
	}
	dir, err := state.Run(s.Run)
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
