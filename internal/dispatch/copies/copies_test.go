package copies

import (
	"context"
	"crypto/sha256"
	"encoding/json/v2"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/journal/sign"
	"paddock/internal/rundir"
	"paddock/internal/store"
)

// A shelf is a store of copies, and a list of runs that are copied when they are listed.
type shelf struct {
	kept   map[paddock.RunID]store.Copy
	err    error
	runs   []paddock.Run // newest first
	listed int
}

func (s *shelf) PutCopies(_ context.Context, some []store.Copy) error {
	for _, c := range some {
		s.kept[c.Run] = c
	}
	return s.err
}

func (s *shelf) Copies(_ context.Context, ids []paddock.RunID) (got []store.Copy, err error) {
	for _, id := range ids {
		if c, ok := s.kept[id]; ok {
			got = append(got, c)
		}
	}
	return got, s.err
}

func (s *shelf) List(_ context.Context, _ paddock.Principal, f app.Filter) (page app.Listing, err error) {
	for _, run := range s.runs {
		if f.Before != "" && run.ID >= f.Before {
			continue
		}
		if len(page.Runs) == f.Limit {
			page.Next = page.Runs[f.Limit-1].ID
			break
		}
		s.listed++
		page.Runs = append(page.Runs, run)
		at := rundir.Seen{ID: run.ID, Changed: run.CreatedAt}
		if run.State.Settled() && f.Copies.Of([]rundir.Seen{at})[run.ID] == nil {
			f.Copies.Take(at, &run)
		}
	}
	return page, nil
}

func run(t *testing.T, at time.Time) paddock.Run {
	t.Helper()
	id, err := paddock.NewRunID(at, nil)
	if err != nil {
		t.Fatal(err)
	}
	code := 3
	return paddock.Run{
		ID: id, State: paddock.Exited, Argv: []string{"a", "<&\u2028"}, Principal: paddock.Principal{Kind: paddock.User, ID: "user:x"}, CreatedAt: at, StartedAt: &at, Duration: paddock.Duration(3 * time.Millisecond),
		Enforced: &paddock.Enforced{Level: paddock.Off, Limits: map[string]string{"memory": "none"}, Identity: &paddock.Account{}},
		Outcome:  &paddock.Outcome{State: paddock.Exited, Reason: paddock.Reason{Kind: paddock.ReasonExit, ExitCode: &code}, EndedAt: at}, Stdout: paddock.StreamSummary{Bytes: 7},
	}
}

func newKey(t *testing.T) *sign.Key {
	t.Helper()
	key, err := sign.Create(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

var noon = time.Date(2026, 11, 30, 12, 0, 0, 5, time.UTC)

// A copy is what was copied; of another time, of another version of the program, and one that
// is torn, there is none.
func TestCopy(t *testing.T) {
	t.Parallel()
	s, warned := &shelf{kept: map[paddock.RunID]store.Copy{}}, []string{}
	key := newKey(t)
	k := New(s, key, func(err error) { warned = append(warned, err.Error()) })
	r := run(t, noon)
	at := rundir.Seen{ID: r.ID, Changed: noon}
	d := k.During(t.Context())
	d.Take(at, &r)
	if len(d.Of([]rundir.Seen{at})) != 0 {
		t.Error("it was written down at once")
	}
	k.Write(t.Context())
	if got := d.Of([]rundir.Seen{at})[r.ID]; got == nil || cmp.Diff(r, *got) != "" {
		t.Errorf("(-want +got):\n%s", cmp.Diff(&r, got))
	}
	none := func(what string, at rundir.Seen, c store.Copy, warnings int) {
		t.Helper()
		s.kept[r.ID], warned = c, nil
		if got := d.Of([]rundir.Seen{at}); len(got) != 0 || len(warned) != warnings {
			t.Errorf("%s: %+v, %q", what, got, warned)
		}
	}
	good := s.kept[r.ID]
	bad := func(text string) store.Copy { return store.Copy{Run: r.ID, Stamp: good.Stamp, Record: []byte(text)} }
	none("another time", rundir.Seen{ID: r.ID, Changed: noon.Add(1)}, good, 0)
	none("another version", at, bad("1 0000000000000000\n{}"), 0)
	none("nothing", at, bad(""), 0)
	none("torn", at, bad(string(good.Record[:len(good.Record)-1])), 0)
	none("no more than a form", at, bad(form()), 0)
	// Who owns the database writes what he likes.
	forged, later := strings.Replace(string(good.Record), "user:x", "user:y", 1), good
	later.Stamp++
	other, err := New(s, newKey(t), nil).Encode(at, &r)
	if err != nil || forged == string(good.Record) {
		t.Fatal(err)
	}
	none("of somebody else", at, bad(forged), 0)
	none("of a later time", rundir.Seen{ID: r.ID, Changed: noon.Add(1)}, later, 0)
	none("of another key", at, other, 0)
	another := run(t, noon)
	moved := good
	moved.Run = another.ID
	s.kept[another.ID] = moved
	if got := d.Of([]rundir.Seen{{ID: another.ID, Changed: noon}}); len(got) != 0 {
		t.Errorf("one run's for another's: %+v", got)
	}
	delete(s.kept, another.ID)
	wrong := bad(form())
	wrong.Record = append(append(wrong.Record, k.sum(wrong, []byte(`{"id":{}}`))...), `{"id":{}}`...)
	none("ours, of other types", at, wrong, 1)
	// The same server's next process believes them.
	s.kept[r.ID] = good
	if got := New(s, key, nil).During(t.Context()).Of([]rundir.Seen{at}); len(got) != 1 {
		t.Error("the next process believes none")
	}
	s.kept[r.ID] = good
	s.err, warned = errors.New("away"), nil
	if got := d.Of([]rundir.Seen{at}); len(got) != 0 || len(warned) != 1 || !strings.Contains(warned[0], "away") {
		t.Errorf("%+v, %q", got, warned)
	}
	s.err = nil
	delete(s.kept, r.ID)
	for _, before := range []time.Time{time.Unix(0, 0), time.Unix(-1, 0), {}} { // the store takes no such time, nor what comes with it
		d.Take(rundir.Seen{ID: r.ID, Changed: before}, &r)
	}
	k.Write(t.Context())
	if len(s.kept) != 0 {
		t.Errorf("copied with a time before all others: %v", s.kept)
	}
	r.Label = strings.Repeat("x", store.MostRecord)
	delete(s.kept, r.ID)
	d.Take(at, &r)
	k.Write(t.Context())
	if len(s.kept) != 0 {
		t.Error("one that is too long was copied")
	}
}

// The key of the sums is made of a signature, which the server's key alone makes, and is the
// same in each version: else every start would copy anew.
func TestKeyOfSums(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	signed, err := key.Seal("application/vnd.paddock.copies", nil).Text()
	if err != nil {
		t.Fatal(err)
	}
	if payload, err := key.Public.Unseal("application/vnd.paddock.copies", signed); err != nil || len(payload) != 0 {
		t.Fatal(payload, err)
	}
	var envelope struct{ Signatures []struct{ Sig string } }
	if err := json.Unmarshal(signed, &envelope, json.MatchCaseInsensitiveNames(true)); err != nil || len(envelope.Signatures) != 1 {
		t.Fatal(err)
	}
	if New(nil, key, nil).key != sha256.Sum256([]byte(envelope.Signatures[0].Sig)) {
		t.Error("it is made of something else")
	}
	if New(nil, key, nil).key == New(nil, newKey(t), nil).key {
		t.Error("it is the same for each server")
	}
}

// After some runs have ended the newest are copied, down to a page on which all are; what
// goes on ends nothing, and isn't copied.
func TestSweep(t *testing.T) {
	t.Parallel()
	s := &shelf{kept: map[paddock.RunID]store.Copy{}}
	k := New(s, newKey(t), nil)
	for i := range 400 {
		s.runs = append(s.runs, run(t, noon.Add(-time.Duration(i)*time.Second)))
	}
	sweep := func(copied, listed int) {
		t.Helper()
		s.listed = 0
		k.Sweep(t.Context(), s)
		if len(s.kept) != copied || s.listed != listed {
			t.Errorf("%d are copied, %d were looked at; want %d and %d", len(s.kept), s.listed, copied, listed)
		}
	}
	sweep(400, 400)
	sweep(400, page)
	delete(s.kept, s.runs[20].ID)
	sweep(400, 2*page)
	for i := range 60 {
		s.runs[i].State = paddock.Running
		delete(s.kept, s.runs[i].ID)
	}
	sweep(340, 2*page)
	for i := range 3 * swept {
		s.runs = append(s.runs, run(t, noon.Add(-time.Duration(1000+i)*time.Second)))
	}
	s.kept = map[paddock.RunID]store.Copy{}
	sweep(swept-60, swept)
}
