package house

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"

	"paddock/internal/house/source"
)

// TheFile is the one file that starts programs.
const TheFile = "internal/spawn/spawn_linux.go"

// A starter is a place that may start programs in some way.
type starter struct {
	path string // a file, or a room when it ends in a slash
	all  bool   // by any route; else through os/exec only
	why  string
}

var starters = []starter{
	{TheFile, true, "the file"},
	{"internal/spawn/spawn_other.go", true, "the same for systems other than Linux"},
	{"internal/testproc/", false, "tests start their helpers here, and nothing shipped may import it"},
	{"cmd/paddock-demo/", false, "it plays the client that starts `paddock mcp`, as a coding agent does; it is never installed and nothing can import it"},
}

// startingImports are packages of the standard library, or next to it, whose
// importers can start programs or load foreign code.
var startingImports = map[string]string{
	"os/exec":                        "starts programs",
	"golang.org/x/sys/execabs":       "starts programs",
	"net/http/cgi":                   "starts programs",
	"go/build":                       "starts the go command",
	"go/importer":                    "starts the go command",
	"golang.org/x/tools/go/packages": "starts the go command",
	"plugin":                         "loads code that nobody here has read",
	"runtime/cgo":                    "is cgo",
	"C":                              "is cgo, which can call fork and exec",
}

// startingMembers are members that start or become a program, by package. x/sys
// repeats what syscall has.
var startingMembers = map[string]*regexp.Regexp{
	"os":                       regexp.MustCompile(`^(StartProcess|ProcAttr)$`),
	"syscall":                  startingCalls,
	"golang.org/x/sys/unix":    startingCalls,
	"golang.org/x/sys/windows": startingCalls,
	"golang.org/x/sys/plan9":   startingCalls,
}

var startingCalls = regexp.MustCompile(`^(ForkExec|StartProcess|ProcAttr|Exec|` +
	`CreateProcess\w*|ShellExecute\w*|(Must)?LoadDLL|NewLazy(System)?DLL|LoadLibrary\w*|` +
	`SYS_R?FORK|SYS_VFORK|SYS_CLONE\w*|SYS_EXEC\w*|SYS_POSIX_SPAWN)$`)

// rawCalls are system calls by number. They could be any call, so they are kept
// where programs are started and contained.
var rawCalls = regexp.MustCompile(`^(Raw|AllThreads)?(Raw)?[Ss]yscall(6|9|12|15|18|N|NoError)?$|^RawSyscallNoError$|^SYS_\w+$`)

var pragmas = regexp.MustCompile(`^//go:(linkname|cgo_\w+)\b`)

// Spawning finds everything that starts a program by another way than TheFile:
// imports, members, raw system calls, linkname, cgo, plugins and foreign files.
// Tests are held to it too; they start programs through internal/testproc.
func Spawning(t *source.Tree) []Finding {
	var found []Finding
	for _, f := range t.Files {
		by := startedBy(f.Path)
		if by != nil && by.all {
			continue
		}
		for _, w := range routes(f) {
			allowed := w.raw && source.Within(f.Dir, "internal/contain") ||
				by != nil && w.imported == "os/exec"
			if !allowed {
				found = append(found, source.Found("spawning", t.Where(w.at), "%s; %s", w.what, elsewhere(f)))
			}
		}
	}
	for _, name := range t.Foreign {
		if !regexp.MustCompile(`^internal/spawn/\w+_linux(_amd64|_arm64)?\.s$`).MatchString(name) {
			found = append(found, source.Found("spawning", name, "not Go; only the clone path in internal/spawn may have assembly"))
		}
	}
	return found
}

func elsewhere(f *source.File) string {
	if f.Test {
		return "tests start programs through internal/testproc"
	}
	return "only " + TheFile + " starts programs"
}

func startedBy(name string) *starter {
	for i, s := range starters {
		if s.path == name || strings.HasSuffix(s.path, "/") && strings.HasPrefix(name, s.path) {
			return &starters[i]
		}
	}
	return nil
}

// A route is one way to start a program, as met in a file.
type route struct {
	what     string
	imported string // the import path, when it is an import
	raw      bool   // a raw system call that doesn't name a starting one
	at       token.Pos
}

// routes lists the ways in f, of the module or of a guest.
func routes(f *source.File) []route {
	var all []route
	for _, spec := range f.AST.Imports {
		target := source.ImportPath(spec)
		if why, ok := startingImports[target]; ok {
			all = append(all, route{fmt.Sprintf("imports %s, which %s", target, why), target, false, spec.Pos()})
		}
	}
	f.Uses(func(pkg, member string, at token.Pos) {
		calls, ok := startingMembers[pkg]
		switch {
		case ok && calls.MatchString(member):
			all = append(all, route{fmt.Sprintf("uses %s.%s", pkg, member), "", false, at})
		case ok && rawCalls.MatchString(member):
			all = append(all, route{fmt.Sprintf("makes raw system calls (%s.%s)", pkg, member), "", true, at})
		}
	})
	return append(all, pragmaRoutes(f.AST)...)
}

func pragmaRoutes(syntax *ast.File) []route {
	var all []route
	for _, group := range syntax.Comments {
		for _, c := range group.List {
			if p := pragmas.FindString(c.Text); p != "" {
				all = append(all, route{"has " + p, "", false, c.Pos()})
			}
		}
	}
	return all
}

// Starters returns the guests among the linked packages, given as import path
// to Go files, whose own code can start programs. Raw system calls don't count:
// they are what x/sys is made of.
func Starters(linked map[string][]string) ([]string, error) {
	var starts []string
	for pkg, files := range linked {
		t, err := source.Parse(files, mayStart)
		if err != nil {
			return nil, err
		}
		can := func(f *source.File) bool {
			return slices.ContainsFunc(routes(f), func(w route) bool { return !w.raw && !strings.Contains(w.what, "SYS_") })
		}
		if slices.ContainsFunc(t.Files, can) {
			starts = append(starts, pkg)
		}
	}
	slices.Sort(starts)
	return starts, nil
}

// mayStart reports whether a file of a guest has to be read for [routes]: it imports what
// they are members of, or has what may be a pragma.
func mayStart(imports []string, text []byte) bool {
	return bytes.Contains(text, []byte("//go:linkname")) || bytes.Contains(text, []byte("//go:cgo_")) ||
		slices.ContainsFunc(imports, func(target string) bool {
			return startingImports[target] != "" || startingMembers[target] != nil
		})
}
