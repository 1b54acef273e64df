package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

// The demonstration is the main job from end to end, on real input: it must come
// to its end, and what it shows must have happened.
func TestDemo(t *testing.T) {
	testproc.Build(t, "paddock/cmd/paddock")
	testproc.Build(t, "paddock/cmd/paddock-stage")
	demo := testproc.Build(t, "paddock/cmd/paddock-demo")
	out, err := testproc.Command(t, demo).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"Refused (shell_syntax)", `argv ["go","vet","./..."]`, `argv ["echo","done"]`,
		"go vet ./internal/policy/...   exited 0", "go test ./internal/policy/...  exited 0",
		"the evidence is whole", "I ignore SIGTERM", "killed", "In your own project, type next",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("it doesn't say %q", want)
		}
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}

// What the demonstration runs has no network, so what `make demo` does before it
// must bring every module that tests need too, where none was before.
func TestDemoBringsEveryModule(t *testing.T) {
	root := filepath.Join("..", "..")
	plan, err := testproc.Command(t, "make", "-n", "-C", root, "demo").CombinedOutput()
	if err != nil || !strings.Contains(string(plan), "go mod download") {
		t.Fatalf("make demo doesn't bring the modules: %v\n%s", err, plan)
	}
	fresh := freshMachine(t)
	modules := testproc.Command(t, "make", "-C", root, "modules")
	modules.Env = fresh
	if out, err := modules.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	list := testproc.Command(t, "go", "list", "-deps", "-test", "./...")
	list.Dir, list.Env = root, append(fresh, "GOPROXY=off")
	if out, err := list.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// freshMachine is the environment of somebody who has Go and nothing else: no
// module is in the cache. Those that this machine has are served as a proxy
// would serve them, and what it never needed is asked for where it asks.
func freshMachine(t *testing.T) []string {
	t.Helper()
	have := goEnv(t, "GOMODCACHE")
	fresh := filepath.Join(t.TempDir(), "modules")
	path := filepath.Join(goEnv(t, "GOROOT"), "bin") + string(os.PathListSeparator) + os.Getenv("PATH")
	return append(os.Environ(), "PATH="+path, "GOMODCACHE="+fresh, "GOFLAGS=-modcacherw",
		"GOPROXY=file://"+filepath.Join(have, "cache", "download")+","+goEnv(t, "GOPROXY"))
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := testproc.Command(t, "go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
