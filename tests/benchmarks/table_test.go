//go:build linux

package benchmarks_test

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What is measured; the same words are in docs/benchmarks.md.
const (
	bare        = "os/exec of true"
	bwrap       = "bubblewrap, equal isolation"
	runc        = "runc run"
	sandbox     = "sandbox-runtime command"
	goFull      = "Go package, warm, full"
	goStandard  = "Go package, warm, standard"
	goOff       = "Go package, warm, off"
	goCold      = "Go package, cold, full"
	cliFull     = "paddock run, full"
	cliStd      = "paddock run, standard"
	cliOff      = "paddock run, off"
	cliAlone    = "paddock help"
	cliBegin    = "paddock, which only starts and ends"
	stageBegin  = "paddock-stage, which only starts and ends"
	cliWarm     = "the first of these, and a warm run of the Go package"
	goEmpty     = "an empty Go program"
	floorWalls  = "floor: the walls of full around true"
	floorFull   = "floor: these, written down and told"
	floorOff    = "floor: no walls, written down and told"
	floorAhead  = "floor: the walls of full made ahead, around true"
	floorKept   = "floor: those, written down and told"
	floorBare   = "floor: os/exec of true, written down and told"
	floorCLI    = "floor: two empty Go programs and the walls"
	floorTold   = "floor: these, and the walls written down and told"
	floorOurs   = "floor: both of these instead of empty ones, written down and told"
	toRead      = "floor: a pipe, read and written to a file"
	toSplice    = "floor: a pipe, spliced into a file"
	bankAll     = "output kept, to the settled record"
	bankEnd     = "output kept, to the end of the program"
	toFile      = "the writer writes a file itself"
	toDisk      = "the writer writes a file itself and syncs it"
	toWriter    = "os/exec with an io.Writer into a file"
	idlePSS     = "idle stage, PSS"
	runRSS      = "running run at full (stage and init), RSS"
	runPSS      = "running run at full (stage and init), PSS"
	gitPlain    = "git log of 20 commits"
	gitFull     = "the same by Runner.Git, warm, full"
	gitNamed    = "the same of a branch by its name"
	gitState    = "git status"
	gitStateBy  = "git status by Runner.Git, warm, full"
	gitDiff     = "git diff of the working tree"
	gitDiffBy   = "the same by Runner.Git, warm, full, a diff"
	decideOK    = "decision, allowed, 500 rules"
	decideNo    = "decision, refused, 500 rules"
	decideRule  = "decision, 500 rules and CEL"
	undisturbed = ", of those whose thread was left alone"
)

// A row of the table: what is measured, what it is compared to, and what is to
// be reached. Without against the target is for the value itself.
type row struct {
	what, place, against string
	quantile             float64 // that the target is for; zero means the median
	atMost, atLeast      float64 // one of them, or no target
	floor                string  // what is left of it by the barest means
}

var rows = []row{
	{what: bare},
	{what: bwrap, against: bare},
	{what: runc, against: bare},
	{what: sandbox, against: bare},
	{what: goEmpty, against: bare},
	{what: floorWalls, against: bwrap},
	{what: floorWalls, against: bare},
	{what: floorFull, place: "tmpfs", against: bwrap},
	{what: floorFull, place: "tmpfs", against: bare},
	{what: floorOff, place: "tmpfs", against: bare},
	{what: floorAhead, against: bwrap},
	{what: floorAhead, against: bare},
	{what: floorKept, place: "tmpfs", against: bwrap},
	{what: floorKept, place: "tmpfs", against: bare},
	{what: floorBare, place: "tmpfs", against: bwrap},
	{what: floorBare, place: "tmpfs", against: bare},
	{what: floorCLI, against: bwrap},
	{what: floorTold, place: "tmpfs", against: bwrap},
	{what: floorTold, place: "tmpfs", against: runc},
	{what: floorTold, place: "tmpfs", against: sandbox},
	{what: cliBegin, against: goEmpty},
	{what: stageBegin, against: goEmpty},
	{what: floorOurs, place: "tmpfs", against: bwrap},
	{what: floorOurs, place: "tmpfs", against: runc},
	{what: floorOurs, place: "tmpfs", against: sandbox},
	{what: cliWarm, place: "tmpfs", against: bwrap},
	{what: cliWarm, place: "tmpfs", against: runc},
	{what: cliWarm, place: "tmpfs", against: sandbox},
	{what: goFull, place: "tmpfs", against: bwrap, atMost: 0.4, floor: floorBare},
	{what: goFull, place: "tmpfs", against: bare, atMost: 2.5, floor: floorBare},
	{what: goStandard, place: "tmpfs", against: bare, atMost: 1.5, floor: floorBare},
	{what: goOff, place: "tmpfs", against: bare, atMost: 1.5, floor: floorBare},
	{what: goCold, place: "tmpfs", against: bare},
	{what: goFull, place: "disk", against: bare},
	{what: goStandard, place: "disk", against: bare},
	{what: goOff, place: "disk", against: bare},
	{what: cliAlone, against: bwrap},
	{what: cliFull, place: "tmpfs", against: bwrap, atMost: 1, floor: floorCLI},
	{what: cliFull, place: "tmpfs", against: runc, atMost: 1. / 5, floor: floorCLI},
	{what: cliFull, place: "tmpfs", against: sandbox, atMost: 1. / 40, floor: floorCLI},
	{what: cliStd, place: "tmpfs", against: bwrap},
	{what: cliOff, place: "tmpfs", against: bwrap},
	{what: cliFull, place: "disk", against: bwrap},
	{what: cliStd, place: "disk", against: bwrap},
	{what: cliOff, place: "disk", against: bwrap},
	{what: toFile, place: "tmpfs"},
	{what: toWriter, place: "tmpfs", against: toFile},
	{what: toRead, place: "tmpfs", against: toFile},
	{what: toSplice, place: "tmpfs", against: toFile},
	{what: bankEnd, place: "tmpfs", against: toFile},
	{what: bankEnd, place: "tmpfs", against: toWriter},
	{what: bankAll, place: "tmpfs", against: toFile},
	{what: toFile, place: "disk"},
	{what: toDisk, place: "disk"},
	{what: toWriter, place: "disk", against: toFile},
	{what: toRead, place: "disk", against: toFile},
	{what: toSplice, place: "disk", against: toFile},
	{what: bankEnd, place: "disk", against: toFile, atLeast: 0.75, floor: toSplice},
	{what: bankAll, place: "disk", against: toDisk, atLeast: 0.6},
	{what: bankEnd, place: "disk", against: toWriter, atLeast: 1.5, floor: toSplice},
	{what: gitPlain},
	{what: gitFull, place: "tmpfs", against: gitPlain},
	{what: gitNamed, place: "tmpfs", against: gitPlain},
	{what: gitState},
	{what: gitStateBy, place: "tmpfs", against: gitState},
	{what: gitDiff},
	{what: gitDiffBy, place: "tmpfs", against: gitDiff},
	{what: decideOK, quantile: .99, atMost: 20},
	{what: decideNo, quantile: .99, atMost: 20},
	{what: decideRule, quantile: .99, atMost: 20},
	{what: decideOK + undisturbed, quantile: .99, atMost: 20},
	{what: decideNo + undisturbed, quantile: .99, atMost: 20},
	{what: decideRule + undisturbed, quantile: .99, atMost: 20},
	{what: idlePSS, place: "tmpfs"},
	{what: runRSS, place: "tmpfs"},
	{what: runPSS, place: "tmpfs", atMost: 8 << 10},
}

// machine is where it was measured, in words that fit many.
type machine struct {
	Taken  string `json:"taken"`
	Go     string `json:"go"`
	System string `json:"system"`
	CPUs   int    `json:"cpus"`
	Kernel string `json:"kernel"`
	User   string `json:"user"`
	Disk   string `json:"disk"`
	Load   string `json:"load"` // before it began
}

func describe(t *testing.T, dir string) machine {
	m := machine{
		Taken: time.Now().UTC().Format(time.DateOnly), Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH,
		CPUs: runtime.NumCPU(), User: "an ordinary user", Disk: "another file system", Load: "unknown",
	}
	if os.Geteuid() == 0 {
		m.User = "root"
	}
	var u unix.Utsname
	must(t, unix.Uname(&u))
	m.Kernel = strings.Join(strings.Split(unix.ByteSliceToString(u.Release[:]), ".")[:2], ".")
	var fs unix.Statfs_t
	must(t, unix.Statfs(dir, &fs))
	for magic, name := range map[int64]string{unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs", unix.TMPFS_MAGIC: "tmpfs", unix.OVERLAYFS_SUPER_MAGIC: "overlayfs"} {
		if int64(fs.Type) == magic { //nolint:unconvert // not everywhere are there so many bits
			m.Disk = name
		}
	}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load = strings.Fields(string(b))[0]
	}
	return m
}

// quantile is of any values, which may come in any order.
func quantile(v []float64, q float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[min(int(q*float64(len(v))), len(v)-1)]
}

// table is the results for people.
func (s *sheet) table() string {
	var b strings.Builder
	m := s.Machine
	fmt.Fprintf(&b, "%s: %d CPUs, %s, Linux %s, %s, as %s, disk is %s, load %s at the start.\n", m.Taken, m.CPUs, m.System, m.Kernel, m.Go, m.User, m.Disk, m.Load)
	for _, name := range slices.Sorted(mapKeys(s.Peers)) {
		fmt.Fprintf(&b, "%s is %s.\n", name, s.Peers[name])
	}
	b.WriteString("\n| what | state on | p10 | p50 | p99 | against | ratio | target | |\n|---|---|--:|--:|--:|---|--:|--:|---|\n")
	for _, r := range rows {
		m := s.of(r.what, r.place)
		if m == nil && s.Missing[r.what] == "" {
			continue // it wasn't asked for, or these results are from before there was such a row
		}
		if m == nil {
			fmt.Fprintf(&b, "| %s | %s | missing: %s | | | | | | |\n", r.what, r.place, s.Missing[r.what])
			continue
		}
		value, ratio, met := r.judge(s, m)
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", r.what, r.place,
			m.say(.1), m.say(.5), m.say(.99), r.against, ratio, r.target(m.Unit), met(value))
	}
	return b.String()
}

func mapKeys(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// judge returns what the target is for, how it is written, and who says whether
// it is met.
func (r row) judge(s *sheet, m *series) (value float64, ratio string, met func(float64) string) {
	q := r.quantile
	if q == 0 {
		q = .5
	}
	value = quantile(m.Samples, q)
	if r.against != "" {
		base := s.of(r.against, r.place)
		if base == nil {
			base = s.of(r.against, "")
		}
		if base == nil {
			return 0, "", func(float64) string { return "" }
		}
		value /= quantile(base.Samples, q)
		ratio = fmt.Sprintf("%.3g×", value)
	}
	return value, ratio, func(v float64) string {
		switch {
		case r.atMost == 0 && r.atLeast == 0:
			return ""
		case r.meets(v):
			return "met"
		}
		return "**missed**" + r.ofFloor(s)
	}
}

func (r row) meets(v float64) bool {
	return r.atMost > 0 && v <= r.atMost || r.atLeast > 0 && v >= r.atLeast
}

// ofFloor says whether a target that was missed can be met here at all.
func (r row) ofFloor(s *sheet) string {
	m := s.of(r.floor, r.place)
	if m == nil {
		m = s.of(r.floor, "")
	}
	if m == nil {
		return ""
	}
	least := r
	least.what, least.floor = r.floor, ""
	v, ratio, _ := least.judge(s, m)
	if r.meets(v) {
		return ", floor " + ratio
	}
	return ", out of reach: floor " + ratio
}

func (r row) target(unit string) string {
	word, limit := "≤", r.atMost
	if r.atLeast > 0 {
		word, limit = "≥", r.atLeast
	}
	switch {
	case limit == 0:
		return ""
	case r.against != "":
		return fmt.Sprintf("%s %.3g×", word, limit)
	case r.quantile > 0:
		return fmt.Sprintf("p%.0f %s %g %s", r.quantile*100, word, limit, unit)
	}
	return word + " " + say(limit, unit)
}

func (m *series) say(q float64) string { return say(quantile(m.Samples, q), m.Unit) }

// say writes a value in the unit that people would choose.
func say(v float64, unit string) string {
	switch {
	case unit == "µs" && v >= 1000:
		v, unit = v/1000, "ms"
	case unit == "KiB" && v >= 1024:
		v, unit = v/1024, "MiB"
	}
	return fmt.Sprintf("%.3g %s", v, unit)
}

// The committed results, and the document that has their table between two marks.
const (
	rawFile      = "../../docs/benchmarks.json"
	documentFile = "../../docs/benchmarks.md"
	begin        = "<!-- the table: make bench RECORD=1 -->\n"
	end          = "<!-- the end of the table -->\n"
)

func replaceTable(t *testing.T, document, table string) string {
	t.Helper()
	before, rest, ok := strings.Cut(document, begin)
	_, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatalf("%s has no place for the table", documentFile)
	}
	return before + begin + "\n" + table + "\n" + end + after
}

// TestTheDocumentShowsTheResults: nobody corrects a number by hand.
func TestTheDocumentShowsTheResults(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(rawFile)
	must(t, err)
	var s sheet
	must(t, json.Unmarshal(text, &s))
	document, err := os.ReadFile(documentFile)
	must(t, err)
	if replaceTable(t, string(document), s.table()) != string(document) {
		t.Errorf("the table in %s isn't that of %s: make bench RECORD=1", documentFile, rawFile)
	}
}
