package anchors_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/internal/journal"
	"paddock/internal/journal/audit"
	"paddock/internal/journal/growth"
	"paddock/internal/journal/short/account"
	"paddock/internal/journal/short/anchored"
	"paddock/internal/journal/sign"
	"paddock/internal/journal/writer"
	"paddock/internal/relay/anchors"
)

// A machine is a worker with a journal of small segments.
type machine struct {
	t     *testing.T
	state string
	w     *writer.Writer
	tell  func(ctx context.Context, from int64) (any, error)
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{t: t, state: t.TempDir()}
	m.open()
	m.tell = anchors.Teller(m.state)
	return m
}

func (m *machine) open() {
	m.t.Helper()
	w, err := writer.Open(journal.Dir(m.state), writer.Options{SegmentSize: 2000})
	if err != nil {
		m.t.Fatal(err)
	}
	m.w = w
	m.t.Cleanup(func() { _ = w.Close() })
}

func (m *machine) add(n int) {
	m.t.Helper()
	for range n {
		if err := m.w.Append(m.t.Context(), journal.Entry{Kind: journal.Account, Account: &account.Detail{What: "login"}}); err != nil {
			m.t.Fatal(err)
		}
	}
}

// copyTo copies the journal.
func (m *machine) copyTo(dir string) {
	m.t.Helper()
	duplicate(m.t, journal.Dir(m.state), dir)
}

func duplicate(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(to, 0o700); err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		text, err := os.ReadFile(filepath.Join(from, f.Name()))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, f.Name()), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// replace has the journal be what is in dir.
func (m *machine) replace(dir string) {
	m.t.Helper()
	if err := m.w.Close(); err != nil {
		m.t.Fatal(err)
	}
	if err := os.RemoveAll(journal.Dir(m.state)); err != nil {
		m.t.Fatal(err)
	}
	duplicate(m.t, dir, journal.Dir(m.state))
	m.open()
}

// A server is a Keeper with machines that are connected.
type server struct {
	t       *testing.T
	state   string
	now     time.Time
	gone    map[string]bool
	keeper  *anchors.Keeper
	workers map[string]func(ctx context.Context, from int64) ([]byte, error)
	pause   func(ctx context.Context, d time.Duration, soon <-chan struct{})
	changed chan struct{}

	entries []anchored.Detail
	warned  []string
}

func newServer(t *testing.T) *server {
	s := &server{t: t, state: t.TempDir(), now: time.Unix(1_800_000_000, 0).UTC(), workers: map[string]func(context.Context, int64) ([]byte, error){}}
	if err := os.Mkdir(filepath.Join(s.state, "tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.restart()
	return s
}

func (s *server) restart() {
	s.t.Helper()
	k, err := anchors.Open(anchors.Config{
		Hub: s, State: s.state, Now: func() time.Time { return s.now }, Pause: s.pause,
		Append: func(_ context.Context, all ...journal.Entry) error {
			for _, e := range all {
				s.entries = append(s.entries, *e.Anchored)
			}
			return nil
		},
		Removed: func(_ context.Context, worker string) (bool, error) { return s.gone[worker], nil },
		Warn:    func(err error) { s.warned = append(s.warned, err.Error()) },
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.keeper = k
}

func (s *server) Workers() []string {
	var all []string
	for name := range s.workers {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

func (s *server) Changed() <-chan struct{} { return s.changed }

func (s *server) Head(ctx context.Context, worker string, from int64) ([]byte, error) {
	return s.workers[worker](ctx, from)
}

func (s *server) connect(name string, tell func(context.Context, int64) (any, error)) {
	s.workers[name] = func(ctx context.Context, from int64) ([]byte, error) {
		told, err := tell(ctx, from)
		if err != nil {
			return nil, err
		}
		return json.Marshal(told)
	}
}

// round asks once, after minutes, and returns what was written down.
func (s *server) round(minutes int) []anchored.Detail {
	s.now = s.now.Add(time.Duration(minutes) * time.Minute)
	before := len(s.entries)
	s.keeper.Round(s.t.Context())
	return s.entries[before:]
}

func (s *server) alarm(worker, want string) {
	s.t.Helper()
	w, _ := s.keeper.Of(worker)
	if !strings.Contains(w.Problem, want) {
		s.t.Errorf("the problem of %s is %q, want %q", worker, w.Problem, want)
	}
	n := 0
	if want != "" {
		n = 1
	}
	if got := anchors.Alarms(s.state); got != n {
		s.t.Errorf("%d alarms are counted, want %d", got, n)
	}
}

// A worker that has nothing to tell yet is asked again soon, and later and later if it
// never tells; the next that comes is asked soon again.
func TestFirstEntriesAreKnownSoon(t *testing.T) {
	t.Parallel()
	s, m := newServer(t), newMachine(t)
	none := func(context.Context, int64) (any, error) { return nil, paddock.Refused(paddock.NotFound, "none") }
	s.connect("a", none)
	s.changed = make(chan struct{})
	ctx, end := context.WithCancel(t.Context())
	var waits []time.Duration
	s.pause = func(_ context.Context, d time.Duration, _ <-chan struct{}) {
		waits = append(waits, d)
		s.now = s.now.Add(d)
		switch len(waits) {
		case 8:
			s.connect("b", none)
			close(s.changed)
		case 9:
			s.changed = make(chan struct{})
			m.add(1)
			s.connect("a", m.tell)
			delete(s.workers, "b")
		case 11:
			end()
		}
	}
	s.restart()
	s.keeper.Run(ctx)
	var want []time.Duration
	for _, seconds := range []int{1, 2, 4, 8, 16, 32, 60, 60, 1, 60, 60} {
		want = append(want, time.Duration(seconds)*time.Second)
	}
	if !slices.Equal(waits, want) || len(s.entries) != 1 || !s.entries[0].First {
		t.Errorf("it waited %v, want %v; %+v", waits, want, s.entries)
	}
}

func TestGrownJournalsAreAnchored(t *testing.T) {
	t.Parallel()
	s, m := newServer(t), newMachine(t)
	m.add(3)
	s.connect("a", m.tell)
	first := s.round(0)
	if len(first) != 1 || !first[0].First || first[0].Size != 4 || first[0].Problem != "" {
		t.Fatalf("%+v", first)
	}
	if got := s.round(10); len(got) != 0 { // nothing came to it
		t.Errorf("%+v", got)
	}
	m.add(40) // over several segments
	got := s.round(10)
	if len(got) != 1 || got[0].Size < 44 || got[0].First || got[0].Key != first[0].Key {
		t.Fatalf("%+v", got)
	}
	m.add(1)
	if got := s.round(2); len(got) != 0 { // too soon to be written down …
		t.Errorf("%+v", got)
	}
	if w, _ := s.keeper.Of("a"); w.Size != got[0].Size+1 { // … and known all the same
		t.Errorf("%d entries are known", w.Size)
	}
	s.restart()
	m.add(30)
	last := s.round(10)
	if len(last) != 1 || last[0].Problem != "" || last[0].Size < 75 {
		t.Fatalf("after a restart: %+v", last)
	}
	s.alarm("a", "")
	verify(t, m, last[0], "")
	cut(t, m, 2)
	verify(t, m, last[0], "cut off")
}

// verify is paddock audit verify --head with what the server wrote down.
func verify(t *testing.T, m *machine, d anchored.Detail, want string) {
	t.Helper()
	key, err := sign.ParsePublic(d.Key)
	if err != nil {
		t.Fatal(err)
	}
	r, err := audit.Run(t.Context(), journal.Dir(m.state), audit.Options{Checkpoints: []string{d.Note}, OpenNote: key.Open})
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	for _, f := range r.Faults {
		said += f.String() + "\n"
	}
	if want == "" && said != "" || !strings.Contains(said, want) {
		t.Errorf("%q, want %q", said, want)
	}
}

// cut takes n entries off the end of the last segment.
func cut(t *testing.T, m *machine, n int) {
	t.Helper()
	all, err := journal.Segments(journal.Dir(m.state))
	if err != nil {
		t.Fatal(err)
	}
	path := all[len(all)-1].Path
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	if len(lines) < n+2 {
		t.Fatalf("the last segment has %d lines", len(lines))
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines[:len(lines)-1-n], "")), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestCutTailIsAnAlarm(t *testing.T) {
	t.Parallel()
	s, m := newServer(t), newMachine(t)
	m.add(5)
	s.connect("a", m.tell)
	s.round(0)
	cut(t, m, 2)
	got := s.round(1)
	if len(got) != 1 || !strings.Contains(got[0].Problem, "it had 6 entries and has 4") || got[0].Size != 6 || got[0].Note == "" {
		t.Fatalf("%+v", got)
	}
	s.alarm("a", "cut off")
	if len(s.warned) != 1 || !strings.Contains(s.warned[0], "ALARM") {
		t.Errorf("%q", s.warned)
	}
	if again := s.round(9); len(again) != 0 { // it is said once
		t.Errorf("%+v", again)
	}
	m.add(7) // others are written in their place
	s.restart()
	if got := s.round(9); len(got) != 1 || !strings.Contains(got[0].Problem, "the first 6 entries aren't those") {
		t.Errorf("%+v", got)
	}
	s.alarm("a", "aren't those that were known")
}

func TestCopyPutBackIsAnAlarmUntilItIsTakenBack(t *testing.T) {
	t.Parallel()
	s, m := newServer(t), newMachine(t)
	m.add(30)
	old, whole := t.TempDir(), t.TempDir()
	s.connect("a", m.tell)
	s.round(0)
	m.copyTo(old)
	m.add(30)
	s.round(6)
	m.copyTo(whole)
	m.replace(old)
	s.round(6)
	s.alarm("a", "put back from a copy")
	m.add(60)
	s.round(6)
	s.alarm("a", "aren't those that were known")
	m.replace(whole)
	if got := s.round(6); len(got) != 1 || got[0].Problem != "" {
		t.Errorf("that it fits again isn't told: %+v", got)
	}
	s.alarm("a", "")
}

func TestWhatIsNoGrowthIsAnAlarm(t *testing.T) {
	t.Parallel()
	edit := func(f func(t *growth.Told)) func(any) any {
		return func(told any) any {
			f(told.(*growth.Told))
			return told
		}
	}
	for name, tc := range map[string]struct {
		then func(any) any
		want string
	}{
		"below zero":       {edit(func(t *growth.Told) { t.Size = -1 }), "no journal has so many"},
		"none":             {edit(func(t *growth.Told) { t.Size = 0 }), "no journal has so many"},
		"too many":         {edit(func(t *growth.Told) { t.Size = 1 << 62 }), "no journal has so many"},
		"more than shown":  {edit(func(t *growth.Told) { t.Size++ }), "isn't what it tells"},
		"no leaves":        {edit(func(t *growth.Told) { t.Leaves = nil }), "with 0 hashes"},
		"another leaf":     {edit(func(t *growth.Told) { t.Leaves[0] = t.Hash }), "aren't those that were known"},
		"no hash":          {edit(func(t *growth.Told) { t.Leaves[0] = "x" }), "a hash isn't one"},
		"another hash":     {edit(func(t *growth.Told) { t.Hash = t.Leaves[0] }), "isn't what it tells"},
		"no journal":       {edit(func(t *growth.Told) { t.Journal = strings.Repeat("x", 5000) }), "the journal's id isn't one"},
		"another journal":  {edit(func(t *growth.Told) { t.Journal = strings.Repeat("a", 32) }), "it is another journal"},
		"no signature":     {edit(func(t *growth.Told) { t.Note = "" }), "isn't signed by its key"},
		"a long note":      {edit(func(t *growth.Told) { t.Note += strings.Repeat("— x AAAA\n", 1000) }), "longer than 2048 bytes"},
		"a long key":       {edit(func(t *growth.Told) { t.Key = strings.Repeat("k", 1<<20) }), "longer than 2048 bytes"},
		"no key":           {edit(func(t *growth.Told) { t.Key = "" }), "another key signs"},
		"missing segments": {edit(func(t *growth.Told) { t.Missing, t.Leaves = true, nil }), "aren't all there"},
		"not a head":       {func(any) any { return "a\x00b" }, "isn't understood"},
		"another type":     {func(any) any { return map[string]any{"size": "7"} }, "isn't understood"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, m := newServer(t), newMachine(t)
			m.add(3)
			s.connect("a", m.tell)
			s.round(0)
			m.add(2)
			s.connect("a", func(ctx context.Context, from int64) (any, error) {
				told, err := m.tell(ctx, from)
				if err != nil {
					return nil, err
				}
				return tc.then(told), nil
			})
			s.round(6)
			s.alarm("a", tc.want)
			if w, _ := s.keeper.Of("a"); w.Size != 4 {
				t.Errorf("%d entries are known, and the 4 should be", w.Size)
			}
		})
	}
}

func TestReplacedKeyAndForeignJournal(t *testing.T) {
	t.Parallel()
	s, a, b := newServer(t), newMachine(t), newMachine(t)
	a.add(2)
	b.add(9)
	s.connect("a", a.tell)
	s.round(0)
	for _, name := range []string{"key", "key.pub"} {
		if err := os.Remove(filepath.Join(journal.Dir(a.state), name)); err != nil {
			t.Fatal(err)
		}
	}
	a.add(1)
	s.round(6)
	s.alarm("a", "another key")

	s = newServer(t)
	s.connect("b", b.tell)
	s.round(0)
	s.connect("c", b.tell) // which is new, and tells of the journal of b
	s.round(6)
	s.alarm("c", "it tells of the journal of worker b")
}

func TestWorkersThatDoNotTell(t *testing.T) {
	t.Parallel()
	s, m := newServer(t), newMachine(t)
	silent := func(context.Context, int64) (any, error) {
		return nil, paddock.Refused(paddock.InvalidRequest, "What is that?")
	}
	s.connect("a", silent) // an older version
	if got := s.round(0); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	if _, known := s.keeper.Of("a"); known {
		t.Error("something is known of who told nothing")
	}
	s.connect("a", m.tell)
	m.add(1)
	s.round(2)
	s.connect("a", func(context.Context, int64) (any, error) { return nil, paddock.Refused(paddock.Away, "Gone.") })
	s.round(2)
	s.alarm("a", "")
	s.connect("a", silent)
	s.round(2)
	s.alarm("a", "doesn't tell of its journal any more")
	s.connect("a", m.tell)
	s.round(2)
	s.alarm("a", "")
	if err := os.Chmod(filepath.Join(journal.Dir(m.state), "key"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.round(2)
	s.alarm("a", "can't tell of its journal")
	none := newMachine(t)
	s.connect("b", none.tell)
	if got := s.round(2); len(got) != 0 {
		t.Errorf("of a journal without an entry: %+v", got)
	}
}

// What can't be understood of what is known would be an alarm less.
func TestKnownThatIsDamaged(t *testing.T) {
	t.Parallel()
	s, m := newServer(t), newMachine(t)
	m.add(1)
	s.connect("a", m.tell)
	s.round(0)
	path := filepath.Join(s.state, anchors.Name)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"", "{", `{"version":2,"workers":{}}`, strings.Replace(string(whole), `"size":2`, `"size":3`, 1),
		strings.Replace(string(whole), `"workers"`, `"more":1,"workers"`, 1), `{"version":1,"workers":{"a":null}}`, string(whole) + "x",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := anchors.Open(anchors.Config{Hub: s, State: s.state}); err == nil || !strings.Contains(err.Error(), "put it back from a backup") {
			t.Errorf("%.60q: %v", text, err)
		}
		if anchors.Alarms(s.state) == 0 {
			t.Errorf("%.60q is no alarm", text)
		}
	}
}

// Of a journal that grew by more than is told at once all is known in the end.
func TestMuchIsToldInParts(t *testing.T) {
	t.Parallel()
	s, m := newServer(t), newMachine(t)
	m.add(1)
	s.connect("a", m.tell)
	s.round(0)
	entries := make([]journal.Entry, growth.MostLeaves+50)
	for i := range entries {
		entries[i] = journal.Entry{Kind: journal.Account, Account: &account.Detail{What: "x"}}
	}
	for part := range slices.Chunk(entries, 64) {
		if err := m.w.Append(t.Context(), part...); err != nil {
			t.Fatal(err)
		}
	}
	got := s.round(6)
	if len(got) != 1 || got[0].Size < growth.MostLeaves+52 || got[0].Problem != "" {
		t.Errorf("%+v", got)
	}
	verify(t, m, got[0], "")
}

// Who was known and is there whenever it is asked, but always away when it is to tell, is
// an alarm: so would be hidden what was cut off.
func TestWhoIsAlwaysAwayIsAnAlarm(t *testing.T) {
	t.Parallel()
	s, m := newServer(t), newMachine(t)
	m.add(3)
	s.connect("a", m.tell)
	s.connect("new", func(context.Context, int64) (any, error) { return nil, paddock.Refused(paddock.Away, "Gone.") })
	s.round(0)
	asked, _ := s.keeper.Of("a")
	s.connect("a", func(context.Context, int64) (any, error) { return nil, paddock.Refused(paddock.Away, "Gone.") })
	for range 20 { // it comes and goes
		s.round(0)
	}
	s.alarm("a", "")
	for range 4 {
		s.round(2)
		s.alarm("a", "")
	}
	s.connect("a", m.tell) // an accident
	s.round(2)
	s.connect("a", func(context.Context, int64) (any, error) { return nil, paddock.Refused(paddock.Away, "Gone.") })
	for range 5 {
		s.round(2)
		s.alarm("a", "")
	}
	if got := s.round(2); len(got) != 1 || got[0].Problem == "" || got[0].Size != asked.Size {
		t.Errorf("%+v", got)
	}
	s.alarm("a", "connected whenever it was asked")
	if got := s.round(9); len(got) != 0 {
		t.Errorf("it is said again: %+v", got)
	}
	s.connect("a", m.tell)
	s.round(2)
	s.alarm("a", "")
}

// A worker that was removed is no alarm, and its journal may be another's. What is known of
// it is kept: a removal that is taken back takes nothing from what was known.
func TestRemovedWorkersAreNoAlarm(t *testing.T) {
	t.Parallel()
	s, m := newServer(t), newMachine(t)
	m.add(5)
	s.connect("a", m.tell)
	s.round(0)
	before := filepath.Join(t.TempDir(), "before")
	m.copyTo(before)
	m.add(5)
	s.round(2)
	m.replace(before)
	s.round(2)
	s.alarm("a", "cut off")
	s.gone = map[string]bool{"a": true}
	s.round(2)
	s.connect("again", m.tell)
	s.round(2)
	s.restart()
	if n := anchors.Alarms(s.state); n != 0 {
		t.Errorf("%d alarms of who was removed", n)
	}
	if w, _ := s.keeper.Of("again"); w.Size == 0 || w.Problem != "" {
		t.Errorf("%+v", w)
	}
	s.gone = nil
	delete(s.workers, "again")
	s.round(2)
	if w, _ := s.keeper.Of("a"); w.Problem == "" || anchors.Alarms(s.state) != 1 {
		t.Errorf("a removal that is taken back: %+v", w)
	}
}
