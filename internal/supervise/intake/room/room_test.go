package room

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"paddock"
	"paddock/internal/rundir/record/durable/losses"
)

// Down to the reserve everything fits, then nothing of that stream ever again.
func TestReserve(t *testing.T) {
	t.Parallel()
	free, now, asked := int64(10_000), time.Unix(1, 0), 0
	r := New(t.TempDir(), 2_000, func() time.Time { return now }, func() (int64, error) { asked++; return free, nil })
	take := func(s paddock.Stream, n, want int) {
		t.Helper()
		got, why := r.Take(s, n)
		if got != want || (why == nil) != (want == n) {
			t.Fatalf("of %d bytes %d fit, %+v; want %d", n, got, why, want)
		}
		if why != nil && (why.Kind != paddock.ReasonDiskReserve || why.Limit != 2_000 || why.Stream != s) {
			t.Fatalf("reason %+v", why)
		}
		free -= int64(got)
	}
	take(paddock.Stdout, 3_000, 3_000)
	take(paddock.Stdout, 1_000, 1_000)
	take(paddock.Stdout, 4_500, 4_000) // to the byte
	free = 1 << 40
	take(paddock.Stdout, 1, 0)
	take(paddock.Stderr, 100, 100)
	// With much room it isn't asked for each piece, but after some time.
	before := asked
	for range 10 {
		take(paddock.Stderr, 1000, 1000)
	}
	if asked != before+1 && asked != before {
		t.Errorf("the disk was asked %d times", asked-before)
	}
	before = asked
	free, now = 2_000, now.Add(time.Second)
	if take(paddock.Stderr, 1, 0); asked != before+1 {
		t.Errorf("the disk was asked %d times", asked-before)
	}
}

// A disk that can't be asked says itself when it is full, and no reserve asks nothing.
func TestNothingToAsk(t *testing.T) {
	t.Parallel()
	broken := func() (int64, error) { return 0, errors.New("broken") }
	for _, reserve := range []int64{0, 1} {
		if n, why := New(t.TempDir(), reserve, time.Now, broken).Take(paddock.Stdout, 5); n != 5 || why != nil {
			t.Errorf("%d, %+v", n, why)
		}
	}
	if n, why := New(t.TempDir(), 1<<60, time.Now, nil).Take(paddock.Stdout, 5); n != 0 || why == nil {
		t.Errorf("on a real disk %d, %+v", n, why)
	}
}

// What was dropped is written down when a stream begins to lose something, and
// then once a second.
func TestNote(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Unix(1, 0)
	r := New(dir, 0, func() time.Time { return now }, nil)
	noted := func(bytes int64, want int64) {
		t.Helper()
		if why := r.Note(dir, []paddock.Loss{{Stream: paddock.Stderr, Bytes: bytes}}); why != nil {
			t.Fatal(why)
		}
		var out, err paddock.StreamSummary
		if e := losses.Add(dir, &out, &err); e != nil || err.Dropped != want || out.Loss != nil {
			t.Errorf("noted %+v, %v; want %d", err, e, want)
		}
	}
	noted(1, 1)
	noted(2, 1)
	now = now.Add(time.Second)
	noted(3, 3)
	now = now.Add(-time.Hour) // a clock that is set back
	noted(4, 4)
	if err := os.WriteFile(filepath.Join(dir, "losses.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := losses.Add(dir, new(paddock.StreamSummary), new(paddock.StreamSummary)); err == nil {
		t.Error("a torn note was read")
	}
	now = now.Add(time.Second)
	if why := r.Note(filepath.Join(dir, "nowhere"), nil); why == nil || why.Kind != paddock.ReasonSink {
		t.Errorf("a note that can't be written: %+v", why)
	}
}

// What a quota left is for all streams together, to the byte; a stream that had no
// room gets none any more, but another may have the rest.
func TestQuota(t *testing.T) {
	t.Parallel()
	r := New(t.TempDir(), 0, time.Now, nil).Within(100, "total.kept")
	for _, c := range []struct {
		s       paddock.Stream
		n, want int
	}{{paddock.Stdout, 60, 60}, {paddock.Stderr, 30, 30}, {paddock.Stdout, 11, 10}, {paddock.Stdout, 1, 0}, {paddock.Stderr, 1, 0}} {
		got, why := r.Take(c.s, c.n)
		if got != c.want || (why == nil) != (c.want == c.n) {
			t.Fatalf("of %d bytes %d fit, %+v; want %d", c.n, got, why, c.want)
		}
		if why != nil && (why.Kind != paddock.ReasonQuota || why.Limit != 100 || why.Stream != c.s || why.Detail != "`quotas.total.kept`") {
			t.Errorf("%+v", why)
		}
	}
	// Of the disk and the quota the lesser counts, and what the disk refuses isn't used.
	free := int64(30)
	r = New(t.TempDir(), 10, time.Now, func() (int64, error) { return free, nil }).Within(50, "total.kept")
	if got, why := r.Take(paddock.Stdout, 40); got != 20 || why.Kind != paddock.ReasonDiskReserve {
		t.Errorf("%d, %+v", got, why)
	}
	free = 1 << 40
	if got, why := r.Take(paddock.Stderr, 40); got != 30 || why.Kind != paddock.ReasonQuota {
		t.Errorf("%d, %+v", got, why)
	}
}
