package house_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paddock/internal/house"
	"paddock/internal/house/source"
)

// plant makes a module called paddock of the given files and parses it. A file
// may begin with its package clause; a package comment is added where the case
// isn't about comments.
func plant(t *testing.T, files map[string]string) *source.Tree {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module paddock\n"
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tr, err := source.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

type check func(*source.Tree) []house.Finding

// A violation is a small tree and what the check must say about it: a part of
// the one finding, or nothing at all when want is empty.
type violation struct {
	name  string
	files map[string]string
	want  string
}

// one is a tree of one file.
func one(name, text string) map[string]string { return map[string]string{name: text} }

func try(t *testing.T, run check, cases []violation) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			found := run(plant(t, tc.files))
			switch {
			case tc.want == "" && len(found) > 0:
				t.Errorf("got %q, want nothing", found)
			case tc.want != "" && len(found) != 1:
				t.Errorf("got %q, want one finding with %q", found, tc.want)
			case tc.want != "" && !strings.Contains(found[0].String(), tc.want):
				t.Errorf("got %q, want %q in it", found[0], tc.want)
			}
		})
	}
}

func importing(pkg string, paths ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n\n", pkg)
	for _, p := range paths {
		fmt.Fprintf(&b, "import _ %q\n", p)
	}
	return b.String()
}

func TestFloors(t *testing.T) {
	t.Parallel()
	try(t, house.Floors, []violation{
		{"down is fine", one("internal/app/a.go", importing("app", "paddock", "paddock/internal/policy", "fmt")), ""},
		{"up", one("internal/policy/a.go", importing("policy", "paddock/internal/app")), "internal/policy (floor 1) reaches up to internal/app (floor 7)"},
		{"up from the root", one("a.go", importing("paddock", "paddock/internal/policy")), ". (floor 0) reaches up"},
		{"between the floors", one("internal/rundir/a.go", importing("rundir", "paddock/internal/trust")), ""},
		{"up by half a floor", one("internal/policy/a.go", importing("policy", "paddock/internal/trust")), "internal/policy (floor 1) reaches up to internal/trust (floor 1.5)"},
		{"neighbour", one("internal/rundir/a.go", importing("rundir", "paddock/internal/artifact")), "are neighbours on floor 2"},
		{"neighbour's child", one("internal/rundir/a.go", importing("rundir", "paddock/internal/store/sqlite")), "are neighbours"},
		{"own child", one("internal/policy/a.go", importing("policy", "paddock/internal/policy/pattern")), ""},
		{"own parent", one("internal/policy/propose/a.go", importing("propose", "paddock/internal/policy")), ""},
		{"sibling", one("internal/policy/propose/a.go", importing("propose", "paddock/internal/policy/pattern")), "are neighbours on floor 1"},
		{"a kit may ask for what tests ask for", one("internal/store/storetest/a.go", importing("storetest", "testing", "paddock/internal/testproc", "paddock/internal/store")), ""},
		{"what is shipped may not ask for a kit", one("internal/store/a.go", importing("store", "paddock/internal/store/storetest")), "internal/store/storetest is for tests only"},
		{"a test may ask for a neighbour's kit", one("internal/lease/a_test.go", importing("lease", "paddock/internal/store/storetest")), ""},
		{"a kit may not look up", one("internal/store/storetest/a.go", importing("storetest", "paddock/internal/lease")), "reaches up"},
		{"a test may look at a neighbour", one("internal/executor/a_test.go", importing("executor", "paddock/internal/supervise")), ""},
		{"a test may not look up", one("internal/executor/a_test.go", importing("executor", "paddock/internal/app")), "reaches up"},
		{"an external test and its package", one("internal/executor/a_test.go", importing("executor_test", "paddock/internal/executor")), ""},
		{"no floor", one("internal/novelty/a.go", "package novelty\n"), "internal/novelty: this package has no floor"},
		{"no floor outside internal", one("pkg/a.go", "package pkg\n"), "no floor"},
		{"a name that says nothing", one("internal/policy/util/a.go", "package util\n"), "says nothing"},
		{"test kit in shipped code", one("internal/app/a.go", importing("app", "paddock/internal/testproc")), "for tests only"},
		{"test kit in a test", one("internal/app/a_test.go", importing("app", "paddock/internal/testproc")), ""},
		{"test kit imports a room", one("internal/testproc/a.go", importing("testproc", "paddock/internal/policy")), "imports none of them"},
		{"a prefix of a name isn't its parent", one("internal/policyx/a.go", importing("policyx", "paddock")), "no floor"},
		{"one command and another", one("cmd/paddock/a.go", importing("main", "paddock/cmd/paddock-stage/x")), "neighbours on floor 9"},
		{"testdata isn't code", one("internal/novelty/testdata/a.go", "package novelty\n"), ""},
		{"a module inside", map[string]string{"tools/go.mod": "module tools\n", "tools/a.go": "package tools\n"}, ""},
	})
}

func TestReserved(t *testing.T) {
	t.Parallel()
	try(t, house.Reserved, []violation{
		{"spawn by the heart", one("internal/executor/a.go", importing("executor", "paddock/internal/spawn")), ""},
		{"spawn by a verb", one("internal/app/a.go", importing("app", "paddock/internal/spawn")), "internal/spawn is reserved"},
		{"spawn by a test of another room", one("internal/app/a_test.go", importing("app", "paddock/internal/spawn")), "internal/spawn is reserved"},
		{"contain by a verb", one("internal/app/a.go", importing("app", "paddock/internal/contain")), "internal/contain is reserved"},
		{"contain by a command", one("cmd/paddock/a.go", importing("main", "paddock/internal/contain")), ""},
		{"sql", one("internal/app/a.go", importing("app", "database/sql")), "database/sql is reserved"},
		{"sql driver", one("internal/app/a.go", importing("app", "database/sql/driver")), "database/sql is reserved"},
		{"sql in a backend", one("internal/store/sqlite/a.go", importing("sqlite", "database/sql")), ""},
		{"pgx", one("internal/app/a.go", importing("app", "github.com/jackc/pgx/v5")), "pgx is reserved"},
		{"MCP", one("internal/app/a.go", importing("app", "github.com/modelcontextprotocol/go-sdk/mcp")), "go-sdk is reserved"},
		{"MCP as a client in a test", one("cmd/paddock/a_test.go", importing("main", "github.com/modelcontextprotocol/go-sdk/mcp")), ""},
		{"cobra", one("internal/app/a.go", importing("app", "github.com/spf13/cobra")), "cobra is reserved for cmd"},
		{"cel", one("internal/app/a.go", importing("app", "cel.dev/cel-go/cel")), "cel.dev/cel-go is reserved"},
		{"sh", one("internal/app/a.go", importing("app", "mvdan.cc/sh/v3/syntax")), "mvdan.cc/sh is reserved"},
		{"sh in policy", one("internal/policy/shell/a.go", importing("shell", "mvdan.cc/sh/v3/syntax")), ""},
		{"yaml", one("cmd/paddock/a.go", importing("main", "go.yaml.in/yaml/v4")), "go.yaml.in/yaml is reserved"},
		{"another yaml", one("internal/policy/a.go", importing("policy", "gopkg.in/yaml.v3")), "reserved for nobody"},
		{"unsafe", one("internal/app/a.go", importing("app", "unsafe")), "unsafe is reserved"},
		{"testing", one("internal/app/a.go", importing("app", "testing")), "testing is reserved"},
		{"testing in a test", one("internal/app/a_test.go", importing("app", "testing")), ""},
		{"testscript", one("internal/app/a_test.go", importing("app", "github.com/rogpeppe/go-internal/testscript")), "testscript is reserved"},
		{"dot import", one("internal/app/a.go", "package app\n\nimport . \"strings\"\n\nvar _ = ToUpper\n"), "dot import"},
		{"supervise reaches policy directly", one("internal/supervise/a.go", importing("supervise", "paddock/internal/policy")), "reaches internal/policy by way of internal/policy:"},
		{"supervise reaches policy through another", map[string]string{
			"internal/supervise/a.go": importing("supervise", "paddock/internal/rundir"),
			"internal/rundir/a.go":    importing("rundir", "paddock/internal/policy"),
			"internal/policy/a.go":    importing("policy"),
		}, "by way of internal/rundir → internal/policy"},
		{"the stage reaches the verbs", one("cmd/paddock-stage/a.go", importing("main", "paddock/internal/app")), "reaches internal/app"},
		{"a test of supervise may judge", one("internal/supervise/a_test.go", importing("supervise", "paddock/internal/policy")), ""},
	})
}

func TestPurity(t *testing.T) {
	t.Parallel()
	uses := func(expr string, paths ...string) string {
		var b strings.Builder
		b.WriteString("package policy\n\n")
		for _, p := range paths {
			fmt.Fprintf(&b, "import %q\n", p)
		}
		return b.String() + "\nvar _ = " + expr + "\n"
	}
	cases := []violation{
		{"a value of time", one("internal/policy/a.go", uses("time.Second", "time")), ""},
		{"renamed import", one("internal/policy/a.go", "package policy\n\nimport clock \"time\"\n\nvar _ = clock.Now\n"), "uses time.Now"},
		{"a local name is no package", one("internal/policy/a.go",
			"package policy\n\nimport \"time\"\n\ntype c struct{ Now int }\n\nvar _ time.Duration\n\nfunc f(time c) int { return time.Now }\n"), ""},
		{"a context with a deadline", one("a.go", uses("context.WithTimeout", "context")), "uses context.WithTimeout"},
		{"links followed", one("internal/policy/shell/a.go", uses("filepath.EvalSymlinks", "path/filepath")), "uses path/filepath.EvalSymlinks"},
		{"a test may look", one("internal/policy/a_test.go", importing("policy", "os", "time")), ""},
		{"floor 2 may look", one("internal/rundir/a.go", importing("rundir", "os")), ""},
	}
	for _, p := range []string{"os", "os/exec", "os/user", "net", "net/http", "syscall", "golang.org/x/sys/unix", "io/ioutil", "log", "log/slog", "crypto/rand", "math/rand/v2"} {
		cases = append(cases, violation{"import " + p, one("internal/redact/a.go", importing("redact", p)), "imports " + p})
	}
	for _, m := range []string{"Now", "Since", "Until", "After", "Sleep", "NewTimer", "NewTicker", "AfterFunc", "LoadLocation"} {
		cases = append(cases, violation{"time." + m, one("internal/policy/a.go", uses("time."+m, "time")), "uses time." + m})
	}
	try(t, house.Purity, cases)
}

func TestSpawning(t *testing.T) {
	t.Parallel()
	exec := "package x\n\nimport \"os/exec\"\n\nvar _ = exec.Command\n"
	use := func(path, expr string) string {
		return fmt.Sprintf("package x\n\nimport %q\n\nvar _ = %s\n", path, expr)
	}
	cases := []violation{
		{"the file", one(house.TheFile, exec), ""},
		{"the other systems", one("internal/spawn/spawn_other.go", exec), ""},
		{"beside the file", one("internal/spawn/more_linux.go", exec), "imports os/exec"},
		{"a test beside the file", one("internal/spawn/spawn_linux_test.go", exec), "tests start programs through internal/testproc"},
		{"a test", one("internal/app/a_test.go", exec), "imports os/exec"},
		{"the test kit", one("internal/testproc/a.go", exec), ""},
		{"the test kit by another way", one("internal/testproc/a.go", use("os", "os.StartProcess")), "uses os.StartProcess"},
		{"the demo", one("cmd/paddock-demo/main.go", exec), ""},
		{"a command", one("cmd/paddock/main.go", exec), "only internal/spawn/spawn_linux.go starts programs"},
		{"a script that no build sees", one("internal/app/gen.go", "//go:build ignore\n\n"+exec), "imports os/exec"},
		{"another system's file", one("internal/app/a_windows.go", exec), "imports os/exec"},
		{"aliased", one("internal/app/a.go", "package app\n\nimport s \"syscall\"\n\nvar _ = s.ForkExec\n"), "uses syscall.ForkExec"},
		{"cgo", one("internal/app/a.go", "package app\n\nimport \"C\"\n"), "imports C"},
		{"linkname", one("internal/app/a.go", "package app\n\n//go:linkname fork syscall.fork\nfunc fork()\n"), "has //go:linkname"},
		{"cgo pragma", one("internal/app/a.go", "package app\n\n//go:cgo_import_dynamic x y z\n"), "has //go:cgo_import_dynamic"},
		{"assembly", one("internal/app/a_amd64.s", "TEXT ·f(SB),0,$0\n"), "internal/app/a_amd64.s: not Go"},
		{"assembly of the clone path", one("internal/spawn/clone_linux_amd64.s", "TEXT ·f(SB),0,$0\n"), ""},
		{"assembly for another system", one("internal/spawn/clone_darwin_arm64.s", "x"), "not Go"},
		{"an object", one("internal/spawn/a.syso", "x"), "not Go"},
		{"raw in contain", one("internal/contain/a.go", use("golang.org/x/sys/unix", "unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, 0)")), ""},
		{"clone in contain", one("internal/contain/a.go", use("golang.org/x/sys/unix", "unix.SYS_CLONE3")), "uses golang.org/x/sys/unix.SYS_CLONE3"},
		{"raw elsewhere", one("internal/rundir/a.go", use("syscall", "syscall.RawSyscall6")), "makes raw system calls"},
		{"an ordinary call", one("internal/rundir/a.go", use("golang.org/x/sys/unix", "unix.Openat2")), ""},
		{"signals", one("internal/supervise/a.go", use("syscall", "syscall.Kill")), ""},
		{"attributes in a test", one("internal/app/a_test.go", use("syscall", "syscall.SysProcAttr{}")), ""},
	}
	for _, p := range []string{"plugin", "net/http/cgi", "go/build", "go/importer", "golang.org/x/tools/go/packages", "golang.org/x/sys/execabs"} {
		cases = append(cases, violation{"import " + p, one("internal/app/a.go", importing("app", p)), "imports " + p})
	}
	for _, m := range []string{
		"ForkExec", "StartProcess", "Exec", "Syscall", "Syscall6", "RawSyscall", "RawSyscall6", "AllThreadsSyscall",
		"SYS_CLONE", "SYS_CLONE3", "SYS_FORK", "SYS_VFORK", "SYS_EXECVE", "SYS_EXECVEAT", "SYS_GETPID", "NewLazyDLL", "CreateProcess",
	} {
		cases = append(cases, violation{"syscall." + m, one("internal/app/a.go", use("syscall", "syscall."+m)), "syscall." + m})
	}
	for _, m := range []string{"Exec", "SYS_CLONE", "SYS_EXECVE", "Syscall", "RawSyscallNoError"} {
		cases = append(cases, violation{"unix." + m, one("internal/app/a.go", use("golang.org/x/sys/unix", "unix."+m)), "unix." + m})
	}
	try(t, house.Spawning, cases)
}
