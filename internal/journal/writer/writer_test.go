//go:build linux

package writer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/journal"
	"paddock/internal/journal/audit"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) {
	testproc.Main(m, map[string]func() int{"appender": appender})
}

// appender adds entries to a journal and prints the name of each that is
// durable: DIR PREFIX COUNT, and with STEP N it ends itself before the nth such
// step, as a crash would.
func appender() int {
	dir, prefix := os.Args[1], os.Args[2]
	count, err := strconv.Atoi(os.Args[3])
	step, left := "", 0
	if len(os.Args) > 5 {
		step = os.Args[4]
		left, err = strconv.Atoi(os.Args[5])
	}
	var mu sync.Mutex
	opt := Options{SegmentSize: 4 << 10, Step: func(name string) error {
		mu.Lock()
		defer mu.Unlock()
		if name == step {
			if left--; left == 0 {
				return syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
		}
		return nil
	}}
	var w *Writer
	if err == nil {
		w, err = Open(dir, opt)
	}
	for i := 0; err == nil && i < count; i++ {
		name := fmt.Sprintf("%s-%d", prefix, i)
		if err = w.Append(context.Background(), note(name)); err == nil {
			_, err = os.Stdout.WriteString(name + "\n")
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func note(text string) journal.Entry {
	return journal.Entry{Kind: journal.Abandoned, Abandoned: text}
}

func open(t testing.TB, dir string, opt Options) *Writer {
	t.Helper()
	w, err := Open(dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func add(t testing.TB, w *Writer, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err := w.Append(t.Context(), note(text)); err != nil {
			t.Fatal(err)
		}
	}
}

// whole audits the journal, which must have nothing wrong, and returns the texts
// in it.
func whole(t testing.TB, dir string) (*audit.Report, []string) {
	t.Helper()
	var texts []string
	r, err := audit.Run(t.Context(), dir, audit.Options{Each: func(e journal.Entry) error {
		if e.Kind == journal.Abandoned {
			texts = append(texts, e.Abandoned)
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Whole() || len(r.Missing) > 0 {
		t.Fatalf("%d faults, first %v, missing %v", len(r.Faults), r.Faults[:min(3, len(r.Faults))], r.Missing)
	}
	return r, texts
}

func TestManyProcessesKeepOneChain(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "journal")
	const each = 25
	acknowledged := make([]bytes.Buffer, 8)
	var all sync.WaitGroup
	for i := range acknowledged {
		args := []string{"appender", dir, "p" + strconv.Itoa(i), strconv.Itoa(each)}
		doomed := i%2 == 1
		if doomed {
			args = append(args, []string{"write", "sync", "create", "sync"}[i/2], strconv.Itoa(1+i))
		}
		cmd := testproc.Self(t, args...)
		cmd.Stdout = &acknowledged[i]
		all.Go(func() {
			if err := cmd.Run(); (err == nil) == doomed && i != 5 { // not everybody begins a segment
				t.Errorf("process %d: %v", i, err)
			}
		})
	}
	all.Wait()
	_, texts := whole(t, dir)
	there := map[string]int{}
	for _, text := range texts {
		there[text]++
	}
	for i := range acknowledged {
		lines := strings.Fields(acknowledged[i].String())
		for n, line := range lines {
			if want := fmt.Sprintf("p%d-%d", i, n); line != want || there[line] != 1 {
				t.Errorf("%q was acknowledged and is there %d times, want %s once", line, there[line], want)
			}
		}
		if i%2 == 0 && len(lines) != each {
			t.Errorf("process %d had %d acknowledged", i, len(lines))
		}
	}
}

func TestConcurrentAppendsShareTheDisk(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "journal")
	var syncs atomic.Int64
	hold, first := make(chan struct{}), make(chan struct{})
	w := open(t, dir, Options{Step: func(name string) error {
		if name == "sync" && syncs.Add(1) == 1 {
			close(first)
			<-hold
		}
		return nil
	}})
	var all sync.WaitGroup
	begin := func(i int) {
		all.Go(func() {
			if err := w.Append(t.Context(), note(strconv.Itoa(i))); err != nil {
				t.Error(err)
			}
		})
	}
	begin(0)
	<-first
	const more = 40
	for i := range more {
		begin(1 + i)
	}
	// All of them are written while the first waits for the disk …
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		<-tick.C
		w.sync.mu.Lock()
		written := w.sync.written
		w.sync.mu.Unlock()
		if written == 1+more {
			break
		}
	}
	close(hold)
	all.Wait()
	// … and are made durable by one request more.
	if n := syncs.Load(); n != 2 {
		t.Errorf("%d appends asked the disk %d times", 1+more, n)
	}
	if r, texts := whole(t, dir); len(texts) != 1+more || r.Entries != 2+more {
		t.Errorf("%d texts, %d entries", len(texts), r.Entries)
	}
}

// A crash can leave any part of the last line.
func TestEveryTornTailIsClosed(t *testing.T) {
	t.Parallel()
	base := filepath.Join(t.TempDir(), "base")
	add(t, open(t, base, Options{}), "one", "two")
	text, err := os.ReadFile(filepath.Join(base, journal.Name(1)))
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(text) {
		dir := filepath.Join(t.TempDir(), "journal")
		must(t, os.Mkdir(dir, 0o700))
		must(t, os.WriteFile(filepath.Join(dir, journal.Name(1)), text[:cut], 0o600))
		w := open(t, dir, Options{})
		add(t, w, "after")
		r, texts := whole(t, dir)
		want := 1
		if cut == 0 || text[cut-1] == '\n' || text[cut] == '\n' {
			want = 0
		}
		if r.Recovered != want || texts[len(texts)-1] != "after" {
			t.Fatalf("cut at %d: %d recovered, %q", cut, r.Recovered, texts)
		}
		now, err := os.ReadFile(filepath.Join(dir, journal.Name(1)))
		if err != nil || !bytes.HasPrefix(now, text[:cut]) {
			t.Fatalf("cut at %d: what was torn isn't there any more: %v", cut, err)
		}
	}
}

func TestOtherTailsAreClosedToo(t *testing.T) {
	t.Parallel()
	for name, junk := range map[string]string{
		"NULs": strings.Repeat("\x00", 5000), "lines": "a\n\nb\n", "an empty line": "\n", "a long line": strings.Repeat("x", 300<<10),
		"a long line with its end": strings.Repeat("x", 2*journal.MaxLine) + "\n", "bad UTF-8": "\xff\xfe",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, fresh := range []bool{false, true} {
				dir := filepath.Join(t.TempDir(), "journal")
				w := open(t, dir, Options{SegmentSize: 1 << 10})
				add(t, w, "one")
				segment := 1
				if fresh { // torn before the first entry of a segment
					segment = 2
				}
				f, err := os.OpenFile(filepath.Join(dir, journal.Name(segment)), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
				must(t, err)
				_, err = f.WriteString(junk)
				must(t, errors.Join(err, f.Close()))
				add(t, w, "two", "three")
				if r, texts := whole(t, dir); r.Recovered != 1 || len(texts) != 3 {
					t.Errorf("%d recovered, %q", r.Recovered, texts)
				}
			}
		})
	}
}

func TestADiskThatFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		step string
		err  error
	}{{"write", unix.ENOSPC}, {"sync", unix.EIO}, {"create", unix.EROFS}} {
		t.Run(c.step, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "journal")
			var broken atomic.Bool
			w := open(t, dir, Options{SegmentSize: 700, Step: func(name string) error {
				if broken.Load() && name == c.step {
					return c.err
				}
				return nil
			}})
			add(t, w, "one", "two", "three")
			broken.Store(true)
			failed := 0
			for range 10 {
				if err := w.Append(t.Context(), note("lost")); errors.Is(err, c.err) {
					failed++
				} else if err != nil {
					t.Fatal(err)
				}
			}
			if failed == 0 || c.step != "create" && failed != 10 {
				t.Errorf("%d of 10 failed", failed)
			}
			broken.Store(false)
			add(t, w, "four")
			if _, texts := whole(t, dir); texts[len(texts)-1] != "four" {
				t.Errorf("%q", texts)
			}
		})
	}
}

// What the kernel wrote in part only is torn, and closed by the next writer.
func TestAWriteInPart(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "journal")
	w := open(t, dir, Options{})
	add(t, w, "one")
	other := open(t, dir, Options{Step: func(name string) error {
		if name != "write" {
			return nil
		}
		f, err := os.OpenFile(filepath.Join(dir, journal.Name(1)), os.O_WRONLY|os.O_APPEND, 0)
		if err == nil {
			_, err = f.WriteString(`{"seq":3,"ti`)
			err = errors.Join(err, f.Close(), unix.ENOSPC)
		}
		return err
	}})
	if err := other.Append(t.Context(), note("two")); !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	add(t, w, "three")
	if r, texts := whole(t, dir); r.Recovered != 1 || strings.Join(texts, " ") != "one three" {
		t.Errorf("%d recovered, %q", r.Recovered, texts)
	}
}

func TestWaitingForTheLockEnds(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "journal")
	w, other := open(t, dir, Options{}), open(t, dir, Options{})
	must(t, w.AppendWhere(t.Context(), func() ([]journal.Entry, error) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := other.Append(ctx, note("never")); !errors.Is(err, context.Canceled) {
			t.Errorf("append while another has the lock: %v", err)
		}
		return []journal.Entry{note("one")}, nil
	}))
	if _, texts := whole(t, dir); len(texts) != 1 {
		t.Errorf("%q", texts)
	}
}

// A journal that is moved away takes its lock along: nobody writes beside it.
func TestTheJournalIsMovedAway(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "journal")
	w := open(t, dir, Options{})
	add(t, w, "one")
	must(t, os.Rename(dir, dir+".old"))
	add(t, open(t, dir, Options{}), "two")
	add(t, w, "three")
	if _, texts := whole(t, dir); strings.Join(texts, " ") != "two three" {
		t.Errorf("%q", texts)
	}
	if _, texts := whole(t, dir+".old"); strings.Join(texts, " ") != "one" {
		t.Errorf("%q", texts)
	}
}

func TestPlacesThatAreNoJournal(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	if _, err := Open(file, Options{}); err == nil {
		t.Error("a file was opened as a journal")
	}
	for name, plant := range map[string]func(path string) error{
		"a link":      func(path string) error { return os.Symlink(file, path) },
		"a fifo":      func(path string) error { return unix.Mkfifo(path, 0o600) },
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		dir := filepath.Join(t.TempDir(), "journal")
		w := open(t, dir, Options{})
		must(t, plant(filepath.Join(dir, journal.Name(1))))
		if err := w.Append(t.Context(), note("x")); err == nil {
			t.Errorf("%s was taken for a segment", name)
		}
	}
}

// Adding the ten-thousandth entry takes no more reading and no more memory than
// adding the tenth.
func TestAppendingStaysCheap(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	w := open(t, dir, Options{})
	entries := make([]journal.Entry, 50)
	for i := range entries {
		entries[i] = note(strings.Repeat("x", 300))
	}
	cost := func() float64 {
		return testing.AllocsPerRun(5, func() {
			if err := w.Append(context.WithoutCancel(t.Context()), entries...); err != nil {
				t.Fatal(err)
			}
		})
	}
	early := cost()
	for range 200 {
		must(t, w.Append(t.Context(), entries...))
	}
	if late := cost(); late > 1.5*early {
		t.Errorf("%g allocations early and %g after 10,000 entries", early, late)
	}
	if r, _ := whole(t, dir); r.Entries < 10_000 || r.Head.Digest == (paddock.Digest("")) {
		t.Errorf("%d entries", r.Entries)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func BenchmarkAppend(b *testing.B) {
	w := open(b, filepath.Join(b.TempDir(), "journal"), Options{})
	e := note(strings.Repeat("x", 600))
	for b.Loop() {
		if err := w.Append(b.Context(), e); err != nil {
			b.Fatal(err)
		}
	}
}
