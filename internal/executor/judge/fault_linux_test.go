package judge

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/executor/judge/source"
	"paddock/internal/rundir"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, map[string]func() int{"starves": starves}) }

// hungry asks for all that is ever looked at: a pinned script and what reads it,
// found by PATH, a path among the arguments, a file to feed in, and a secret.
const hungry = `version: 1
roots: [{path: DIR/root}]
executables:
  - {name: tool, path: DIR/tool, sha256: DIGEST, args: [{allow: [<path>]}], network: ["a.example:443"]}
secrets: {KEY: {file: DIR/key, inject: {host: a.example, header: X-Key}}}
containment: {require: full, network: allowlist, exec: listed, exec_also: [/usr/bin/true]}
`

// starves judges one request with ever more descriptors to be had, from none on,
// and prints what came of each.
func starves() int {
	dir := os.Args[1]
	state, err := rundir.Open(filepath.Join(dir, "state"))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	j := New(Config{Policy: source.File(filepath.Join(dir, "policy.yaml")), State: state, Now: time.Now, Levels: func() ([]paddock.Level, map[paddock.Level]string) {
		return []paddock.Level{paddock.Full}, nil
	}})
	req := paddock.Request{
		Principal: paddock.Principal{Kind: paddock.Host, ID: "test"}, Door: paddock.DoorGo,
		Command: paddock.Command{Argv: []string{"tool", "file"}, Dir: filepath.Join(dir, "root"), Stdin: paddock.Stdin{File: "file"}},
	}
	fmt.Println(look(j, req)) // what the runtime opens once is open now
	first, err := os.Open(os.DevNull)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	n := uint64(first.Fd())
	_ = first.Close()
	for end := n + 40; n < end; n++ {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: end}); err != nil {
			fmt.Println(err)
			return 1
		}
		fmt.Println(look(j, req))
	}
	return 0
}

// look says in a word what came of a request.
func look(j *Judge, req paddock.Request) string {
	got := j.Judge(context.Background(), req)
	defer got.Close()
	if got.Fault != nil {
		if !errors.Is(got.Fault, unix.EMFILE) || !errors.Is(got.Fault, paddock.ErrFault) || got.Decision.Effect != "" {
			return fmt.Sprintf("%v with %+v", got.Fault, got.Decision)
		}
		return "fault"
	}
	if refusal := got.Decision.Refusal(); refusal != nil {
		return "refused: " + refusal.Error()
	}
	listed, err := j.Listed(context.Background(), got.Decision.Grant())
	switch {
	case errors.Is(err, unix.EMFILE):
		return "fault"
	case err != nil || len(listed) < 2:
		return fmt.Sprint(listed, err)
	}
	return "allowed"
}

// However few descriptors are left, nobody is refused for it: that is no fault of
// the request's, nor of the policy's.
func TestNoDescriptorsLeftIsNoRefusal(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const script = "#!/usr/bin/env sh\n"
	text := strings.NewReplacer("DIR", dir, "DIGEST", fmt.Sprintf("%x", sha256.Sum256([]byte(script)))).Replace(hungry)
	err = errors.Join(os.Mkdir(filepath.Join(dir, "root"), 0o755), os.WriteFile(filepath.Join(dir, "tool"), []byte(script), 0o755),
		os.WriteFile(filepath.Join(dir, "root", "file"), nil, 0o644), os.WriteFile(filepath.Join(dir, "key"), []byte("x"), 0o600),
		os.WriteFile(filepath.Join(dir, "policy.yaml"), []byte(text), 0o600), os.Chmod(filepath.Join(dir, "tool"), 0o755))
	if err != nil {
		t.Fatal(err)
	}
	out, err := testproc.Self(t, "starves", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	words := strings.Split(strings.TrimSpace(string(out)), "\n")
	faults := 0
	for _, word := range words[1:] {
		if word == "fault" {
			faults++
		} else if word != "allowed" {
			t.Error(word)
		}
	}
	if words[0] != "allowed" || words[len(words)-1] != "allowed" || faults < 5 {
		t.Errorf("%d faults in\n%s", faults, out)
	}
}
