//go:build linux

package retain

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/internal/artifact"
	"paddock/internal/artifact/packed"
	"paddock/internal/executor/retain/pack"
	"paddock/internal/policy"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record/durable/prune"
	"paddock/internal/testproc"
)

const plentiful = 100_000 // bytes, enough to be packed

var zstd = Limits{Compress: paddock.Zstd}

// printed is ended for a run whose output is real: stdout is size bytes of text,
// stderr as much of what doesn't get smaller, and many frames.
func (h *house) printed(n, size int) (*rundir.Dir, []byte) {
	h.t.Helper()
	d := h.running(n, 0)
	for _, name := range []string{"stdout", "stderr", "frames"} {
		must(h.t, os.Remove(filepath.Join(d.Path(), name)))
	}
	now := epoch
	b, err := artifact.Create(d.Path(), artifact.Options{Cap: 1 << 30, Now: func() time.Time { return now }})
	must(h.t, err)
	text := []byte(strings.Repeat("some output\n", size/12+1))[:size]
	for rest := text; len(rest) > 0; rest = rest[min(30, len(rest)):] {
		now = now.Add(5 * time.Millisecond)
		_, _, err := b.Append(paddock.Stdout, rest[:min(30, len(rest))])
		must(h.t, err)
	}
	_, _, err = b.Append(paddock.Stderr, noise(size))
	must(h.t, err)
	stdout, stderr, err := b.Seal()
	must(h.t, err)
	at := epoch.Add(time.Duration(n) * time.Hour)
	_, err = d.PublishOutcome(paddock.Outcome{
		State: paddock.Exited, Reason: paddock.Reason{Kind: paddock.ReasonExit}, EndedAt: at, SettledAt: at, Stdout: stdout, Stderr: stderr,
	})
	must(h.t, err)
	must(h.t, testproc.Alone(d.ReleaseLock))
	h.settle()
	return d, text
}

// noise doesn't get smaller.
func noise(n int) []byte {
	b := make([]byte, n)
	x := uint64(88172645463325252)
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = byte(x)
	}
	return b
}

// files are the names of the run's output, in order.
func files(t testing.TB, d *rundir.Dir) string {
	t.Helper()
	entries, err := os.ReadDir(d.Path())
	must(t, err)
	var names []string
	for _, e := range entries {
		for _, kind := range []string{"stdout", "stderr", "frames", "plain"} {
			if strings.HasPrefix(strings.TrimPrefix(e.Name(), ".new-"), kind) && !strings.HasSuffix(e.Name(), ".lines") {
				names = append(names, e.Name())
			}
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func read(t testing.TB, d *rundir.Dir) []byte {
	t.Helper()
	var b bytes.Buffer
	_, err := packed.Open(d.Path()).CopySealed(&b, paddock.Stdout, 0)
	must(t, err)
	return b.Bytes()
}

// Output that stays takes less room, also that of runs that are kept, and reads as
// before; small output, and what doesn't get smaller, stays as it was and isn't
// looked at again.
func TestCompress(t *testing.T) {
	t.Parallel()
	h := open(t)
	d, text := h.printed(0, plentiful)
	kept, _ := h.printed(1, plentiful)
	_, err := h.Keep(t.Context(), kept.ID())
	must(t, err)
	small, _ := h.printed(2, 5000)
	live := h.running(3, plentiful)
	t.Cleanup(func() { must(t, live.ReleaseLock()) })
	before, _, err := prune.Size(d.Path())
	must(t, err)
	raw, err := os.Open(filepath.Join(d.Path(), "stdout"))
	must(t, err)
	defer raw.Close()
	dry := h.Keeper
	dry.Dry = true
	if items := dry.pass(t, zstd); items != nil {
		t.Errorf("a dry pass says %+v", items)
	}
	items := h.pass(t, zstd)
	if len(items) != 2 || items[0].Run != kept.ID() || items[1].Run != d.ID() || !items[1].Compressed || h.told != nil {
		t.Fatalf("%+v, told %v", items, h.told)
	}
	after, _, err := prune.Size(d.Path())
	if err != nil || items[1].Bytes != before-after || after > before*3/4 {
		t.Errorf("%d bytes before, %d now, %d are said to be saved; %v", before, after, items[1].Bytes, err)
	}
	for run, want := range map[*rundir.Dir]string{
		d: "frames.zst plain stderr stdout.zst", kept: "frames.zst plain stderr stdout.zst", small: "frames stderr stdout", live: "frames stderr stdout",
	} {
		if got := files(t, run); got != want {
			t.Errorf("there are %s, want %s", got, want)
		}
	}
	if !bytes.Equal(read(t, d), text) {
		t.Error("it reads as something else")
	}
	if got := make([]byte, len(text)); must2(raw.ReadAt(got, 0)) != len(text) || !bytes.Equal(got, text) {
		t.Error("who had it open reads something else")
	}
	if again := h.pass(t, zstd); again != nil {
		t.Errorf("again: %+v", again)
	}
	// It is pruned as if it were plain, by what it takes.
	item, err := h.Prune(t.Context(), d.ID())
	if err != nil || item.Bytes != after || files(t, d) != "" {
		t.Errorf("%+v, %v; there are %s", item, err, files(t, d))
	}
}

func must2(n int, err error) int {
	if err != nil {
		return -1
	}
	return n
}

// A limit of size is of what is there after compressing.
func TestCompressedSizeCounts(t *testing.T) {
	t.Parallel()
	h := open(t)
	var dirs []*rundir.Dir
	for i := range 3 {
		d, _ := h.printed(i, plentiful)
		dirs = append(dirs, d)
	}
	size, _, err := prune.Size(dirs[0].Path())
	must(t, err)
	l := zstd
	l.Size = size * 5 / 2 // two of three, if they were plain
	h.pass(t, l)
	for _, d := range dirs {
		if _, pruned, err := prune.Of(d.Path()); err != nil || pruned != nil {
			t.Errorf("%+v, %v", pruned, err)
		}
	}
}

type stop struct{ step string }

// After a crash at any step the output is whole, and whoever comes next finishes,
// or tidies up if nothing is to be compressed any more; pruning leaves nothing.
func TestCrashWhileCompressing(t *testing.T) {
	t.Parallel()
	var steps []string
	h := open(t)
	h.printed(0, plentiful)
	h.At = func(step string) { steps = append(steps, step) }
	h.pass(t, zstd)
	if !slices.Contains(steps, "renamed") || steps[0] != "begun" {
		t.Fatalf("steps %q", steps)
	}
	for n := range steps {
		for what, next := range map[string]func(h *house, d *rundir.Dir){
			"compress": func(h *house, d *rundir.Dir) {
				h.pass(t, zstd)
				if got := files(t, d); got != "frames.zst plain stderr stdout.zst" {
					t.Errorf("after %d steps and again there are %s", n+1, got)
				}
			},
			"tidy": func(h *house, d *rundir.Dir) {
				h.pass(t, Limits{Runs: 10})
				if got := files(t, d); strings.Contains(got, ".new-") || strings.Contains(got, "stdout stdout.zst") || strings.Contains(got, "frames frames.zst") {
					t.Errorf("after %d steps there are %s", n+1, got)
				}
			},
			"prune": func(h *house, d *rundir.Dir) {
				_, err := h.Prune(t.Context(), d.ID())
				must(t, err)
				if got := files(t, d); got != "" {
					t.Errorf("after %d steps and prune there are %s", n+1, got)
				}
			},
		} {
			if what != "compress" && n < len(steps)-7 {
				continue // of the last file only
			}
			h := open(t)
			d, text := h.printed(0, plentiful)
			count := 0
			h.At = func(step string) {
				if count++; count == n+1 {
					panic(stop{step})
				}
			}
			crash(t, func() { h.pass(t, zstd) })
			if got := read(t, d); !bytes.Equal(got, text) {
				t.Fatalf("after %s %d bytes are read, and not the %d that were printed", steps[n], len(got), len(text))
			}
			h.At = nil
			next(h, d)
			if what != "prune" && !bytes.Equal(read(t, d), text) {
				t.Errorf("after %s and %s something else is read", steps[n], what)
			}
		}
	}
}

// crash runs f to where it stops.
func crash(t testing.TB, f func()) {
	t.Helper()
	defer func() {
		if _, ok := recover().(stop); !ok {
			t.Error("it went through")
		}
	}()
	f()
}

// Output that isn't what was recorded stays for somebody to look at.
func TestChangedOutputIsNotCompressed(t *testing.T) {
	t.Parallel()
	h := open(t)
	d, text := h.printed(0, plentiful)
	text[17] ^= 1
	must(t, os.WriteFile(filepath.Join(d.Path(), "stdout"), text, 0o600))
	var p Pass
	err := h.Step(t.Context(), &p, zstd, 10, func(Item) error { return nil })
	if err == nil || !strings.Contains(err.Error(), string(d.ID())) || !strings.Contains(err.Error(), "it stays as it is") {
		t.Errorf("Step = %v", err)
	}
	if got := files(t, d); got != "frames.zst stderr stdout" && got != "frames.zst plain stderr stdout" {
		t.Errorf("there are %s", got)
	}
}

// Who removes output while it is compressed, or the run, isn't undone.
func TestPruneWhileCompressing(t *testing.T) {
	t.Parallel()
	for _, l := range []Limits{{Age: time.Minute}, {Records: time.Minute}} {
		for _, at := range []string{"begun", "written", "synced"} {
			h := open(t)
			d, _ := h.printed(0, plentiful)
			other, err := keeper(h.State.Path())
			must(t, err)
			h.At = func(step string) {
				if step == at {
					at = ""
					other.pass(t, l)
				}
			}
			if items := h.pass(t, zstd); at != "" || len(items) > 1 {
				t.Errorf("%+v", items)
			}
			if _, err := os.Lstat(d.Path()); (err == nil) != (l.Records == 0) {
				t.Error(err)
			} else if err == nil && files(t, d) != "" {
				t.Errorf("there are %s", files(t, d))
			}
			must(t, other.State.Close())
		}
	}
}

// What the policy says is done by the sweep, and ends when its process does.
func TestSweepCompresses(t *testing.T) {
	t.Parallel()
	h := open(t)
	d, text := h.printed(0, plentiful)
	now := h.Now()
	p := load(t, "retention: {compress: zstd}\n")
	s := h.sweeper(&now, func() (*policy.Policy, error) { return p, nil })
	over, cancel := context.WithCancel(t.Context())
	s.keeper.At = func(string) { cancel() }
	if err := s.Turn(over); !errors.Is(err, context.Canceled) {
		t.Errorf("Turn = %v", err)
	}
	if got := files(t, d); got != "frames stderr stdout" {
		t.Errorf("there are %s", got)
	}
	s.keeper.At = nil
	now = now.Add(time.Hour)
	must(t, s.Turn(t.Context()))
	if got := files(t, d); got != "frames.zst plain stderr stdout.zst" || !bytes.Equal(read(t, d), text) {
		t.Errorf("there are %s", got)
	}
	if p = load(t, "retention: {compress: none}\n"); p.Retention() != (Limits{}) {
		t.Errorf("%+v", p.Retention())
	}
}

// A run whose end has no digest isn't compressed, since nothing could be compared.
func TestWithoutDigest(t *testing.T) {
	t.Parallel()
	h := open(t)
	d := h.ended(0, plentiful)
	if items := h.pass(t, zstd); items != nil || files(t, d) != "frames stderr stdout" {
		t.Errorf("%+v, %s", items, files(t, d))
	}
	if yes, err := pack.Wanted(filepath.Join(t.TempDir(), "gone")); yes || err != nil {
		t.Error(yes, err)
	}
}
