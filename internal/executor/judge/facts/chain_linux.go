package facts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/executor/judge/facts/pinned"
	"paddock/internal/executor/judge/facts/shebang"
	"paddock/internal/trust"
)

// mostInterpreters is how many scripts may stand behind one another, as in the
// kernel.
const mostInterpreters = 4

// A chain is the way from the file that the policy names to a binary.
type chain struct {
	*Finder
	ctx   context.Context
	query Query
	found *Found // which is told of faults

	digest paddock.Digest        // of the file that the policy names, if it is pinned
	seen   []paddock.Interpreter // the interpreters on the way
	launch Launch
}

// follow follows scripts to a binary. It owns prog, and the Launch that it
// returns owns the last file.
func (c *chain) follow(prog program) (_ *Launch, err error) {
	c.launch.File = prog.file
	defer func() {
		if err != nil {
			c.launch.close()
		}
	}()
	for scripts := 0; ; scripts++ {
		interp, arg, err := interpreter(prog)
		c.found.note(err)
		if err != nil {
			return nil, trust.Distrust(fmt.Sprintf("%s is a script that can't be followed: %s", prog.path, trust.InWords(prog.path, err)))
		}
		if err := c.fix(prog, interp != ""); err != nil {
			return nil, err
		}
		if interp == "" {
			c.launch.Path = prog.path
			return &c.launch, nil
		}
		if scripts == mostInterpreters {
			return nil, trust.Distrust(fmt.Sprintf("%s: more than %d scripts stand behind one another", prog.path, mostInterpreters))
		}
		if prog, err = c.next(prog, interp, arg); err != nil {
			return nil, err
		}
	}
}

// next goes from a script to what reads it.
func (c *chain) next(script program, interp, arg string) (program, error) {
	// What the kernel does: the word by which the script was called gives
	// way to the interpreter, its argument and the script's path.
	words := []string{interp}
	if arg != "" {
		words = append(words, arg)
	}
	words = append(words, script.path)
	if before := c.launch.Before; len(before) > 0 {
		words = append(words, before[1:]...)
	}
	c.launch.Before = words
	c.seen = append(c.seen, paddock.Interpreter{Path: interp, Argument: arg})
	prog, err := c.open(c.program(interp))
	c.found.note(err)
	if err != nil {
		return prog, trust.Distrust(fmt.Sprintf("the interpreter of %s: %s", script.path, missingInWords(interp, err)))
	}
	if path.Base(interp) != "env" {
		return prog, nil
	}
	prog, c.launch.Before, err = c.pastEnv(arg, words, c.query.SearchPath)
	if prog, err = c.open(prog, err); err != nil {
		c.found.note(err)
		return prog, trust.Distrust(fmt.Sprintf("%s names its interpreter through env: %s", script.path, trust.InWords(arg, err)))
	}
	c.seen = append(c.seen, paddock.Interpreter{Path: prog.path})
	return prog, nil
}

// open lets go of the file before and holds the next.
func (c *chain) open(prog program, err error) (program, error) {
	if err == nil {
		c.launch.File.Close()
		c.launch.File = prog.file
	}
	return prog, err
}

// fix looks at the digest of what is pinned, and sees to it that the bytes stay
// what they were then. What a pinned script is read by must be as sure as it is.
func (c *chain) fix(prog program, script bool) error {
	first := len(c.seen) == 0
	pinned := c.query.Wanted.Pins[prog.path] != "" || first && c.query.Wanted.Pinned
	switch {
	case !pinned && !c.query.Wanted.Pinned:
		return nil
	case !pinned && prog.uid == 0 && (!script || c.rootsAlone(prog)):
		return nil
	case !pinned:
		return trust.Distrust(fmt.Sprintf("%s, which reads the pinned %s, can be changed by user %d and isn't pinned itself; pin it as an executable of its own", prog.path, c.query.Wanted.Executable, prog.uid))
	case !prog.readable:
		return trust.Distrust(fmt.Sprintf("the content of %s can't be read to compare it with the policy's digest", prog.path))
	}
	digest, err := c.content(prog, script)
	c.found.note(err)
	if err != nil {
		return trust.Distrust(fmt.Sprintf("the content of %s can't be compared with the policy's digest: %v", prog.path, err))
	}
	if first {
		c.digest = digest
	} else {
		c.seen[len(c.seen)-1].Digest = digest
	}
	return nil
}

// content returns the digest of bytes that stay as they are.
func (c *chain) content(prog program, script bool) (paddock.Digest, error) {
	if !script {
		if err := c.hold(prog); err != nil {
			return "", err
		}
		return c.memory.Digest(c.ctx, prog.file)
	}
	c.launch.Scripts = append(c.launch.Scripts, prog.path)
	switch {
	case c.rootsAlone(prog):
		return c.memory.Digest(c.ctx, prog.file)
	case !c.query.PrivateFiles:
		return "", errors.New("it is a script, and its interpreter opens it by a name that others than root can change; give it and the directories above it to root, or require containment `full`, which runs a copy")
	}
	file, digest, err := pinned.Copy(c.ctx, prog.file)
	if err == nil {
		c.launch.Copies = append(c.launch.Copies, Copy{prog.path, file})
	}
	return digest, err
}

// hold keeps the bytes of a binary. Nobody but root can lease what is root's, nor
// write to it.
func (c *chain) hold(prog program) error {
	us := uint32(os.Geteuid())
	if prog.uid != us {
		return nil // root's: package trust knows no other owners
	}
	err := pinned.Hold(prog.file)
	if errors.Is(err, pinned.ErrNoLease) && us == 0 {
		return nil
	}
	c.launch.Held = err == nil
	return err
}

// rootsAlone reports whether root alone can change what prog's name leads to.
func (c *chain) rootsAlone(prog program) bool {
	end, err := trust.Owner{}.Reach(prog.path)
	c.found.note(err)
	if err != nil {
		return false
	}
	defer end.Close()
	var st unix.Stat_t
	return unix.Fstat(int(prog.file.Fd()), &st) == nil && st.Dev == end.Stat.Dev && st.Ino == end.Stat.Ino
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
