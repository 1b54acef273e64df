//go:build linux

package handover

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

type received struct {
	job   []byte
	files []*os.File
	err   error
}

func receive(conn *net.UnixConn) <-chan received {
	c := make(chan received, 1)
	go func() {
		job, files, err := Receive(conn)
		c <- received{job, files, err}
	}()
	return c
}

// Not parallel, as all that count descriptors.
func TestJob(t *testing.T) {
	testproc.Leaks(t)
	a, b := pair(t)
	defer a.Close()
	defer b.Close()
	job := []byte(`{"text":"` + strings.Repeat("x", 4<<20) + `"}`)
	var files []*os.File
	for i := range 3 {
		f, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(f, i)
		defer f.Close()
		files = append(files, f)
	}
	got := receive(b)
	if err := Send(a, job, files); err != nil {
		t.Fatal(err)
	}
	r := <-got
	if r.err != nil || !bytes.Equal(r.job, job) || len(r.files) != 3 {
		t.Fatalf("received %d bytes, %d files, %v", len(r.job), len(r.files), r.err)
	}
	for i, f := range r.files {
		defer f.Close()
		text := make([]byte, 1)
		if _, err := f.ReadAt(text, 0); err != nil || string(text) != fmt.Sprint(i) {
			t.Errorf("file %d holds %q, %v", i, text, err)
		}
		flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("file %d would be inherited: %v", i, err)
		}
	}
	// The conversation goes on where the job ended.
	go a.Write([]byte("next\n"))
	next := make([]byte, 5)
	if _, err := io.ReadFull(b, next); string(next) != "next\n" || err != nil {
		t.Errorf("after the job: %q, %v", next, err)
	}
}

// Who waits for a job finds all of it when it is woken.
func TestAJobIsOneMessage(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	job := bytes.Repeat([]byte("x"), 4<<10)
	if err := Send(a, job, []*os.File{os.Stderr}); err != nil {
		t.Fatal(err)
	}
	n, files, err := receiveRights(b, make([]byte, 64<<10))
	if err != nil || n != 4+len(job) || len(files) != 1 {
		t.Errorf("%d bytes and %d files came at first, %v", n, len(files), err)
	}
	for _, f := range files {
		f.Close()
	}
}

func TestWhatIsHeard(t *testing.T) {
	t.Parallel()
	file := []*os.File{os.Stderr}
	for text, c := range map[string]struct {
		files []*os.File
		fine  bool
	}{
		`{"written":true}`:                  {nil, true},
		`{"written":true,"has_stdin":true}`: {file, true},

		`{"written":true,"room":5,"room_by":"principal.kept","lease":7}`: {nil, true},

		`{"written":true} `:                          {file, false},
		`{"written":true,"has_stdin":true,"room":1}`: {nil, false},

		`{}`:                                   {nil, false},
		`{"written":1}`:                        {nil, false},
		`{"written":true`:                      {nil, false},
		"{\"written\":true}\x00":               {nil, false},
		"\xff":                                 {nil, false},
		strings.Repeat(`{"written":true}`, 10): {nil, false},
	} {
		var job Job
		var files Files
		if err := job.Hear(&files, []byte(text), c.files); (err == nil) != c.fine || c.fine != job.Written {
			t.Errorf("%.40q with %d files: %v", text, len(c.files), err)
		}
		if job.HasStdin && c.fine && files.Stdin != file[0] {
			t.Errorf("%.40q: the standard input isn't what came", text)
		}
	}
	if err := (Job{}).Heard(); err == nil {
		t.Error("a job without a word may start")
	}
}

func TestJobOfNothing(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	got := receive(b)
	if err := Send(a, nil, nil); err != nil {
		t.Fatal(err)
	}
	if r := <-got; r.err != nil || len(r.job) != 0 || r.files != nil {
		t.Errorf("received %q, %v, %v", r.job, r.files, r.err)
	}
	got = receive(b)
	a.Close()
	if r := <-got; !errors.Is(r.err, io.EOF) || errors.Is(r.err, io.ErrUnexpectedEOF) {
		t.Errorf("the maker ended: %v, want io.EOF", r.err)
	}
}

func TestReadySaysWhetherReceiveWouldWait(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	if Ready(b) {
		t.Error("ready before anything was sent")
	}
	if err := Send(a, nil, nil); err != nil {
		t.Fatal(err)
	}
	if !Ready(b) {
		t.Error("not ready with a job there")
	}
	if _, _, err := Receive(b); err != nil || Ready(b) {
		t.Errorf("after the job: %v", err)
	}
	a.Close()
	if !Ready(b) {
		t.Error("not ready at the end, for which nobody should wait")
	}
}

func TestJobBounds(t *testing.T) {
	t.Parallel()
	a, _ := pair(t)
	if err := Send(a, make([]byte, maxJob+1), nil); err == nil {
		t.Error("a job that is too long was sent")
	}
	if err := Send(a, nil, make([]*os.File, maxFiles+1)); err == nil {
		t.Error("a job with too many files was sent")
	}
}

// What can't be received leaves no descriptor of it behind.
func TestHostileJobs(t *testing.T) {
	length := func(n uint32) string { return string(binary.BigEndian.AppendUint32(nil, n)) }
	for _, c := range []struct {
		name  string
		files int
		text  string
		want  string
	}{
		{"ended in the length", 2, "\x00\x00", "unexpected EOF"},
		{"ended in the job", 2, length(10) + "12345", "unexpected EOF"},
		{"ended before the job", 2, length(10), "unexpected EOF"},
		{"too long", 2, length(maxJob + 1), "longer than"},
		{"as long as can be said", 2, "\xff\xff\xff\xff", "longer than"},
		{"one file too many", maxFiles + 1, length(1) + "x", "more than 16 files"},
		{"many files too many", 200, length(1) + "x", "more than 16 files"},
	} {
		t.Run(c.name, func(t *testing.T) {
			testproc.Leaks(t)
			a, b := pair(t)
			defer a.Close()
			defer b.Close()
			got := receive(b)
			fds := make([]int, c.files)
			for i := range fds {
				fds[i] = int(os.Stderr.Fd())
			}
			if _, _, err := a.WriteMsgUnix([]byte(c.text[:1]), unix.UnixRights(fds...), nil); err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(a, c.text[1:]); err != nil {
				t.Fatal(err)
			}
			if err := a.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			if r := <-got; r.err == nil || !strings.Contains(r.err.Error(), c.want) || r.files != nil || r.job != nil {
				t.Errorf("received %q, %v, %v, want %q", r.job, r.files, r.err, c.want)
			}
		})
	}
}

// Descriptors beside a later byte than the first aren't taken.
func TestLateFiles(t *testing.T) {
	testproc.Leaks(t)
	a, b := pair(t)
	defer a.Close()
	defer b.Close()
	got := receive(b)
	if _, err := a.Write([]byte{0, 0, 0, 2}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := a.WriteMsgUnix([]byte("ab"), unix.UnixRights(1, 2), nil); err != nil {
		t.Fatal(err)
	}
	if r := <-got; r.err != nil || string(r.job) != "ab" || r.files != nil {
		t.Errorf("received %q, %v, %v", r.job, r.files, r.err)
	}
}

// pair is the two ends of a connection that needs no hello.
func pair(t testing.TB) (a, b *net.UnixConn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]*net.UnixConn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "end")
		c, err := net.FileConn(f)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		ends[i] = c.(*net.UnixConn)
		t.Cleanup(func() { c.Close() })
	}
	return ends[0], ends[1]
}

// Who is roused, however often and whenever, gets the same job; to be roused isn't one.
func TestRoused(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	Rouse(a)
	if Ready(b) {
		t.Error("to be roused is taken for a job")
	}
	for range 3 {
		Rouse(a)
	}
	if err := Send(a, []byte("job"), []*os.File{os.Stderr}); err != nil {
		t.Fatal(err)
	}
	roused := 0
	job, files, err := Await(b, func() { roused++ })
	if string(job) != "job" || len(files) != 1 || err != nil || roused != 3 {
		t.Errorf("received %q, %v, %v, roused %d times", job, files, err, roused)
	}
	for _, f := range files {
		f.Close()
	}
	Rouse(a)
	if err := Send(a, nil, nil); err != nil {
		t.Fatal(err)
	}
	if job, _, err := Receive(b); len(job) > 0 || err != nil {
		t.Errorf("%q, %v", job, err)
	}
	// Nobody is waited for who doesn't listen, or is gone.
	for range 1 << 16 {
		Rouse(a)
	}
	b.Close()
	Rouse(a)
}
