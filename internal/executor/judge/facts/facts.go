package facts

import (
	"context"
	"os"
	"sync"

	"paddock"
	"paddock/internal/policy"
	"paddock/internal/trust"
)

// A Query says what to look at. The zero Query finds nothing.
type Query struct {
	Wanted policy.Wanted
	// Roots are the policy's, absolute, in its order.
	Roots []string
	// Dir is the working directory as the caller named it.
	Dir string
	// Stdin is the file to feed in; empty means none.
	Stdin string
	// SearchPath is the PATH that the program will get. It is consulted only
	// for scripts that name their interpreter through env.
	SearchPath string
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
	// StdinFile is the file to feed in, opened for reading; nil unless it can be.
	StdinFile *os.File
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
		f.Launch.File.Close()
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

	mu      sync.Mutex
	digests map[trust.Identity]paddock.Digest // guarded by mu
}

// New returns a Finder that trusts files of root and of the user it runs as.
func New() *Finder { return &Finder{owner: trust.User()} }

// mostDigests bounds the memory of a Finder; a policy has far fewer executables.
const mostDigests = 4096

func (f *Finder) remembered(id trust.Identity) (paddock.Digest, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d, ok := f.digests[id]
	return d, ok
}

func (f *Finder) remember(id trust.Identity, d paddock.Digest) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.digests == nil || len(f.digests) >= mostDigests {
		f.digests = make(map[trust.Identity]paddock.Digest)
	}
	f.digests[id] = d
}

// Find looks up everything that q asks for. It doesn't fail: what can't be
// looked at is reported as that, in the facts.
func (f *Finder) Find(ctx context.Context, q Query) *Found {
	found := &Found{Paths: map[string]policy.PathFacts{}}
	if q.Wanted.Executable != "" {
		found.Executable, found.Launch = f.executable(ctx, q)
	}
	roots := openRoots(q.Roots)
	defer roots.close()
	found.Dir, found.DirFile = roots.dir(q.Dir)
	if found.DirFile == nil {
		return found
	}
	for _, p := range q.Wanted.Paths {
		found.Paths[p] = roots.path(found.DirFile, found.Dir.Real, p)
	}
	if q.Stdin != "" {
		found.Stdin, found.StdinFile = roots.stdin(found.DirFile, found.Dir.Real, q.Stdin)
	}
	return found
}
