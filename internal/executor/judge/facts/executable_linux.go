package facts

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/executor/judge/facts/shebang"
	"paddock/internal/policy"
	"paddock/internal/trust"
)

// mostInterpreters is how many scripts may stand behind one another, as in the
// kernel.
const mostInterpreters = 4

// executable looks at the file that the policy names and follows it, through
// the scripts that it and its interpreters may be, to a binary.
func (f *Finder) executable(ctx context.Context, q Query) (policy.ExecutableFacts, *Launch) {
	var facts policy.ExecutableFacts
	prog, err := f.program(q.Wanted.Executable)
	if errors.Is(err, os.ErrNotExist) {
		return facts, nil
	}
	facts.Found = true
	if err != nil {
		facts.Unsafe = trust.InWords(q.Wanted.Executable, err)
		return facts, nil
	}
	if q.Wanted.Pinned {
		if facts.Digest, err = f.digest(ctx, prog); err != nil {
			prog.file.Close()
			facts.Unsafe = fmt.Sprintf("the content of %s can't be read to compare it with the policy's digest: %v", prog.path, err)
			return facts, nil
		}
	}
	launch, chain, err := f.chain(prog, q.SearchPath)
	facts.Interpreters = chain
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
	id       trust.Identity
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
	prog := program{path: p, readable: true, id: trust.IdentityOf(&end.Stat)}
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

// chain follows scripts to a binary. It owns prog, and the Launch that it
// returns owns the last file.
func (f *Finder) chain(prog program, searchPath string) (*Launch, []paddock.Interpreter, error) {
	var seen []paddock.Interpreter
	var before []string
	for scripts := 0; ; scripts++ {
		interp, arg, err := interpreter(prog)
		if err == nil && interp == "" {
			return &Launch{File: prog.file, Path: prog.path, Before: before}, seen, nil
		}
		prog.file.Close()
		if err != nil {
			return nil, seen, trust.Distrust(fmt.Sprintf("%s is a script that can't be followed: %s", prog.path, trust.InWords(prog.path, err)))
		}
		if scripts == mostInterpreters {
			return nil, seen, trust.Distrust(fmt.Sprintf("%s: more than %d scripts stand behind one another", prog.path, mostInterpreters))
		}
		// What the kernel does: the word by which the script was called gives
		// way to the interpreter, its argument and the script's path.
		words := []string{interp}
		if arg != "" {
			words = append(words, arg)
		}
		words = append(words, prog.path)
		if len(before) > 0 {
			words = append(words, before[1:]...)
		}
		before = words
		seen = append(seen, paddock.Interpreter{Path: interp, Argument: arg})
		script := prog.path
		if prog, err = f.program(interp); err != nil {
			return nil, seen, trust.Distrust(fmt.Sprintf("the interpreter of %s: %s", script, missingInWords(interp, err)))
		}
		if path.Base(interp) != "env" {
			continue
		}
		prog.file.Close()
		if prog, before, err = f.pastEnv(arg, before, searchPath); err != nil {
			return nil, seen, trust.Distrust(fmt.Sprintf("%s names its interpreter through env: %s", script, trust.InWords(arg, err)))
		}
		seen = append(seen, paddock.Interpreter{Path: prog.path})
	}
}

// pastEnv does what env would do, so that it needn't run: it finds the program
// in the PATH that env would have. before is env, its argument and the rest.
func (f *Finder) pastEnv(arg string, before []string, searchPath string) (program, []string, error) {
	words, err := shebang.ThroughEnv(arg)
	if err != nil {
		return program{}, nil, trust.Distrust(err.Error())
	}
	after := append(append([]string(nil), words...), before[2:]...)
	prog, err := f.lookUp(words[0], searchPath)
	return prog, after, err
}

// lookUp finds name in the directories of searchPath, which must be absolute.
func (f *Finder) lookUp(name, searchPath string) (program, error) {
	if strings.Contains(name, "/") {
		prog, err := f.program(name)
		if errors.Is(err, os.ErrNotExist) {
			err = trust.Distrust(name + " does not exist")
		}
		return prog, err
	}
	for _, dir := range strings.Split(searchPath, ":") {
		if !path.IsAbs(dir) {
			return program{}, trust.Distrust(fmt.Sprintf("PATH has the entry %q, which is not absolute", dir))
		}
		prog, err := f.program(path.Join(dir, name))
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
			continue
		}
		return prog, err
	}
	return program{}, trust.Distrust(fmt.Sprintf("%s is in no directory of PATH (%s)", name, searchPath))
}

// interpreter reads the first line of a script; a binary has none. What can't
// be read can't be a script that works, so it is left to the kernel.
func interpreter(prog program) (interp, arg string, err error) {
	if !prog.readable {
		return "", "", nil
	}
	head := make([]byte, shebang.HeadSize)
	n, err := prog.file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", "", err
	}
	interp, arg, err = shebang.FirstLine(head[:n])
	if err != nil {
		err = trust.Distrust(err.Error())
	}
	return interp, arg, err
}

// digest hashes the file through the descriptor by which it will be executed.
func (f *Finder) digest(ctx context.Context, prog program) (paddock.Digest, error) {
	if !prog.readable {
		return "", unix.EACCES
	}
	if d, ok := f.remembered(prog.id); ok {
		return d, nil
	}
	d, err := sum(ctx, prog.file)
	if err != nil {
		return "", err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(prog.file.Fd()), &st); err != nil {
		return "", err
	}
	if trust.IdentityOf(&st) != prog.id {
		return "", errors.New("it was changed while it was read")
	}
	f.remember(prog.id, d)
	return d, nil
}

// DigestFile returns the digest of the trusted file at p.
func (f *Finder) DigestFile(ctx context.Context, p string) (paddock.Digest, error) {
	prog, err := f.program(p)
	if err != nil {
		return "", errors.New(missingInWords(p, err))
	}
	defer prog.file.Close()
	return f.digest(ctx, prog)
}

func sum(ctx context.Context, file *os.File) (paddock.Digest, error) {
	h := sha256.New()
	buf := make([]byte, 1<<18)
	for off := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		n, err := file.ReadAt(buf, off)
		h.Write(buf[:n])
		off += int64(n)
		if errors.Is(err, io.EOF) {
			return paddock.DigestOf([32]byte(h.Sum(nil))), nil
		}
		if err != nil {
			return "", err
		}
	}
}

func missingInWords(p string, err error) string {
	if errors.Is(err, os.ErrNotExist) {
		return p + " does not exist"
	}
	return trust.InWords(p, err)
}
