package packed

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"paddock"
	"paddock/internal/artifact"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// pack packs data into a file and opens it.
func pack(t testing.TB, data []byte) (*File, string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "stdout"+Suffix)
	f, err := os.Create(name)
	must(t, err)
	sum, err := Pack(t.Context(), f, bytes.NewReader(data))
	must(t, errors.Join(err, f.Close()))
	info, err := os.Stat(name)
	must(t, err)
	if sum.Bytes != int64(len(data)) || sum.Packed != info.Size() {
		t.Fatalf("%+v of %d bytes in %d", sum, len(data), info.Size())
	}
	p := reopen(t, name)
	t.Cleanup(func() { must(t, p.Close()) })
	return p, name
}

func reopen(t testing.TB, name string) *File {
	t.Helper()
	f, err := artifact.OpenFile(name)
	must(t, err)
	p, err := NewFile(f)
	if err != nil {
		t.Fatal(errors.Join(err, f.Close()))
	}
	return p
}

// text is some output of n bytes.
func text(n int) []byte {
	var b bytes.Buffer
	r := rand.New(rand.NewPCG(1, 2))
	for b.Len() < n {
		b.WriteString(strings.Repeat("a line é ", r.IntN(4)))
		binary.Write(&b, binary.LittleEndian, r.Uint32()&0x7f7f)
		b.WriteByte('\n')
	}
	return b.Bytes()[:n]
}

// What is packed is read back, whatever is asked for.
func TestEveryOffset(t *testing.T) {
	t.Parallel()
	for _, n := range []int{200, Block - 1, Block, Block + 1, 3*Block + 17} {
		data := text(n)
		if n == 200 {
			data = bytes.Repeat([]byte("ab"), 100)
		}
		p, _ := pack(t, data)
		r := rand.New(rand.NewPCG(3, uint64(n)))
		if info, err := p.Stat(); err != nil || info.Size() != int64(len(data)) || p.Size() != info.Size() {
			t.Fatal(info, err)
		}
		for range 50 {
			from := r.IntN(len(data) + 1)
			got := make([]byte, r.IntN(2*Block))
			n, err := p.ReadAt(got, int64(from))
			want := data[from:min(len(data), from+len(got))]
			if !bytes.Equal(got[:n], want) || n < len(got) != (err != nil) || err != nil && !errors.Is(err, io.EOF) {
				t.Fatalf("%d bytes from %d: %d, %v", len(got), from, n, err)
			}
		}
		var all bytes.Buffer
		sum, err := p.Unpack(t.Context(), &all)
		if err != nil || !bytes.Equal(all.Bytes(), data) || sum.Digest != paddock.DigestOf(sumOf(data)) {
			t.Fatal(sum, err)
		}
	}
}

// A file in which anything is changed is found out, or reads as it did: it never
// says something else.
func TestDamageIsNeverOutput(t *testing.T) {
	t.Parallel()
	data := text(2*Block + 1000)
	_, name := pack(t, data)
	whole, err := os.ReadFile(name)
	must(t, err)
	dir := t.TempDir()
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		bad := bytes.Clone(whole)
		switch rapid.SampledFrom([]string{"flip", "flip in the table", "cut", "more", "swap"}).Draw(t, "how") {
		case "flip":
			bad[rapid.IntRange(0, len(bad)-1).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		case "flip in the table":
			bad[len(bad)-1-rapid.IntRange(0, tableHead+3*tableEntry-1).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		case "cut":
			bad = bad[:rapid.IntRange(0, len(bad)-1).Draw(t, "size")]
		case "more":
			bad = append(bad, rapid.SliceOfN(rapid.Byte(), 1, 50).Draw(t, "rest")...)
		case "swap":
			from := len(bad) - tableHead + 8 - 3*tableEntry
			for i := range tableEntry {
				bad[from+i], bad[from+tableEntry+i] = bad[from+tableEntry+i], bad[from+i]
			}
		}
		f, err := os.CreateTemp(dir, "")
		if err == nil {
			_, err = f.Write(bad)
		}
		if err != nil {
			t.Fatalf("%v", err)
		}
		defer f.Close()
		p, err := NewFile(f)
		if err != nil {
			found++
			return
		}
		for off := int64(0); off < p.Size(); off += Block {
			got := make([]byte, min(Block, p.Size()-off))
			if n, err := p.ReadAt(got, off); n == len(got) {
				if off+int64(n) > int64(len(data)) || !bytes.Equal(got, data[off:off+int64(n)]) {
					t.Fatalf("at %d something else is read", off)
				}
			} else if err == nil || !strings.Contains(err.Error(), "is damaged") {
				t.Fatalf("%d, %v", n, err)
			}
		}
	})
	if found == 0 {
		t.Error("no damage was found")
	}
}

// What a hostile file says of itself takes neither memory nor time.
func TestBombs(t *testing.T) {
	t.Parallel()
	data := make([]byte, 2*Block)
	_, name := pack(t, data)
	whole, err := os.ReadFile(name)
	must(t, err)
	table := len(whole) - tableHead - 2*tableEntry
	set := func(off int, v uint32) []byte {
		b := bytes.Clone(whole)
		binary.LittleEndian.PutUint32(b[off:], v)
		return b
	}
	for what, bad := range map[string][]byte{
		"blocks that there are none of": set(len(whole)-9, 1<<31),
		"a block of gigabytes":          set(table+8, 1<<31),
		"a stream of gigabytes":         set(table+8+4, 1<<31),
		"a table of gigabytes":          set(table+4, 1<<31),
		"nothing":                       {},
		"only an end":                   whole[len(whole)-9:],
		"text":                          []byte(strings.Repeat("not a packed file\n", 1000)),
	} {
		name := filepath.Join(t.TempDir(), "stdout"+Suffix)
		must(t, os.WriteFile(name, bad, 0o600))
		f, err := artifact.OpenFile(name)
		must(t, err)
		if _, err := NewFile(f); err == nil || !strings.Contains(err.Error(), "is damaged") {
			t.Errorf("%s: %v", what, err)
		}
		must(t, f.Close())
	}
}

// A block that unpacks to more than it may is an error and no gigabyte.
func TestBlockThatGrows(t *testing.T) {
	t.Parallel()
	var small, large bytes.Buffer
	_, err := Pack(t.Context(), &small, bytes.NewReader(make([]byte, Block)))
	must(t, err)
	// One frame of 64 MiB of zeros, with the table of one of 256 KiB.
	enc := encoded(t, make([]byte, 64<<20))
	large.Write(enc)
	table := small.Bytes()[small.Len()-tableHead-tableEntry:]
	binary.LittleEndian.PutUint32(table[8:], uint32(len(enc)))
	large.Write(table)
	name := filepath.Join(t.TempDir(), "stdout"+Suffix)
	must(t, os.WriteFile(name, large.Bytes(), 0o600))
	f, err := artifact.OpenFile(name)
	must(t, err)
	defer f.Close()
	p, err := NewFile(f)
	if err == nil {
		_, err = p.ReadAt(make([]byte, 10), 0)
	}
	if err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Error(err)
	}
}

func TestWhatDoesNotGetSmaller(t *testing.T) {
	t.Parallel()
	noise := make([]byte, 40*Block)
	r := rand.New(rand.NewPCG(1, 1))
	for i := 0; i < len(noise); i += 8 {
		binary.LittleEndian.PutUint64(noise[i:], r.Uint64())
	}
	var out bytes.Buffer
	if _, err := Pack(t.Context(), &out, bytes.NewReader(noise)); !errors.Is(err, ErrNoGain) || out.Len() > (early+1)*Block {
		t.Errorf("%v after %d bytes", err, out.Len())
	}
	if _, err := Pack(t.Context(), io.Discard, bytes.NewReader(noise[:1000])); !errors.Is(err, ErrNoGain) {
		t.Error(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Pack(over, io.Discard, bytes.NewReader(noise)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	broken := errors.New("broken")
	if _, err := Pack(t.Context(), io.Discard, io.MultiReader(strings.NewReader("x"), failing{broken})); !errors.Is(err, broken) {
		t.Error(err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// A link or a pipe in the place of a packed file is neither followed nor waited for.
func TestNotAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "frames"), []byte("paddock frames\n"), 0o600))
	must(t, os.Symlink("/etc/passwd", filepath.Join(dir, "stdout"+Suffix)))
	must(t, os.Mkdir(filepath.Join(dir, "stderr"+Suffix), 0o700))
	for _, s := range []paddock.Stream{paddock.Stdout, paddock.Stderr} {
		if p, err := Open(dir).Page(paddock.PageRequest{Stream: s}, true); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %+v, %v", s, p, err)
		}
	}
	must(t, os.Remove(filepath.Join(dir, "stdout"+Suffix)))
	if _, err := Open(dir).Page(paddock.PageRequest{}, true); !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), Suffix) {
		t.Errorf("no file at all: %v", err)
	}
}

// Requests of every kind get the same of output that is packed as of output that
// isn't, in whatever mixture of both it lies there.
func TestPagesAreTheSame(t *testing.T) {
	t.Parallel()
	plain, mixed := t.TempDir(), map[string]string{}
	keepSome(t, plain)
	for _, names := range []string{"stdout stderr frames", "stdout", "frames", "stderr frames"} {
		mixed[names] = t.TempDir()
		for _, name := range []string{"stdout", "stderr", "frames", "stdout.lines"} {
			b, err := os.ReadFile(filepath.Join(plain, name))
			must(t, err)
			info, err := os.Stat(filepath.Join(plain, name))
			must(t, err)
			if strings.Contains(names, name) && name != "stdout.lines" {
				var out bytes.Buffer
				_, err = Pack(t.Context(), &out, bytes.NewReader(b))
				must(t, err)
				name, b = name+Suffix, out.Bytes()
			}
			must(t, os.WriteFile(filepath.Join(mixed[names], name), b, 0o600))
			must(t, os.Chtimes(filepath.Join(mixed[names], name), info.ModTime(), info.ModTime()))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		req, names := draw(t), rapid.SampledFrom(slices.Sorted(maps.Keys(mixed))).Draw(t, "packed")
		want, wantErr := artifact.Open(plain).Page(req, true)
		got, err := Open(mixed[names]).Page(req, true)
		if diff := cmp.Diff(want, got); diff != "" || saying(err) != saying(wantErr) {
			t.Fatalf("%s packed, %+v: %v, not %v; %s", names, req, err, wantErr, diff)
		}
	})
	for names, dir := range mixed {
		for _, s := range []paddock.Stream{paddock.Stdout, paddock.Stderr, paddock.Combined} {
			var want, got bytes.Buffer
			_, err := artifact.Open(plain).CopySealed(&want, s, 5)
			must(t, err)
			if _, err = Open(dir).CopySealed(&got, s, 5); err != nil || !bytes.Equal(want.Bytes(), got.Bytes()) {
				t.Errorf("%s packed, %s: %d bytes, not %d, %v", names, s, got.Len(), want.Len(), err)
			}
		}
	}
}

func saying(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// keepSome keeps output of some blocks with texts of all kinds, not all of it
// covered by frames.
func keepSome(t testing.TB, dir string) {
	t.Helper()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	b, err := artifact.Create(dir, artifact.Options{Cap: 1 << 30, Now: func() time.Time { return now }})
	must(t, err)
	r := rand.New(rand.NewPCG(7, 7))
	parts := []string{"line\n", "é日🐎", "\xff\xfe", "\x1b[31mred\x1b[0m\n", "needle in it\n", strings.Repeat("long ", 3000), "progress\rdone\n", "\n\n\n", string(text(50_000))}
	var kept [2]int
	for kept[0] < 3*Block || kept[1] < 2*Block {
		i := r.IntN(2)
		p := parts[r.IntN(len(parts))]
		now = now.Add(time.Duration(r.IntN(9)) * time.Millisecond)
		n, _, err := b.Append([]paddock.Stream{paddock.Stdout, paddock.Stderr}[i], []byte(p))
		must(t, err)
		kept[i] += n
	}
	_, _, err = b.Seal()
	must(t, err)
	f, err := os.OpenFile(filepath.Join(dir, "stdout"), os.O_WRONLY|os.O_APPEND, 0) // as a crash leaves it
	must(t, err)
	_, err = f.WriteString("not in any frame\n")
	must(t, errors.Join(err, f.Close()))
}

func draw(t *rapid.T) paddock.PageRequest {
	req := paddock.PageRequest{
		Stream: rapid.SampledFrom([]paddock.Stream{"", paddock.Stdout, paddock.Stderr, paddock.Combined}).Draw(t, "stream"),
		Limit:  rapid.SampledFrom([]int{17, 1000, 1000, 20_000}).Draw(t, "limit"),
	}
	place := rapid.Int64Range(0, 6*Block)
	switch rapid.IntRange(0, 3).Draw(t, "from") {
	case 0:
		req.Offset = place.Draw(t, "offset")
	case 1:
		req.Line = place.Draw(t, "line") / 100
	case 2:
		req.Tail = place.Draw(t, "tail") / 100
	case 3:
		at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(place.Draw(t, "since")) * time.Microsecond)
		req.Since = &at
	}
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		req.Raw = true
	case 1:
		req.View = paddock.ViewClean
	case 2:
		req.Grep, req.GrepFixed = "needle", rapid.Bool().Draw(t, "fixed")
		req.Limit = max(req.Limit, 100)
		req.GrepBefore, req.GrepAfter = rapid.IntRange(0, 3).Draw(t, "before"), rapid.IntRange(0, 3).Draw(t, "after")
		req.GrepCount = rapid.Bool().Draw(t, "count")
	}
	return req
}

// FuzzFile opens whatever it is given and reads it to its end.
func FuzzFile(f *testing.F) {
	var small, two bytes.Buffer
	_, err := Pack(context.Background(), &small, bytes.NewReader(make([]byte, 1000)))
	must(f, err)
	_, err = Pack(context.Background(), &two, bytes.NewReader(text(Block+1)))
	must(f, err)
	f.Add(small.Bytes())
	f.Add(two.Bytes())
	f.Add([]byte{})
	f.Add([]byte(strings.Repeat("\xb1\xea\x92\x8f", 10)))
	f.Fuzz(func(t *testing.T, data []byte) {
		name := filepath.Join(t.TempDir(), "stdout"+Suffix)
		must(t, os.WriteFile(name, data, 0o600))
		file, err := artifact.OpenFile(name)
		must(t, err)
		defer file.Close()
		p, err := NewFile(file)
		if err != nil {
			return
		}
		n, err := io.Copy(io.Discard, io.NewSectionReader(p, 0, p.Size()))
		if err == nil && n != p.Size() {
			t.Fatalf("%d bytes of %d", n, p.Size())
		}
	})
}

func BenchmarkPack(b *testing.B) {
	data := text(8 << 20)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		_, err := Pack(b.Context(), io.Discard, bytes.NewReader(data))
		must(b, err)
	}
}

// BenchmarkLine finds a line of a long stream, as each page does.
func BenchmarkLine(b *testing.B) {
	data := text(64 << 20)
	_, name := pack(b, data)
	for b.Loop() {
		p := reopen(b, name)
		_, err := p.ReadAt(make([]byte, 1000), 40<<20)
		must(b, errors.Join(err, p.Close()))
	}
}

func sumOf(data []byte) [32]byte { return sha256.Sum256(data) }

// encoded is data as one frame, in a window of its own size.
func encoded(t testing.TB, data []byte) []byte {
	t.Helper()
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	must(t, err)
	defer enc.Close()
	return enc.EncodeAll(data, nil)
}
