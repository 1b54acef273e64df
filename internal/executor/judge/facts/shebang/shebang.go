// Package shebang reads the first line of a script as the kernel does.
//
// # Limits
//
// It reads what it is given: package facts opens the files, and follows the
// interpreters that are named here.
package shebang

import (
	"bytes"
	"errors"
	"path"
	"strings"
)

// HeadSize is how much of a file the kernel looks at before it runs it
// (BINPRM_BUF_SIZE in include/uapi/linux/binfmts.h).
const HeadSize = 256

var (
	errNoInterpreter = errors.New("its first line names no interpreter")
	errLongFirstLine = errors.New("its first line is longer than the kernel reads, so the interpreter's name is cut")
	errCarriage      = errors.New("its first line ends with a carriage return (Windows line end), which the kernel takes for a part of the interpreter's name")
	errRelative      = errors.New("its first line names the interpreter by a relative path, which would depend on the working directory")
)

// FirstLine reads what the kernel reads in the head of a file: the interpreter
// and its one optional argument. It follows load_script in fs/binfmt_script.c.
// A file that isn't a script gives an empty interpreter and no error.
func FirstLine(head []byte) (interpreter, argument string, err error) {
	if !bytes.HasPrefix(head, []byte("#!")) {
		return "", "", nil
	}
	var buf [HeadSize]byte // what is beyond a short file reads as zeros
	copy(buf[:], head)
	line := buf[2 : HeadSize-1]
	if i := bytes.IndexByte(buf[:], '\n'); i >= 0 && bytes.IndexByte(buf[:i], 0) < 0 {
		line = buf[2:i]
	} else if trimmed := bytes.TrimLeft(line, " \t"); len(trimmed) == 0 {
		return "", "", errNoInterpreter
	} else if !bytes.ContainsAny(trimmed, " \t\x00") {
		return "", "", errLongFirstLine
	}
	line = bytes.Trim(line, " \t")
	name := line
	if i := bytes.IndexAny(line, " \t\x00"); i >= 0 {
		name = line[:i]
		if line[i] != 0 {
			arg, _, _ := bytes.Cut(bytes.TrimLeft(line[i:], " \t"), []byte{0})
			argument = string(arg)
		}
	}
	interpreter = string(name)
	switch {
	case interpreter == "":
		return "", "", errNoInterpreter
	case strings.HasSuffix(interpreter, "\r") || strings.HasSuffix(argument, "\r"):
		return "", "", errCarriage
	case !path.IsAbs(interpreter):
		return "", "", errRelative
	}
	return interpreter, argument, nil
}

// ThroughEnv reads the argument that a script passes to env: a name to look up
// in PATH, or with -S a name and words. What env could do beyond that is not
// understood and refused, since then we couldn't say what would run.
func ThroughEnv(argument string) (words []string, err error) {
	rest, split := strings.CutPrefix(argument, "-S")
	if split {
		if strings.ContainsAny(rest, "\\\"'$#") {
			return nil, errors.New("the words after env -S are quoted or hold variables")
		}
		words = strings.Fields(rest)
	} else if argument != "" {
		words = []string{argument}
	}
	switch {
	case len(words) == 0:
		return nil, errors.New("env is given no program")
	case strings.HasPrefix(words[0], "-"):
		return nil, errors.New("env is given the option " + words[0])
	case strings.Contains(words[0], "="):
		return nil, errors.New("env is told to set a variable")
	case strings.ContainsAny(words[0], " \t"):
		return nil, errors.New("env would look for a program whose name has blanks; `env -S` splits words")
	}
	return words, nil
}
