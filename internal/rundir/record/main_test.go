//go:build linux

package record

import (
	"os"
	"testing"
	"time"

	"paddock"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

var (
	alice = paddock.Principal{Kind: paddock.Agent, ID: "alice"}
	// epoch is when the runs of these tests are made.
	epoch = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
)

func clock() time.Time { return epoch.Add(time.Hour) }

// unwatched is for whoever doesn't ask about steps.
func unwatched(string) {}

// prepare writes a run down that the test looks after until it ends.
func prepare(t testing.TB, id paddock.RunID, rec Intent) *Dir {
	t.Helper()
	d, err := Prepare(t.TempDir(), id, rec, unwatched)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.ReleaseLock() })
	return d
}

// newID is an id made n milliseconds after epoch.
func newID(t testing.TB, n int) paddock.RunID {
	t.Helper()
	id, err := paddock.NewRunID(epoch.Add(time.Duration(n)*time.Millisecond), nil)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func intent(p paddock.Principal, argv ...string) Intent {
	if len(argv) == 0 {
		argv = []string{"go", "vet", "./..."}
	}
	return granted(paddock.Request{Principal: p, Door: paddock.DoorMCP, Command: paddock.Command{Argv: argv}})
}

// granted is the intent of a request that was allowed.
func granted(req paddock.Request) Intent {
	return Intent{Request: req, CreatedAt: epoch, Decision: paddock.Decision{
		Effect: paddock.Allow, RequestDigest: req.Digest(), PolicyDigest: paddock.DigestOf([32]byte{1}),
		Granted: paddock.Gives(&paddock.Grant{
			Executable: paddock.Executable{Name: "go", Path: "/usr/local/go/bin/go"},
			Argv:       req.Command.Argv, Root: "/srv/checkout", Dir: "/srv/checkout/sub",
			EnvironmentNames: []string{"HOME", "PATH"}, Environment: []string{"HOME=/h", "PATH=/bin", "SECRET=grant-value"},
			Limits:  paddock.Limits{Timeout: paddock.Duration(time.Minute), Output: 1 << 20},
			Contain: paddock.ContainAs{Level: paddock.Off},
		}),
	}}
}

func exited() paddock.Outcome {
	code := 0
	return paddock.Outcome{
		State: paddock.Exited, Reason: paddock.Reason{Kind: paddock.ReasonExit, ExitCode: &code},
		Stdout: paddock.StreamSummary{Bytes: 5, Digest: paddock.DigestOf([32]byte{2})}, Stderr: paddock.StreamSummary{Digest: paddock.DigestOf([32]byte{3})},
		EndedAt: epoch.Add(3 * time.Second), SettledAt: epoch.Add(4 * time.Second),
	}
}

func names(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// write replaces a file of a run, as a crash or a meddler would.
func write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
