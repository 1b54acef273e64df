package facts

import (
	"context"
	"errors"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/executor/judge/facts/pinned"
	"paddock/internal/policy"
	"paddock/internal/trust"
)

// memory is what a Finder remembers.
type memory = pinned.Memory

// executable looks at the file that the policy names and follows it, through
// the scripts that it and its interpreters may be, to a binary.
func (f *Finder) executable(ctx context.Context, q Query, found *Found) (policy.ExecutableFacts, *Launch) {
	var facts policy.ExecutableFacts
	prog, err := f.program(q.Wanted.Executable)
	found.note(err)
	if errors.Is(err, os.ErrNotExist) {
		return facts, nil
	}
	facts.Found = true
	if err != nil {
		facts.Unsafe = trust.InWords(q.Wanted.Executable, err)
		return facts, nil
	}
	c := chain{Finder: f, ctx: ctx, query: q, found: found}
	launch, err := c.follow(prog)
	facts.Digest, facts.Interpreters = c.digest, c.seen
	if err != nil {
		facts.Unsafe = trust.InWords(q.Wanted.Executable, err)
		return facts, nil
	}
	return facts, launch
}

// A program is an open file that can be trusted and executed.
type program struct {
	file     *os.File
	path     string // as it was asked for
	readable bool
	uid      uint32 // whose it is
}

// program opens the file at p.
func (f *Finder) program(p string) (program, error) {
	if !path.IsAbs(p) {
		return program{}, trust.Distrust(p + " is not an absolute path")
	}
	end, err := f.owner.Reach(p)
	if err != nil {
		return program{}, err
	}
	defer end.Close()
	if err := executableByUs(end); err != nil {
		return program{}, err
	}
	prog := program{path: p, readable: true, uid: end.Stat.Uid}
	prog.file, err = end.Reopen()
	if errors.Is(err, unix.EACCES) { // may be executed but not read
		prog.readable = false
		prog.file, err = end.Keep()
	}
	if err != nil && prog.file != nil {
		prog.file.Close()
	}
	return prog, err
}

// executableByUs asks the kernel, which knows of access lists and of file
// systems mounted noexec, too.
func executableByUs(p *trust.Place) error {
	if p.Stat.Mode&0o111 == 0 {
		return trust.Distrust(p.Path + " has no execute permission")
	}
	err := unix.Faccessat2(int(p.File.Fd()), "", unix.X_OK, unix.AT_EMPTY_PATH|unix.AT_EACCESS)
	if errors.Is(err, unix.EACCES) {
		return trust.Distrust(p.Path + " can't be executed by this user, or its file system is mounted noexec")
	}
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) { // before Linux 5.8, or a filter of that age
		return nil
	}
	return err
}

// DigestFile returns the digest of the trusted file at p.
func (f *Finder) DigestFile(ctx context.Context, p string) (paddock.Digest, error) {
	prog, err := f.program(p)
	if err != nil {
		return "", errors.New(missingInWords(p, err))
	}
	defer prog.file.Close()
	if !prog.readable {
		return "", unix.EACCES
	}
	return f.memory.Digest(ctx, prog.file)
}

func missingInWords(p string, err error) string {
	if errors.Is(err, os.ErrNotExist) {
		return p + " does not exist"
	}
	return trust.InWords(p, err)
}
