//go:build linux

package benchmarks_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"paddock/internal/testproc"
)

// madeAtStart is the line that Go writes of a package's initialisation.
var madeAtStart = regexp.MustCompile(`(?m)^init (\S+) @.* (\d+) allocs$`)

// notQuick begins the names of packages that must not be linked into what must be quick:
// what they make when they are linked in takes longer than what they do.
var notQuick = []string{"cel.dev/", "google.golang.org/", "github.com/antlr4-go/", "go.yaml.in/yaml/v3", "modernc.org/", "github.com/jackc/", "github.com/modelcontextprotocol/", "net/http", "crypto/tls"}

// fewTables is more than package unicode makes where no expression is reached.
const fewTables = 8

// TestProgramsStartWithLittle pins what our programs make before main runs, as
// numbers that no load and no machine changes: each costs every command and every
// run. Raise one only for what is needed in every start; all else is made when it
// is first needed (sync.OnceValue).
func TestProgramsStartWithLittle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		program, built string
		args           []string
		own, all       int
	}{
		{"paddock", testproc.Build(t, "paddock/cmd/paddock"), []string{"help"}, 480, 6200}, // most of ours is what a policy may look like
		{"paddock, quick", quick(t), []string{"run", "--help"}, 440, 1340},                 // the rest is the reader of policies, most of it
		{"paddock-stage", testproc.Build(t, "paddock/cmd/paddock-stage"), []string{"--protocol"}, 80, 460},
	} {
		cmd := testproc.Command(t, c.built, c.args...)
		cmd.Env = []string{"GODEBUG=inittrace=1"}
		var trace strings.Builder
		cmd.Stderr = &trace
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		own, all := 0, 0
		var most []string
		for _, m := range madeAtStart.FindAllStringSubmatch(trace.String(), -1) {
			n, err := strconv.Atoi(m[2])
			must(t, err)
			if m[1] == "paddock/internal/heap/page" {
				continue // addresses and no memory, as many as chance wants
			}
			if strings.HasPrefix(c.program, "paddock, quick") && slices.ContainsFunc(notQuick, func(p string) bool { return strings.HasPrefix(m[1], p) }) {
				t.Errorf("%s has %s linked in, which must be the other program's", c.program, m[1])
			}
			if c.program == "paddock-stage" && m[1] == "unicode" && n > fewTables {
				t.Errorf("paddock-stage makes %d tables of all characters' kinds: something that it reaches has an expression, as package prompt had", n)
			}
			all += n
			if strings.HasPrefix(m[1], "paddock/") {
				if own += n; n > 20 {
					most = append(most, m[1]+": "+m[2])
				}
			}
		}
		if all == 0 {
			t.Fatalf("%s: no trace of its initialisation:\n%s", c.program, trace.String())
		}
		if own > c.own || all > c.all {
			t.Errorf("%s makes %d allocations before main, %d in our own packages; at most %d and %d are wanted. Ours with most: %s",
				c.program, all, own, c.all, c.own, strings.Join(most, ", "))
		}
	}
}
