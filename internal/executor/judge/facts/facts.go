package facts

import (
	"context"
	"errors"
	"os"

	"paddock"
	"paddock/internal/executor/judge/facts/roots"
	"paddock/internal/policy"
	"paddock/internal/trust"
)

// A Query says what to look at. The zero Query finds nothing.
type Query struct {
	Wanted policy.Wanted
	// Roots are the policy's, absolute, in its order.
	Roots []string
	// Workspace, when not empty, is a directory inside one of them that takes the
	// place of all.
	Workspace string
	// Apart are directories that only commands with a workspace get near: for others no
	// root is there that has one of them in it, or around it.
	Apart []string
	// Dir is the working directory as the caller named it.
	Dir string
	// Stdin is the file to feed in; empty means none.
	Stdin string
	// SearchPath is the PATH that the program will get. It is consulted only
	// for scripts that name their interpreter through env.
	SearchPath string
	// PrivateFiles is set when the run sees no files but those put there for it,
	// so that copies can be put in the place of others.
	PrivateFiles bool
}

// Found is what was seen, with the descriptors by which it was seen. Fields for
// what wasn't found are nil. Whoever receives a Found closes it.
type Found struct {
	Executable policy.ExecutableFacts
	Dir        policy.DirFacts
	Paths      map[string]policy.PathFacts
	Stdin      policy.StdinFacts

	// Launch is what is executed for the executable; nil unless it is safe.
	Launch *Launch
	// DirFile is the working directory, opened with O_PATH; nil unless it lies
	// inside a root.
	DirFile *os.File
	// Root is where the root was that it lies in, with links followed. By its name it may
	// lead elsewhere a moment later: of a workspace that lies in another, who runs there can
	// put a link in its place.
	Root string
	// StdinFile is the file to feed in, opened for reading; nil unless it can be.
	StdinFile *os.File

	// Fault is the first error that says nothing of what was looked at, as when no
	// descriptors are left. Then all above means nothing.
	Fault error
}

// note keeps err if it is a fault.
func (f *Found) note(err error) {
	if f.Fault == nil && trust.Fault(err) {
		f.Fault = err
	}
}

// A Launch is the binary that the kernel would end up running.
type Launch struct {
	// File is the binary. It may have been opened with O_PATH only.
	File *os.File
	// Path is where it was found.
	Path string
	// Before replaces argv[0]: the interpreters' words and the script's path.
	// Nil for a binary, which sees the word that the caller used.
	Before []string
	// Held is set when a lease keeps File's bytes as they were hashed.
	Held bool
	// Scripts are the pinned scripts on the way, which interpreters open by name,
	// and Copies what the run must see in the place of some of them.
	Scripts []string
	Copies  []Copy
}

// A Copy is a file that nobody can change, with the bytes that were hashed.
type Copy struct {
	Path string // of what was copied
	File *os.File
}

func (l *Launch) close() {
	l.File.Close()
	for _, c := range l.Copies {
		c.File.Close()
	}
}

// Argv returns the words that the binary sees for a command's argv.
func (l *Launch) Argv(argv []string) []string {
	if l.Before == nil || len(argv) == 0 {
		return append([]string(nil), argv...)
	}
	return append(append([]string(nil), l.Before...), argv[1:]...)
}

// Close closes every descriptor that is still held. It may be called again.
func (f *Found) Close() {
	if f == nil {
		return
	}
	if f.Launch != nil {
		f.Launch.close()
	}
	for _, file := range []*os.File{f.DirFile, f.StdinFile} {
		if file != nil {
			file.Close()
		}
	}
	f.Launch, f.DirFile, f.StdinFile = nil, nil, nil
}

// A Finder looks at the machine. It remembers digests of files that haven't
// changed. The zero Finder trusts root only; use [New].
type Finder struct {
	owner trust.Owner // whose files are trusted, beside root's

	memory memory
}

// New returns a Finder that trusts files of root and of the user it runs as.
func New() *Finder { return &Finder{owner: trust.User()} }

// Find looks up everything that q asks for. What can't be looked at is reported as
// that, in the facts, unless the fault is ours.
func (f *Finder) Find(ctx context.Context, q Query) *Found {
	found := &Found{Paths: map[string]policy.PathFacts{}}
	if q.Wanted.Executable != "" {
		found.Executable, found.Launch = f.executable(ctx, q, found)
	}
	in := roots.Open(q.Roots)
	defer in.Close()
	defer func() { found.note(in.Fault()) }()
	if q.Workspace != "" {
		in.Confine(q.Workspace)
	} else {
		in.Leave(q.Apart)
	}
	found.Dir, found.DirFile = in.Dir(q.Dir)
	if found.DirFile == nil {
		return found
	}
	found.Root = in.Real(found.Dir.Root)
	for _, p := range q.Wanted.Paths {
		found.Paths[p] = in.Path(found.DirFile, found.Dir.Real, p)
	}
	if q.Stdin != "" {
		found.Stdin, found.StdinFile = in.Stdin(found.DirFile, found.Dir.Real, q.Stdin)
	}
	return found
}

// Content returns the digest of the trusted file at p and, if it is a script, the
// interpreters that it leads to; searchPath is for those that it names through env.
func Content(ctx context.Context, p, searchPath string) (paddock.Digest, []paddock.Interpreter, error) {
	f := New()
	found := f.Find(ctx, Query{Wanted: policy.Wanted{Executable: p}, SearchPath: searchPath})
	defer found.Close()
	if found.Fault != nil {
		return "", nil, found.Fault
	}
	if found.Executable.Unsafe != "" {
		return "", nil, errors.New(found.Executable.Unsafe)
	}
	digest, err := f.DigestFile(ctx, p)
	return digest, found.Executable.Interpreters, err
}
