package streamable

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"paddock/internal/httpapi/entry/shield"
	"paddock/internal/testproc"
)

// The official suite finds nothing wrong with how the revisions of today and before are
// carried, with names of its own in place of Paddock's tools. Without `make conformance`
// a few of its scenarios are played, if it was ever got.
func TestConformance(t *testing.T) {
	t.Parallel()
	node, suite, whole := suiteOf(t)
	for revision, some := range map[string]string{"2025-11-25": "server-sse-multiple-streams", "2026-07-28": "server-stateless"} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			out := t.TempDir()
			args := []string{suite, "server", "--url", fixed(t, revision) + "/mcp", "--output-dir", out}
			if whole {
				args = append(args, "--requirements", revision)
			} else {
				args = append(args, "--spec-version", revision, "--scenario", some)
			}
			cmd := testproc.Command(t, node, args...)
			cmd.Dir = out
			text, err := cmd.CombinedOutput()
			if at := strings.LastIndex(string(text), "=== SUMMARY"); at >= 0 {
				t.Logf("%s", text[at:])
			}
			if err != nil {
				t.Errorf("%v\n%s", err, text)
			}
		})
	}
}

// fixed is where the fixture is served, guarded as Paddock is.
func fixed(t *testing.T, revision string) (url string) {
	t.Helper()
	s := open(t, func(c *Config) { c.Body, c.Tick, c.Now = 4<<20, nil, time.Now })
	s.build = fixture
	if revision >= single { // what changes in one request is told in another
		all := fixture(t.Context())
		s.build = func(context.Context) *mcp.Server { return all }
	}
	guard, err := shield.New(shield.Config{Loopback: true, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(guard.Wrap(http.HandlerFunc(s.serve)))
	t.Cleanup(server.Close)
	t.Cleanup(s.door.Close) // before: streams end by it
	return server.URL
}

// suiteOf is where `make conformance` puts the suite and the interpreter that it needs,
// and whether all of it is wanted.
func suiteOf(t *testing.T) (node, suite string, whole bool) {
	t.Helper()
	dir := os.Getenv("PADDOCK_CONFORMANCE")
	if whole = dir != ""; !whole {
		dir = filepath.Join("..", "..", "..", "..", "bin", "conformance")
	}
	dir, err := filepath.Abs(filepath.Join(dir, "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	suite = filepath.Join(dir, "@modelcontextprotocol", "conformance", "dist", "index.js")
	found, err := filepath.Glob(filepath.Join(dir, "node-*", "bin", "node"))
	if _, missing := os.Stat(suite); err != nil || missing != nil || len(found) == 0 {
		if whole {
			t.Fatalf("the conformance suite isn't in %s: %v, %v", dir, missing, found)
		}
		t.Skip("the conformance suite isn't here; `make conformance` gets it")
	}
	return found[0], suite, whole
}
