package lint_test

import (
	"testing"

	"paddock"
	"paddock/internal/policy/propose"
	"paddock/internal/review/lint"
)

// What policy init proposes, for whatever there is, has nothing that lint would say.
func TestProposalsAreClean(t *testing.T) {
	markers := []string{"go.mod", "package.json", "pnpm-lock.yaml", "yarn.lock", "Makefile", "Cargo.toml", "pyproject.toml", ".git", "mypy.ini", "pom.xml", "build.gradle", "CMakeLists.txt", "build.ninja"}
	tools := map[string]string{}
	for _, name := range []string{"go", "gofmt", "npm", "pnpm", "yarn", "make", "cargo", "pytest", "ruff", "git", "mypy", "mvn", "gradle", "cmake", "ctest", "ninja"} {
		tools[name] = "/usr/bin/" + name
	}
	for _, levels := range [][]paddock.Level{{paddock.Full, paddock.Standard, paddock.Off}, {paddock.Standard, paddock.Off}} {
		text := propose.Propose(propose.Project{
			Root: "/data/checkout", Markers: markers, Tools: tools, Scripts: []string{"test", "build"}, Targets: []string{"all", "test"}, Levels: levels,
			GoModCache: "/data/go/pkg/mod", CargoHome: "/data/cargo", MavenRepository: "/data/m2",
		})
		found, err := lint.Lint("p.yaml", text, lint.Facts{})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range lint.Open(found) {
			t.Errorf("%s: %s at %s: %s %v", levels[0], f.ID, f.At, f.Message, f.Example)
		}
	}
}
