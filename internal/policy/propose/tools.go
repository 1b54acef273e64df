package propose

import (
	"slices"
	"strings"
)

// A tool is a program for which a proposal knows sensible rules.
type tool struct {
	name    string
	markers []string // files of which one must be there
	write   func(*writer, tool)
}

var tools = []tool{
	{"go", []string{"go.mod", "go.work"}, goTool},
	{"gofmt", []string{"go.mod", "go.work"}, gofmt},
	{"npm", []string{"package.json"}, scripts},
	{"pnpm", []string{"pnpm-lock.yaml"}, scripts},
	{"yarn", []string{"yarn.lock"}, scripts},
	{"make", []string{"Makefile", "makefile", "GNUmakefile"}, makeTool},
	{"cargo", []string{"Cargo.toml"}, cargo},
	{"pytest", []string{"pyproject.toml", "pytest.ini", "setup.cfg", "tox.ini"}, pytest},
	{"ruff", []string{"pyproject.toml", "ruff.toml"}, ruff},
	{"mypy", []string{"mypy.ini", ".mypy.ini"}, mypy},
	{"mvn", []string{"pom.xml"}, maven},
	{"gradle", []string{"build.gradle", "build.gradle.kts"}, gradle},
	{"cmake", []string{"CMakeLists.txt"}, cmakeTool},
	{"ctest", []string{"CMakeLists.txt"}, ctest},
	{"ninja", []string{"build.ninja"}, ninja},
	{"git", []string{".git"}, git},
}

func goTool(w *writer, t tool) {
	w.begin(t)
	w.allow("[test]",
		"flags:",
		"  -run: <word>                    # both -run=Name and -run Name",
		"  -bench: <word>",
		"  -count: <int>",
		"  -timeout: \"<re:[0-9]+(s|m|h)>\"",
		"  -tags: \"<re:[A-Za-z0-9_.,]+>\"",
		"  -v: none",
		"  -race: none",
		"  -short: none",
		"  -failfast: none",
		"  -cover: none",
		"  -json: none",
		"rest: <package>...")
	w.allow("[build]", "flags: {-v: none, -race: none, -tags: \"<re:[A-Za-z0-9_.,]+>\"}", "rest: <package>...")
	w.allow("[vet]", "flags: {-json: none, -tags: \"<re:[A-Za-z0-9_.,]+>\"}", "rest: <package>...")
	w.allow("[list]", "flags: {-json: none, -deps: none, -test: none, -e: none}", "rest: <package>...")
	w.allow("[list, -m, all]")
	w.allow("[version]")
	w.deny("[run, ...]", "go run runs whatever it is given. Use go build, go vet or go test.")
	w.deny("[generate, ...]", "go generate runs commands that sources name. Ask the operator.")
	w.goEnvironment()
	w.passes("go", "test", "./...")
	w.passes("go", "test", "-run", "TestName", "-count=1", "-race", "./...")
	w.passes("go", "vet", "./...")
	w.passes("go", "build", "./...")
	w.passes("go", "list", "-deps", "./...")
	w.passes("go", "list", "-m", "all")
	w.passes("go", "version")
	w.refuses("go", "test", "-exec", "/bin/sh", "./...")
	w.refuses("go", "vet", "-vettool=/bin/sh", "./...")
	w.refuses("go", "run", ".")
	w.refuses("go", "generate", "./...")
}

func gofmt(w *writer, t tool) {
	w.begin(t)
	w.allow("[]", "flags: {-l: none, -d: none}", "rest: <path>...                   # paths inside a root")
	w.passes("gofmt", "-l", ".")
	w.refuses("gofmt", "-w", ".")
}

// scripts is for package managers that run the scripts of package.json.
func scripts(w *writer, t tool) {
	known := names(w.project.Scripts)
	if len(known) == 0 {
		return
	}
	w.line("  # Scripts are shell lines in package.json, which whoever edits that file decides.")
	w.begin(t)
	if slices.Contains(known, "test") {
		w.allow("[test]")
		w.passes(t.name, "test")
	}
	w.allow("[run, " + text("{"+strings.Join(known, ",")+"}") + "]")
	w.passes(t.name, "run", known[0])
	w.refuses(t.name, "exec", "anything")
	w.refuses(t.name, "install", "anything")
}

func makeTool(w *writer, t tool) {
	known := names(w.project.Targets)
	if len(known) == 0 {
		return
	}
	w.line("  # Targets are shell lines in the Makefile, which whoever edits that file decides.")
	w.begin(t)
	w.allow("[]", "flags: {-j: <int>, -k: none}", "rest: "+text("{"+strings.Join(known, ",")+"}..."))
	if w.builds { // targets that build Go want what the go command gets
		w.goEnvironment()
	}
	w.passes("make", known[0])
	w.refuses("make", "-f", "other.mk")
	w.refuses("make", "SHELL=/bin/other")
}

func cargo(w *writer, t tool) {
	w.begin(t)
	w.allow("["+text("{build,check,clippy,test}")+"]",
		"flags: {--release: none, --workspace: none, --all-targets: none, --locked: none, --offline: none, -p: <word>}",
		"rest: <word>...")
	w.allow("[fmt, --check]")
	w.deny("["+text("{run,install}")+", ...]", "This runs or installs a program. Use cargo build, check or test.")
	w.cargoEnvironment()
	w.passes("cargo", "test", "--locked")
	w.passes("cargo", "fmt", "--check")
	w.refuses("cargo", "--config", "build.rustc-wrapper=x", "build")
	w.refuses("cargo", "run")
}

func pytest(w *writer, t tool) {
	w.begin(t)
	w.allow("[]", "flags: {-q: none, -v: none, -x: none, -k: <word>, -m: <word>}", "rest: <path>...")
	w.passes("pytest", "-q")
	w.refuses("pytest", "-p", "plugin")
	w.refuses("pytest", "--rootdir=/")
}

func ruff(w *writer, t tool) {
	w.begin(t)
	w.allow("[check]", "rest: <path>...")
	w.allow("[format, --check]", "rest: <path>...")
	w.passes("ruff", "check")
	w.passes("ruff", "format", "--check")
	w.refuses("ruff", "check", "--config=x.toml")
}

// git gets no rules: even its reading commands start programs that a
// repository's configuration names.
func git(w *writer, _ tool) {
	w.line("  # git isn't proposed: even git status, log and diff start programs that a repository's")
	w.line("  # own configuration names (core.fsmonitor, textconv, filters, gpg.program).")
}
