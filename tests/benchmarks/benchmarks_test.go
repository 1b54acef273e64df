//go:build linux

// Package benchmarks_test measures Paddock side by side with what it is compared
// to: one process on one machine takes a sample of each in turn, so that the
// ratios mean something where the times don't. `make bench` runs it, and
// docs/benchmarks.md tells how to read what comes out. Without -results it goes
// through everything once and small, so that it still works when it is needed.
package benchmarks_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"paddock/internal/testproc"
)

var (
	results = flag.String("results", "", "measure, and write every sample to this file as JSON")
	record  = flag.Bool("record", false, "also write the results and their table into docs/")
	rounds  = flag.Int("rounds", 60, "how many times each start is measured; large outputs are measured a twentieth as often")
	disk    = flag.String("disk", "", "a directory on a disk (default: the directory for temporary files)")
	size    = flag.Int64("bytes", 1<<30, "how many bytes of output are kept")
	only    = flag.String("only", "", "measure only the rows whose name and place (\"paddock run, full tmpfs\") this expression matches, and what they are compared to")
	srt     = flag.String("sandbox-runtime", "", "the srt command of sandbox-runtime, where it isn't in PATH")
)

func TestMain(m *testing.M) {
	testproc.Main(m, map[string]func() int{"writer": writer, "keeper": keeperMain})
}

// A series is what was measured of one thing in one place.
type series struct {
	What    string    `json:"what"`
	Place   string    `json:"place,omitempty"` // where the state directory is
	Unit    string    `json:"unit"`
	Samples []float64 `json:"samples"` // in the order in which they were taken
}

// A sheet is the raw results of one run of all benchmarks.
type sheet struct {
	Machine machine           `json:"machine"`
	Peers   map[string]string `json:"peers"`   // their versions
	Missing map[string]string `json:"missing"` // and why those that aren't here are not
	Series  []*series         `json:"series"`

	// wanted is nil where every row is. The zero sheet wants all.
	wanted *regexp.Regexp
}

// wants reports whether something is to be measured: a row that was asked for, or what
// one of these is compared to.
func (s *sheet) wants(what, place string) bool {
	asked := func(r row) bool { return s.wanted.MatchString(strings.TrimSpace(r.what + " " + r.place)) }
	return s.wanted == nil || slices.ContainsFunc(rows, func(r row) bool {
		itself := r.what == what
		compared := r.against == what || r.floor == what
		return asked(r) && (itself && r.place == place || compared && (place == r.place || place == ""))
	})
}

func (s *sheet) of(what, place string) *series {
	for _, m := range s.Series {
		if m.What == what && m.Place == place {
			return m
		}
	}
	return nil
}

func (s *sheet) add(what, place string, value float64, unit string) {
	m := s.of(what, place)
	if m == nil {
		m = &series{What: what, Place: place, Unit: unit}
		s.Series = append(s.Series, m)
	}
	m.Samples = append(m.Samples, value)
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// A contender is one of those that take turns.
type contender struct {
	what, place string
	do          func() time.Duration // what one time took
}

// race samples all contenders in turn, as often as asked. Each round begins
// with another, so that nobody always follows the same one, and before each the
// machine may come to rest: supervisors that are started ahead of need, and what
// the kernel still has to tear down, are nobody's start.
func (s *sheet) race(all []contender) {
	all = slices.DeleteFunc(all, func(c contender) bool { return !s.wants(c.what, c.place) })
	for _, c := range all {
		c.do() // not counted
	}
	for i := range *rounds {
		for j := range all {
			c := all[(i+j)%len(all)]
			rest()
			s.add(c.what, c.place, micros(c.do()), "µs")
		}
	}
}

func rest() { <-time.After(30 * time.Millisecond) }

func took(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestBenchmarks(t *testing.T) {
	long := *results != ""
	if !long {
		*rounds, *size, *results = 1, 1<<20, filepath.Join(t.TempDir(), "results.json")
	}
	dir := *disk
	if dir == "" {
		dir = os.TempDir()
	}
	if *only != "" && *record {
		t.Fatal("what is written into docs/ is all of it: -record and -only exclude each other")
	}
	s := &sheet{Machine: describe(t, dir), Peers: map[string]string{}, Missing: map[string]string{}}
	if *only != "" {
		var err error
		s.wanted, err = regexp.Compile(*only)
		must(t, err)
	}
	var contenders []contender
	var furnished []*furniture
	for _, p := range []place{{"tmpfs", "/dev/shm"}, {"disk", dir}} {
		f := furnish(t, s, p)
		contenders = append(contenders, f.starts()...)
		if p.name == "tmpfs" {
			contenders = append(contenders, peers(t, s, f.root)...)
			contenders = append(contenders, f.logs(long)...)
			contenders = append(contenders, f.floors()...)
		}
		furnished = append(furnished, f)
	}
	s.race(contenders)
	for _, f := range furnished {
		f.memory()
		f.outputs()
	}
	decisions(t, s)
	s.tell(t, long)
}

// tell writes the results down and prints their table.
func (s *sheet) tell(t *testing.T, long bool) {
	text, err := json.Marshal(s)
	must(t, err)
	must(t, os.WriteFile(*results, append(text, '\n'), 0o644))
	table := s.table()
	if _, err := os.Stdout.WriteString(table); err != nil {
		t.Error(err)
	}
	if *record && long {
		must(t, os.WriteFile(rawFile, append(text, '\n'), 0o644))
		document, err := os.ReadFile(documentFile)
		must(t, err)
		must(t, os.WriteFile(documentFile, []byte(replaceTable(t, string(document), table)), 0o644))
	}
	for _, r := range rows {
		if s.wants(r.what, r.place) && s.of(r.what, r.place) == nil && s.Missing[r.what] == "" {
			t.Errorf("%q (state on %q) was neither measured nor said to be missing", r.what, r.place)
		}
	}
}
