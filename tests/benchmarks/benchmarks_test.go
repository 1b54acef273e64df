//go:build linux

// Package measure_test measures runs side by side with what they are compared
// to, in one process on one machine, so that the ratios mean something where
// the times don't. `make bench` runs it; docs/benchmarks.md tells how to read it.
package measure_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"paddock/internal/testproc"
)

var (
	results = flag.String("results", "", "measure, and write every sample to this file as JSON lines")
	rounds  = flag.Int("rounds", 60, "how many times each start is measured; large outputs are measured a twentieth as often")
	disk    = flag.String("disk", "", "a directory on a disk (default: the directory for temporary files)")
	bytes   = flag.Int64("bytes", 1<<30, "how much output is kept")
)

func TestMain(m *testing.M) {
	testproc.Main(m, map[string]func() int{"writer": writer})
}

// A sample is one measurement.
type sample struct {
	What  string  `json:"what"`
	Place string  `json:"place,omitempty"` // where the state directory is
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// A sheet collects samples.
type sheet struct {
	t       *testing.T
	samples []sample
}

func (s *sheet) add(what, place string, value float64, unit string) {
	s.samples = append(s.samples, sample{what, place, value, unit})
}

// time adds how long f takes.
func (s *sheet) time(what, place string, f func()) {
	start := time.Now()
	f()
	s.add(what, place, float64(time.Since(start).Microseconds()), "µs")
}

func (s *sheet) values(what, place string) []float64 {
	var v []float64
	for _, m := range s.samples {
		if m.What == what && m.Place == place {
			v = append(v, m.Value)
		}
	}
	slices.Sort(v)
	return v
}

// quantile is of sorted values; it is NaN-free because every row was measured.
func quantile(v []float64, q float64) float64 {
	if len(v) == 0 {
		return 0
	}
	return v[min(int(q*float64(len(v))), len(v)-1)]
}

// A row of the table: what is measured, what it is compared to, and the ratio
// that DESIGN names, in words; empty where none is named.
type row struct{ what, place, against, reach string }

// table prints the medians and their ratios.
func (s *sheet) table(rows []row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s/%s, %d CPUs, %s; medians\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), load())
	b.WriteString("| what | state on | p50 | p90 | p99 | against | ratio | reach |\n|---|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		v, unit := s.values(r.what, r.place), s.unit(r.what)
		if len(v) == 0 {
			continue
		}
		ratio := ""
		if base := s.values(r.against, r.place); len(base) > 0 {
			ratio = fmt.Sprintf("%.2f×", quantile(v, .5)/quantile(base, .5))
		} else if base = s.values(r.against, ""); len(base) > 0 {
			ratio = fmt.Sprintf("%.2f×", quantile(v, .5)/quantile(base, .5))
		}
		fmt.Fprintf(&b, "| %s | %s | %.4g %s | %.4g | %.4g | %s | %s | %s |\n",
			r.what, r.place, quantile(v, .5), unit, quantile(v, .9), quantile(v, .99), r.against, ratio, r.reach)
	}
	return b.String()
}

func (s *sheet) unit(what string) string {
	for _, m := range s.samples {
		if m.What == what {
			return m.Unit
		}
	}
	return ""
}

func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "load unknown"
	}
	return "load " + strings.Join(strings.Fields(string(b))[:2], " ")
}

func (s *sheet) write(name string) {
	s.t.Helper()
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	must(s.t, err)
	enc := json.NewEncoder(f)
	for _, m := range s.samples {
		must(s.t, enc.Encode(m))
	}
	must(s.t, f.Close())
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestMeasure takes minutes when it is asked for results. Otherwise it goes
// through everything once and small, so that it still works when it is needed.
func TestMeasure(t *testing.T) {
	if *results == "" {
		*rounds, *bytes, *results = 2, 1<<20, filepath.Join(t.TempDir(), "results")
	}
	s := &sheet{t: t}
	dir := *disk
	if dir == "" {
		dir = os.TempDir()
	}
	for _, p := range []place{{"tmpfs", "/dev/shm"}, {"disk", dir}} {
		f := furnish(t, p)
		f.starts(s)
		f.commandLine(s)
		f.outputs(s)
		f.memory(s)
	}
	decisions(s)
	s.write(*results)
	fmt.Println(s.table(rows))
}
