package artifact

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"paddock"
	"paddock/internal/artifact/pages/moment/frames"
)

func TestCapIsExact(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		cap    int64
		chunks []string
		kept   []int
		over   []bool
		want   string
	}{
		{"below", 10, []string{"abc"}, []int{3}, []bool{false}, "abc"},
		{"exactly full is not over", 6, []string{"abc", "def"}, []int{3, 3}, []bool{false, false}, "abcdef"},
		{"nothing after full is not over", 3, []string{"abc", ""}, []int{3, 0}, []bool{false, false}, "abc"},
		{"inside a chunk", 4, []string{"abc", "def"}, []int{3, 1}, []bool{false, true}, "abcd"},
		{"inside a character", 2, []string{"aé"}, []int{2}, []bool{true}, "a\xc3"},
		{"again and again", 1, []string{"ab", "c", "d"}, []int{1, 0, 0}, []bool{true, true, true}, "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, dir := create(t, Options{Cap: c.cap})
			for i, chunk := range c.chunks {
				kept, over, err := b.Append(paddock.Stderr, []byte(chunk))
				if kept != c.kept[i] || over != c.over[i] || err != nil {
					t.Fatalf("chunk %d: %d, %v, %v; want %d, %v", i, kept, over, err, c.kept[i], c.over[i])
				}
				b.Drop(paddock.Stderr, int64(len(chunk)-kept))
			}
			put(t, b, paddock.Stdout, "x") // the other stream has a cap of its own
			_, sum := seal(t, b)
			all := len(bytes.Join(toBytes(c.chunks), nil))
			want := paddock.StreamSummary{Bytes: int64(len(c.want)), Digest: paddock.DigestOf(sha256.Sum256([]byte(c.want))), Dropped: int64(all - len(c.want))}
			if l := sum.Loss; (l != nil) != (want.Dropped > 0) || l != nil && (l.Bytes != want.Dropped || l.Offset != want.Bytes || l.Stream != paddock.Stderr || l.Last.Before(l.First)) {
				t.Fatalf("loss %+v of %+v", l, sum)
			}
			if sum.Loss = nil; sum != want {
				t.Fatalf("got %+v, want %+v", sum, want)
			}
			raw, err := os.ReadFile(filepath.Join(dir, "stderr"))
			if err != nil || string(raw) != c.want {
				t.Fatalf("the file has %q, %v; want %q", raw, err, c.want)
			}
		})
	}
}

func toBytes(s []string) (b [][]byte) {
	for _, x := range s {
		b = append(b, []byte(x))
	}
	return b
}

func TestCreate(t *testing.T) {
	t.Parallel()
	t.Run("files are the owner's", func(t *testing.T) {
		_, dir := create(t, Options{})
		for _, name := range []string{"stdout", "stderr", frames.Name} {
			info, err := os.Lstat(filepath.Join(dir, name))
			if err != nil || info.Mode() != 0o600 {
				t.Fatalf("%s: %v, %v", name, info.Mode(), err)
			}
		}
	})
	for _, name := range []string{"stdout", "stderr", frames.Name} {
		t.Run("refuses a present "+name, func(t *testing.T) {
			dir, victim := t.TempDir(), filepath.Join(t.TempDir(), "victim")
			if err := os.Symlink(victim, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
			if _, err := Create(dir, Options{Cap: 1}); !errors.Is(err, os.ErrExist) {
				t.Fatalf("got %v", err)
			}
			if left, _ := os.ReadDir(dir); len(left) != 1 {
				t.Fatalf("Create left %v", left)
			}
			if _, err := os.Lstat(victim); err == nil {
				t.Fatal("a link was followed")
			}
		})
	}
	t.Run("refuses no cap and no directory", func(t *testing.T) {
		if _, err := Create(t.TempDir(), Options{}); err == nil {
			t.Fatal("a cap of zero")
		}
		if _, err := Create(filepath.Join(t.TempDir(), "none"), Options{Cap: 1}); !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	})
}

func TestEnds(t *testing.T) {
	t.Parallel()
	t.Run("seal twice, append after", func(t *testing.T) {
		b, _ := create(t, Options{})
		put(t, b, paddock.Stdout, "one\n")
		o1, e1 := seal(t, b)
		if kept, _, err := b.Append(paddock.Stdout, []byte("x")); kept != 0 || !errors.Is(err, ErrSealed) {
			t.Fatalf("Append after Seal = %d, %v", kept, err)
		}
		o2, e2 := seal(t, b)
		if o1 != o2 || e1 != e2 || o1.Bytes != 4 {
			t.Fatalf("%+v %+v, then %+v %+v", o1, e1, o2, e2)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if o3, _ := seal(t, b); o3 != o1 {
			t.Fatalf("%+v after Close", o3)
		}
	})
	t.Run("close leaves what is there", func(t *testing.T) {
		b, dir := create(t, Options{})
		put(t, b, paddock.Stdout, "kept")
		for range 2 {
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := b.Append(paddock.Stdout, []byte("x")); !errors.Is(err, ErrSealed) {
			t.Fatal(err)
		}
		if _, _, err := b.Seal(); !errors.Is(err, ErrSealed) {
			t.Fatal(err)
		}
		wantPage(t, Open(dir), paddock.PageRequest{}, true, "kept")
	})
	t.Run("a directory renamed meanwhile", func(t *testing.T) {
		b, dir := create(t, Options{})
		put(t, b, paddock.Stdout, "kept")
		if err := os.Rename(dir, dir+"x"); err != nil {
			t.Fatal(err)
		}
		seal(t, b)
		wantPage(t, Open(dir+"x"), paddock.PageRequest{}, true, "kept")
	})
	t.Run("zero values keep nothing", func(t *testing.T) {
		var b Bank
		if _, _, err := b.Append(paddock.Stdout, []byte("x")); err == nil {
			t.Fatal("a zero Bank appended")
		}
		if _, _, err := b.Seal(); err == nil {
			t.Fatal("a zero Bank sealed")
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := new(Reader).Page(paddock.PageRequest{}, true); err == nil {
			t.Fatal("a zero Reader read")
		}
	})
	t.Run("no such stream", func(t *testing.T) {
		b, _ := create(t, Options{})
		for _, s := range []paddock.Stream{"", paddock.Combined, "stdin"} {
			if _, _, err := b.Append(s, []byte("x")); err == nil {
				t.Fatalf("appended to %q", s)
			}
			b.Drop(s, 1)
		}
		if o, e := seal(t, b); o.Dropped+e.Dropped != 0 {
			t.Fatal("dropped from no stream")
		}
	})
}

// faulty fails to write beyond a size, after it wrote up to it, like a full disk.
type faulty struct {
	file
	mu   sync.Mutex
	room int64
	size int64 // written by Write
	read error
}

func (f *faulty) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var full error
	if n := max(0, f.room-f.size); int64(len(p)) > n {
		p, full = p[:n], syscall.ENOSPC
	}
	n, err := f.file.Write(p)
	f.size += int64(n)
	return n, errors.Join(err, full)
}

func (f *faulty) WriteAt(p []byte, off int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if off+int64(len(p)) <= f.room {
		return f.file.WriteAt(p, off)
	}
	n, err := f.file.WriteAt(p[:max(0, f.room-off)], off)
	return n, errors.Join(err, syscall.ENOSPC)
}

func (f *faulty) ReadAt(p []byte, off int64) (int, error) {
	if f.read != nil {
		return 0, f.read
	}
	return f.file.ReadAt(p, off)
}

func (f *faulty) grow(room int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.room = room
}

// refit puts the frames of a fresh Bank on another disk.
func refit(t *testing.T, b *Bank, disk file) {
	t.Helper()
	var err error
	if b.frames, err = frames.Create(disk); err != nil {
		t.Fatal(err)
	}
	b.file = disk
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	t.Run("of the stream", func(t *testing.T) {
		b, dir := create(t, Options{})
		disk := &faulty{file: b.kept[0].f, room: 5}
		b.kept[0].f = disk
		put(t, b, paddock.Stdout, "abc")
		kept, over, err := b.Append(paddock.Stdout, []byte("defg"))
		if kept != 2 || over || !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("got %d, %v, %v", kept, over, err)
		}
		wantPage(t, Open(dir), paddock.PageRequest{Stream: paddock.Combined}, false, "abcde")
		if got := b.Size(paddock.Stdout); got != 5 {
			t.Fatalf("size %d", got)
		}
		put(t, b, paddock.Stderr, "no space\n")
		disk.grow(100)
		put(t, b, paddock.Stdout, "fg")
		sum, _ := seal(t, b)
		if err := Open(dir).Verify(paddock.Stdout, sum); err != nil || sum.Bytes != 7 {
			t.Fatalf("%+v, %v", sum, err)
		}
		wantPage(t, Open(dir), paddock.PageRequest{Stream: paddock.Combined}, true, "abcdeno space\nfg")
	})
	t.Run("for a moment only", func(t *testing.T) {
		b, dir := create(t, Options{})
		disk := &faulty{file: b.kept[0].f, room: 5}
		b.kept[0].f = disk
		if kept, _, err := b.Append(paddock.Stdout, []byte("abcdefg")); kept != 5 || !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("got %d, %v", kept, err)
		}
		b.Drop(paddock.Stdout, 2)
		disk.grow(100)
		// With a hole before it this would be taken for what followed on "abcde".
		if kept, over, err := b.Append(paddock.Stdout, []byte("hij")); kept != 0 || over || !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("got %d, %v, %v", kept, over, err)
		}
		b.Drop(paddock.Stdout, 3)
		put(t, b, paddock.Stderr, "whole\n")
		sum, _ := seal(t, b)
		if err := Open(dir).Verify(paddock.Stdout, sum); err != nil || sum.Bytes != 5 || sum.Dropped != 5 {
			t.Fatalf("%+v, %v", sum, err)
		}
	})
	t.Run("of the frames", func(t *testing.T) {
		for room := int64(frames.RecordSize); room < 4*frames.RecordSize; room += 5 {
			b, dir := create(t, Options{})
			disk := &faulty{file: b.file, room: room}
			refit(t, b, disk)
			var told bool
			var want string
			for i := range 4 {
				chunk := fmt.Sprintf("%d\n", i)
				kept, _, err := b.Append(frames.Streams[i%2], []byte(chunk))
				if kept != 2 {
					t.Fatalf("the stream had room, but %d kept", kept)
				}
				told = told || errors.Is(err, syscall.ENOSPC)
				want += chunk
				// Order may be lost with the record that couldn't be written.
				got, err := Open(dir).Page(paddock.PageRequest{Stream: paddock.Combined}, false)
				if err != nil || len(got.Content) > len(want) {
					t.Fatalf("room %d: %q, %v", room, got.Content, err)
				}
			}
			if !told {
				t.Fatalf("room %d: nobody was told", room)
			}
			if _, _, err := b.Seal(); !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("Seal = %v", err)
			}
			var w bytes.Buffer
			if n, err := Open(dir).CopySealed(&w, paddock.Combined, 0); n != 8 || err != nil {
				t.Fatalf("CopySealed = %d, %v", n, err)
			}
		}
	})
	t.Run("frames catch up", func(t *testing.T) {
		b, dir := create(t, Options{})
		disk := &faulty{file: b.file, room: frames.RecordSize}
		refit(t, b, disk)
		for i := range 4 {
			if kept, _, err := b.Append(frames.Streams[i%2], []byte("x")); kept != 1 || err == nil {
				t.Fatal(kept, err)
			}
		}
		disk.grow(1 << 20)
		seal(t, b)
		if got, _ := drain(t, Open(dir), paddock.PageRequest{Stream: paddock.Combined, Limit: 1}, true); string(got) != "xxxx" {
			t.Fatalf("%q", got)
		}
	})
	t.Run("reading back for the digest", func(t *testing.T) {
		b, _ := create(t, Options{})
		b.kept[0].f = &faulty{file: b.kept[0].f, room: 1 << 30, read: syscall.EIO}
		put(t, b, paddock.Stdout, "abc")
		put(t, b, paddock.Stderr, "ok")
		out, errs, err := b.Seal()
		if !errors.Is(err, syscall.EIO) || out.Digest != "" || out.Bytes != 3 || errs.Digest == "" {
			t.Fatalf("%+v, %+v, %v", out, errs, err)
		}
	})
}

// Two writers and eight readers at once; every reader sees the same bytes.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	b, dir := create(t, Options{})
	const each = 3 << 20
	want := map[paddock.Stream][]byte{}
	for i, s := range frames.Streams {
		p := make([]byte, each)
		rng := rand.NewChaCha8([32]byte{byte(i)})
		if _, err := rng.Read(p); err != nil {
			t.Fatal(err)
		}
		want[s] = p
	}
	sealed := make(chan struct{})
	var writers, readers sync.WaitGroup
	for i, s := range frames.Streams {
		writers.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 1))
			for p := want[s]; len(p) > 0; {
				n := min(len(p), 1+rng.IntN(64<<10))
				if kept, over, err := b.Append(s, p[:n]); kept != n || over || err != nil {
					t.Error(kept, over, err)
					return
				}
				p = p[n:]
			}
		})
	}
	all := make([][]byte, 8)
	for i := range all {
		s := everyStream[i%3]
		readers.Go(func() {
			r, req := Open(dir), paddock.PageRequest{Stream: s, Limit: paddock.MaxPage, Raw: i%2 == 0}
			for {
				done := false
				select {
				case <-sealed:
					done = true
				default:
				}
				p, err := r.Page(req, done)
				if err != nil {
					t.Error(err)
					return
				}
				all[i] = append(all[i], content(t, p, req, done)...)
				if req.Offset = p.NextOffset; p.EOF {
					return
				}
			}
		})
	}
	writers.Wait()
	stdout, stderr := seal(t, b)
	close(sealed)
	readers.Wait()
	var both bytes.Buffer
	if _, err := Open(dir).Copy(&both, paddock.Combined, 0); err != nil {
		t.Fatal(err)
	}
	want[paddock.Combined] = both.Bytes()
	for i, got := range all {
		if s := everyStream[i%3]; !bytes.Equal(got, want[s]) {
			t.Errorf("reader %d of %s: %d bytes differ from %d", i, s, len(got), len(want[s]))
		}
	}
	for s, sum := range map[paddock.Stream]paddock.StreamSummary{paddock.Stdout: stdout, paddock.Stderr: stderr} {
		if sum.Digest != paddock.DigestOf(sha256.Sum256(want[s])) {
			t.Errorf("%s: wrong digest", s)
		}
	}
	if got := unstitch(t, dir, paddock.Stdout); !bytes.Equal(got, want[paddock.Stdout]) {
		t.Error("stdout isn't in order within combined")
	}
}

// unstitch takes one stream out of the combined pages.
func unstitch(t *testing.T, dir string, s paddock.Stream) []byte {
	t.Helper()
	var out []byte
	req := paddock.PageRequest{Stream: paddock.Combined, Raw: true, Limit: paddock.MaxPage}
	for {
		p, err := Open(dir).Page(req, true)
		if err != nil {
			t.Fatal(err)
		}
		data := content(t, p, req, true)
		for _, e := range p.Entries {
			if e.Stream == s {
				if e.Offset != int64(len(out)) {
					t.Fatalf("an entry at %d after %d bytes", e.Offset, len(out))
				}
				out = append(out, data[:e.Length]...)
			}
			data = data[e.Length:]
		}
		if req.Offset = p.NextOffset; p.EOF {
			return out
		}
	}
}

// Seal must not wait for, or race with, Appends that come at the same moment.
func TestSealWhileAppending(t *testing.T) {
	t.Parallel()
	for range 20 {
		b, dir := create(t, Options{})
		var wait sync.WaitGroup
		started := make(chan struct{}, 2)
		for _, s := range frames.Streams {
			wait.Go(func() {
				for i := 0; ; i++ {
					if _, _, err := b.Append(s, make([]byte, 100<<10)); err != nil {
						if !errors.Is(err, ErrSealed) {
							t.Error(err)
						}
						return
					}
					if i == 12 {
						started <- struct{}{}
					}
				}
			})
		}
		<-started
		stdout, _ := seal(t, b)
		wait.Wait()
		if err := Open(dir).Verify(paddock.Stdout, stdout); err != nil {
			t.Fatal(err)
		}
	}
}

func frameCount(t *testing.T, dir string) int64 {
	t.Helper()
	info, err := os.Stat(filepath.Join(dir, frames.Name))
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()/frames.RecordSize - 1
}

func TestFramesCoalesce(t *testing.T) {
	t.Parallel()
	c := &clock{epoch}
	b, dir := create(t, Options{Now: c.now})
	for _, step := range []struct {
		after  time.Duration
		stream paddock.Stream
		frames int64
	}{
		{0, paddock.Stdout, 1},
		{3 * time.Millisecond, paddock.Stdout, 1},
		{0, paddock.Stdout, 1},
		{time.Millisecond, paddock.Stdout, 2}, // 4 ms after the first byte
		{0, paddock.Stderr, 3},
		{0, paddock.Stdout, 4},
		{-time.Hour, paddock.Stdout, 4}, // a clock set back
		{0, paddock.Stderr, 5},
	} {
		c.t = c.t.Add(step.after)
		put(t, b, step.stream, "x")
		if got := frameCount(t, dir); got != step.frames {
			t.Fatalf("%+v: %d frames", step, got)
		}
	}
	p := wantPage(t, Open(dir), paddock.PageRequest{Stream: paddock.Combined}, false, "xxxxxxxxx"[:8])
	for i, e := range p.Entries[1:] {
		if e.At.Before(p.Entries[i].At) {
			t.Fatalf("time goes back: %v", p.Entries)
		}
	}
}

// A program that alternates between its streams byte by byte can't make the
// frames grow without bound; it loses order then, and no byte.
func TestFramesAreBounded(t *testing.T) {
	t.Parallel()
	c := &clock{epoch}
	b, dir := create(t, Options{Now: c.now})
	bound := func() int64 { return frames.Free + (b.Size(paddock.Combined))/frames.Share }
	const n = 60_000
	want := map[paddock.Stream][]byte{}
	for i := range n {
		s := frames.Streams[i%2]
		p := []byte{byte(i >> 8), byte(i)}
		put(t, b, s, string(p))
		want[s] = append(want[s], p...)
	}
	if size := (frameCount(t, dir) + 1) * frames.RecordSize; size > bound() {
		t.Fatalf("%d bytes of frames for %d of output", size, b.Size(paddock.Combined))
	}
	// What waits becomes visible at the latest when the timer fires.
	b.catchUp()
	if n, err := Open(dir).Size(paddock.Combined); err != nil || n != b.Size(paddock.Combined) {
		t.Fatalf("%d of %d are visible, %v", n, b.Size(paddock.Combined), err)
	}
	// A slow program gets a time for every second, however little it prints.
	before := frameCount(t, dir)
	for range 100 {
		c.t = c.t.Add(time.Second)
		put(t, b, paddock.Stdout, "tick\n")
		want[paddock.Stdout] = append(want[paddock.Stdout], "tick\n"...)
	}
	if got := frameCount(t, dir) - before; got != 100 {
		t.Fatalf("%d frames for 100 seconds", got)
	}
	seal(t, b)
	for _, s := range frames.Streams {
		if got := unstitch(t, dir, s); !bytes.Equal(got, want[s]) {
			t.Fatalf("%s: %d bytes, want %d", s, len(got), len(want[s]))
		}
	}
}

// Bytes that wait for a record are covered by a timer, without another Append.
func TestWaitingBytesAppear(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, dir := create(t, Options{})
		for i := range 40_000 { // at one moment: time stands still here
			put(t, b, frames.Streams[i%2], "x")
		}
		before, err := Open(dir).Size(paddock.Combined)
		if err != nil || before >= 40_000 {
			t.Fatalf("%d are visible, none waits; %v", before, err)
		}
		time.Sleep(frames.Pause) //nolint:forbidigo // in a bubble time passes without waiting
		synctest.Wait()
		if n, err := Open(dir).Size(paddock.Combined); err != nil || n != 40_000 {
			t.Fatalf("%d are visible, %v", n, err)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{100, 4 << 10, 128 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			bank, _ := create(b, Options{})
			p := make([]byte, size)
			b.SetBytes(int64(size))
			for b.Loop() {
				if _, _, err := bank.Append(paddock.Stdout, p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFile is what BenchmarkAppend is measured by.
func BenchmarkFile(b *testing.B) {
	for _, size := range []int{100, 4 << 10, 128 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			f, err := os.Create(filepath.Join(b.TempDir(), "f"))
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			p := make([]byte, size)
			b.SetBytes(int64(size))
			for b.Loop() {
				if _, err := f.Write(p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSeal(b *testing.B) {
	for _, size := range []int{0, 1000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			root, p, i := b.TempDir(), make([]byte, size), 0
			for b.Loop() {
				dir := filepath.Join(root, fmt.Sprint(i))
				i++
				if err := os.Mkdir(dir, 0o700); err != nil {
					b.Fatal(err)
				}
				bank, err := Create(dir, Options{Cap: 1 << 20})
				if err != nil {
					b.Fatal(err)
				}
				if _, _, err := bank.Append(paddock.Stdout, p); err != nil {
					b.Fatal(err)
				}
				if _, _, err := bank.Seal(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPage(b *testing.B) {
	bank, dir := create(b, Options{})
	line := []byte("a line of ordinary output, as programs print it\n")
	for range 100_000 {
		if _, _, err := bank.Append(paddock.Stdout, line); err != nil {
			b.Fatal(err)
		}
	}
	seal(b, bank)
	r := Open(dir)
	for _, req := range []paddock.PageRequest{
		{}, {Offset: 4_000_000}, {Stream: paddock.Combined, Offset: 4_000_000}, {Tail: 20}, {Line: 90_000}, {Grep: "absent.*"}, {Grep: "absent", GrepFixed: true},
	} {
		b.Run(fmt.Sprintf("%s,offset=%d,tail=%d,line=%d,grep=%s", req.Stream, req.Offset, req.Tail, req.Line, req.Grep), func(b *testing.B) {
			for b.Loop() {
				if _, err := r.Page(req, true); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("copy", func(b *testing.B) {
		b.SetBytes(int64(100_000 * len(line)))
		for b.Loop() {
			if _, err := r.Copy(io.Discard, paddock.Stdout, 0); err != nil {
				b.Fatal(err)
			}
		}
	})
}
