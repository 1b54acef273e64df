package artifact

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"paddock"
	"paddock/internal/artifact/pages/moment/frames"
)

// crashed is a directory as a crash may leave it.
func crashed(t testing.TB, stdout, stderr, order []byte) *Reader {
	t.Helper()
	dir := t.TempDir()
	for name, data := range map[string][]byte{"stdout": stdout, "stderr": stderr, frames.Name: order} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Open(dir)
}

// A memory is a file's content as a source.
type memory struct{ *bytes.Reader }

func (memory) Close() error                 { return nil }
func (m memory) Stat() (fs.FileInfo, error) { return m, nil }
func (memory) Name() string                 { return "" }
func (memory) Mode() fs.FileMode            { return 0o600 }
func (memory) ModTime() time.Time           { return epoch }
func (memory) IsDir() bool                  { return false }
func (memory) Sys() any                     { return nil }

// inMemory is crashed without a disk, for fuzzing.
func inMemory(stdout, stderr, order []byte) *Reader {
	files := map[string][]byte{"stdout": stdout, "stderr": stderr, frames.Name: order}
	return &Reader{dir: "memory", open: func(path string) (frames.Source, error) {
		return memory{bytes.NewReader(files[filepath.Base(path)])}, nil
	}}
}

// sample makes output of both streams and returns the three files' content.
func sample(t testing.TB) (stdout, stderr, order []byte) {
	t.Helper()
	c := &clock{epoch}
	b, dir := create(t, Options{Now: c.now})
	for i, text := range []string{"one\n", "é", "two\n", "\xff", "three\n", "四\n"} {
		put(t, b, frames.Streams[i%2], text)
		c.t = c.t.Add(time.Second)
	}
	seal(t, b)
	var files [3][]byte
	for i, name := range []string{"stdout", "stderr", frames.Name} {
		var err error
		if files[i], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return files[0], files[1], files[2]
}

// marked is sample with markers among the frames.
func marked(t testing.TB) (order []byte) {
	t.Helper()
	c := &clock{epoch}
	b, dir := create(t, Options{Now: c.now})
	for i, text := range []string{"one\n", "é", "two\n", "\xff", "three\n", "四\n"} {
		put(t, b, frames.Streams[i%2], text)
		b.Drop(frames.Streams[(i+1)%2], int64(i+1))
		c.t = c.t.Add(time.Second)
	}
	seal(t, b)
	order, err := os.ReadFile(filepath.Join(dir, frames.Name))
	if err != nil {
		t.Fatal(err)
	}
	return order
}

// Frames lag behind the data by any amount: no byte is lost, and the combined
// stream begins as it did while the run was alive.
func TestCrashCutsFrames(t *testing.T) {
	t.Parallel()
	stdout, stderr, order := sample(t)
	for cut := 0; cut <= len(order); cut++ {
		r := crashed(t, stdout, stderr, order[:cut])
		live, _ := drain(t, r, paddock.PageRequest{Stream: paddock.Combined, Limit: 3, Raw: true}, false)
		all, _ := drain(t, r, paddock.PageRequest{Stream: paddock.Combined, Limit: 3}, true)
		if !bytes.HasPrefix(all, live) {
			t.Fatalf("cut at %d: %q, then %q", cut, live, all)
		}
		if want := max(0, cut/frames.RecordSize-1); want == 0 && len(live) > 0 || want > 0 && len(live) == 0 {
			t.Fatalf("cut at %d: %d records, but live is %q", cut, want, live)
		}
		if cut < 2*frames.RecordSize && string(all) != string(stdout)+string(stderr) {
			t.Fatalf("without frames: %q", all)
		}
		for s, want := range map[paddock.Stream][]byte{paddock.Stdout: stdout, paddock.Stderr: stderr} {
			if got, _ := drain(t, r, paddock.PageRequest{Stream: s, Limit: 2}, true); !bytes.Equal(got, want) {
				t.Fatalf("%s: %q", s, got)
			}
			if got := unstitch(t, r.dir, s); !bytes.Equal(got, want) {
				t.Fatalf("%s in combined: %q", s, got)
			}
		}
		var w bytes.Buffer
		if n, err := r.Copy(&w, paddock.Combined, 0); err != nil || n != int64(len(live)) {
			t.Fatalf("Copy = %d, %v", n, err)
		}
		if n, err := r.CopySealed(&w, paddock.Combined, int64(len(live))); err != nil || n != int64(len(all)) || !bytes.Equal(w.Bytes(), all) {
			t.Fatalf("CopySealed = %d, %v", n, err)
		}
		sum, err := r.Summary(paddock.Stderr)
		if err != nil || sum.Bytes != int64(len(stderr)) || r.Verify(paddock.Stderr, sum) != nil {
			t.Fatalf("%+v, %v", sum, err)
		}
		later := time.Now().Add(time.Hour)
		wantPage(t, r, paddock.PageRequest{Stream: paddock.Combined, Since: &later}, true, "")
	}
}

// Data that ends before its frames was lost, and that is said.
func TestCrashCutsData(t *testing.T) {
	t.Parallel()
	stdout, stderr, order := sample(t)
	for cut := range stderr {
		r := crashed(t, stdout, stderr[:cut], order)
		for _, s := range everyStream[1:] {
			_, err := r.Page(paddock.PageRequest{Stream: s}, true)
			wantFailure(t, err)
		}
		wantPage(t, r, paddock.PageRequest{}, true, string(stdout))
	}
}

// Any content of the frames file gives pages or an error: never a panic, a page
// that breaks the rules of pages, or memory beyond a page's.
func FuzzFrames(f *testing.F) {
	stdout, stderr, order := sample(f)
	f.Add(order, int64(0))
	f.Add(order[:len(order)-5], int64(3))
	f.Add([]byte{}, int64(0))
	f.Add(order[:frames.RecordSize], int64(0))
	for i := frames.RecordSize; i < len(order); i += 3 {
		p := bytes.Clone(order)
		p[i] ^= 0xff
		f.Add(p, int64(i))
	}
	order = marked(f)
	for i := range order {
		p := bytes.Clone(order)
		p[i] ^= 0xff
		f.Add(p, int64(i))
		f.Add(order[:i], int64(i))
	}
	f.Fuzz(func(t *testing.T, order []byte, offset int64) {
		r := inMemory(stdout, stderr, order)
		for _, state := range []paddock.State{paddock.Exited, paddock.Lost} {
			if err := r.VerifyLost(paddock.Outcome{State: state}); err == nil && state == paddock.Exited {
				if lost, _, err := r.Lost(); err != nil || lost[0].Bytes+lost[1].Bytes > 0 {
					t.Fatalf("%+v passes for nothing: %v", lost, err)
				}
			}
		}
		since := epoch.Add(time.Second)
		for _, s := range everyStream {
			for _, req := range []paddock.PageRequest{{}, {Offset: offset}, {Tail: 1}, {Line: 2}, {Grep: "e"}, {Since: &since}} {
				req.Stream = s
				for _, sealed := range []bool{false, true} {
					if p, err := r.Page(req, sealed); err == nil {
						content(t, p, req, sealed)
					}
				}
			}
			if _, err := r.CopySealed(&bytes.Buffer{}, s, 0); err == nil && s != paddock.Combined {
				if got, _ := drain(t, r, paddock.PageRequest{Stream: s}, true); !bytes.Equal(got, map[paddock.Stream][]byte{paddock.Stdout: stdout, paddock.Stderr: stderr}[s]) {
					t.Fatalf("%s: %q", s, got)
				}
			}
		}
	})
}

// Any request gives a page by the rules or an error.
func FuzzPageRequest(f *testing.F) {
	stdout, stderr, order := sample(f)
	r := inMemory(stdout, stderr, order)
	f.Add("stdout", int64(0), int64(0), int64(0), 10, "", false, false, int64(0), true)
	f.Add("combined", int64(5), int64(0), int64(0), 1, "", false, true, int64(1), false)
	f.Add("stderr", int64(0), int64(2), int64(0), 16, "e+", false, false, int64(-1), true)
	f.Add("", int64(0), int64(0), int64(3), 200000, "(((a{9}){9}){9}){9}", true, false, int64(1<<62), true)
	f.Fuzz(func(t *testing.T, s string, offset, line, tail int64, limit int, grep string, fixed, raw bool, since int64, sealed bool) {
		req := paddock.PageRequest{Stream: paddock.Stream(s), Offset: offset, Line: line, Tail: tail, Limit: limit, Grep: grep, GrepFixed: fixed, Raw: raw}
		if since != 0 {
			at := epoch.Add(time.Duration(since))
			req.Since = &at
		}
		p, err := r.Page(req, sealed)
		if err != nil {
			wantRefusalOfAnyKind(t, err)
			return
		}
		content(t, p, req, sealed)
	})
}
