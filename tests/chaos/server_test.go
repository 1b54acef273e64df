//go:build linux

package chaos_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"paddock"
	"paddock/internal/failpoint"
	"paddock/internal/store/tables/sqlite"
	"paddock/internal/testproc"
	"paddock/internal/testproc/lives"
)

// firstAtServer is the number of the first shot at the server, past all others.
const firstAtServer = 1_000_000

// atOnce is how many shots are going on at the server at once.
const atOnce = 4

// A mark is a server on the field's state directory that is ended all the time: after
// some number of answers and events, or at a fail point.
type mark struct {
	f      *field
	bin    string
	config string
	level  paddock.Level
	k      *lives.Keeper
	c      lives.Client
	calm   atomic.Bool // it has lived dangerously for long enough

	mu      sync.Mutex
	shots   []*shot
	invited []string // invitations that a server said it had made
}

// newMark has a server ready at f. The program that people type becomes it, so it is
// the released one in everything but its fail points.
func newMark(f *field) *mark {
	f.t.Helper()
	m := &mark{f: f, bin: f.binaries("server"), config: filepath.Join(f.dir, "server.yaml"), level: f.levels[len(f.levels)-1]}
	must(f.t, os.Link(testproc.BuildTo(f.t, "failing-server", "paddock/cmd/paddock", "failpoints,server"), filepath.Join(m.bin, "paddock-server")))
	token := filepath.Join(f.dir, "token")
	m.c.Token = strings.Repeat("t", 40)
	must(f.t, os.WriteFile(token, []byte(m.c.Token), 0o600))
	limits := "{requests_per_second: 1000, burst: 1000, all_per_second: 1000, all_burst: 1000}"
	must(f.t, os.WriteFile(m.config, fmt.Appendf(nil, "version: 1\ntoken_file: %s\nlimits: %s\n", token, limits), 0o600))
	m.k = lives.Keep(f.t, m.live)
	m.c.Keeper = m.k
	return m
}

// live is the command of the nth server, and what ends it.
func (m *mark) live(n int) (*testproc.Cmd, lives.Doom) {
	r := rand.New(rand.NewPCG(m.f.seed, uint64(firstAtServer*1000+n)))
	doom, plan := lives.Doom{After: 1 + r.IntN(60), Rest: time.Duration(r.IntN(30_000)) * time.Microsecond}, ""
	if r.IntN(3) == 0 {
		point, count := pick(r, points["paddock-server"]), 1+r.IntN(4)
		if point == "*" {
			count += r.IntN(40)
		}
		// What isn't reached, or isn't deadly, is no way to stay.
		plan, doom.MayFail, doom.After = fmt.Sprintf("%s %d %s\n", point, count, pick(r, actions)), true, 100
	}
	if m.calm.Load() {
		doom, plan = lives.Doom{}, ""
	}
	arm(m.f.t, filepath.Join(m.bin, "paddock-server"), plan)
	cmd := testproc.Command(m.f.t, filepath.Join(m.bin, "paddock"), "serve", "--json", "--listen", "127.0.0.1:0",
		"--config", m.config, "--state", m.f.state, "--policy", m.f.policies[m.level])
	cmd.Dir = m.f.root
	return cmd, doom
}

// fire fires n shots at the server.
func (m *mark) fire(n int) {
	next := make(chan int)
	var all sync.WaitGroup
	for range atOnce {
		all.Go(func() {
			for i := range next {
				s := m.newShot(firstAtServer + i)
				m.shoot(s)
				m.f.note(s)
				m.mu.Lock()
				m.shots = append(m.shots, s)
				m.mu.Unlock()
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
}

// newShot is one whose server dies of it; its supervisor or its program may, too.
func (m *mark) newShot(n int) *shot {
	s := newShot(m.f, n, m.bin)
	s.door, s.level, s.plan, s.key, s.twins = "http", m.level, "", fmt.Sprintf("key-%d", n), 1+s.rand.IntN(3)
	s.attack = pick(s.rand, []string{"server", "server", "server", "server", "server", "server", "supervisor", "program"})
	return s
}

// shoot asks for a run, follows it to its end, and invites somebody now and then.
func (m *mark) shoot(s *shot) {
	var attack, asking, reading sync.WaitGroup
	if s.attack != "server" {
		attack.Go(func() { s.strike(m.f.t.Context()) })
	}
	for range s.twins {
		asking.Go(func() {
			id, err := m.start(s, s.script(), http.StatusCreated)
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.accepted = append(s.accepted, id); err != nil {
				s.said = append(s.said, err.Error())
				m.f.t.Errorf("shot %d: %v", s.n, err)
			}
		})
	}
	if s.rand.IntN(4) == 0 {
		asking.Go(m.invite)
	}
	asking.Wait()
	for _, restless := range []bool{false, true} {
		reading.Go(func() {
			r := rand.New(rand.NewPCG(s.f.seed, uint64(s.n)))
			story, err := m.c.Follow(m.f.t.Context(), s.accepted[0], func() bool { return restless && r.IntN(3) == 0 })
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.stories = append(s.stories, story); err != nil {
				m.f.t.Errorf("shot %d: %v", s.n, err)
			}
		})
	}
	reading.Wait()
	attack.Wait()
}

// start asks for the run of s with its key.
func (m *mark) start(s *shot, script string, want int) (id string, err error) {
	body, err := json.Marshal(map[string]any{"argv": []string{"sh", "-c", script}, "timeout_ms": s.limit.Milliseconds()})
	if err != nil {
		return "", err
	}
	status, answer, err := m.c.Ask(m.f.t.Context(), http.MethodPost, "/api/v1/runs", s.key, string(body))
	if want == http.StatusCreated && status == http.StatusAccepted { // it waits for its turn
		status = want
	}
	if err == nil && status != want {
		err = fmt.Errorf("it answered %d: %s", status, answer)
	}
	if err != nil || want != http.StatusCreated {
		return "", err
	}
	var run paddock.Run
	err = json.Unmarshal(answer, &run)
	return string(run.ID), err
}

func (m *mark) invite() {
	id, err := m.c.Invite(m.f.t.Context())
	if err != nil {
		m.f.t.Error(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.invited = append(m.invited, id)
}

// end looks at what a last server, which nothing ends, has of it all.
func (m *mark) end() {
	t := m.f.t
	t.Helper()
	m.calm.Store(true)
	m.k.Kill()
	for _, s := range m.shots {
		if id, err := m.start(s, s.script(), http.StatusCreated); err != nil || id != s.accepted[0] {
			t.Errorf("its key is of %q afterwards, %v\n%v", id, err, s)
		}
		if _, err := m.start(s, "exit 9", http.StatusConflict); err != nil {
			t.Errorf("its key is good for something else: %v\n%v", err, s)
		}
		m.told(s)
		m.begun(s)
	}
	if err := m.c.Invited(t.Context(), m.invited); err != nil {
		t.Error(err)
	}
	if status, answer, err := m.c.Ask(t.Context(), http.MethodGet, "/readyz", "", ""); err != nil || status != http.StatusOK {
		t.Errorf("readyz: %d %s, %v", status, answer, err)
	}
	m.k.End()
	m.c.HTTP.CloseIdleConnections()
	m.f.tally["server: lives"], m.f.tally["server: killed"] = m.k.Lives()
	m.f.tally["server: invitations"] = len(m.invited)
	if hits, err := os.ReadFile(filepath.Join(m.bin, "paddock-server"+failpoint.HitSuffix)); err == nil {
		m.f.tally.hits("paddock-server", string(hits), &m.f.mu)
	}
	// Every page of the database is looked at by what restores a backup.
	copied := filepath.Join(m.f.dir, "copy.db")
	must(t, sqlite.Backup(t.Context(), filepath.Join(m.f.state, "server.db"), copied))
	if err := sqlite.Restore(t.Context(), copied, filepath.Join(m.f.dir, "restored.db")); err != nil {
		t.Errorf("server.db: %v", err)
	}
}

// begun finds out whether the run of s ever had a directory: one that was taken from the
// queue by a server that died of it before has none, and nobody starts it again; neither
// has one that couldn't be written down when its turn came.
func (m *mark) begun(s *shot) {
	if kept, err := filepath.Glob(filepath.Join(m.f.state, "runs/*", s.accepted[0])); err != nil || len(kept) > 0 {
		return
	}
	status, answer, err := m.c.Ask(m.f.t.Context(), http.MethodGet, "/api/v1/runs/"+s.accepted[0], "", "")
	var run paddock.Run
	if err != nil || status != http.StatusOK || json.Unmarshal(answer, &run) != nil || run.State != paddock.FailedToStart && run.State != paddock.RefusedState {
		m.f.t.Errorf("%s has no directory, and the server says %d %s, %v\n%v", s.accepted[0], status, answer, err, s)
	}
	s.never = true
	m.f.tally["server: taken and never begun"]++
}

// told compares what each reader was told of a run with what is kept of it.
func (m *mark) told(s *shot) {
	m.f.t.Helper()
	for _, id := range s.accepted[1:] {
		if id != s.accepted[0] {
			m.f.t.Errorf("one key, and two runs\n%v", s)
		}
	}
	for r, story := range s.stories {
		m.f.tally["server: connections of readers"] += story.Connections
		for _, stream := range []string{"stdout", "stderr"} {
			run := paddock.Run{ID: paddock.RunID(s.accepted[0])}
			kept, err := os.ReadFile(m.f.file(run, stream))
			if err != nil && !os.IsNotExist(err) || !bytes.Equal(kept, story.Streams[stream]) {
				m.f.t.Errorf("reader %d was told %d bytes of %s, and %d are kept, %v\n%v", r, len(story.Streams[stream]), stream, len(kept), err, s)
			}
		}
		var outcome paddock.Outcome
		if err := json.Unmarshal(story.Outcome, &outcome); err != nil || string(outcome.State) != story.State || !outcome.State.Settled() {
			m.f.t.Errorf("reader %d was told that it is %s: %.300s, %v\n%v", r, story.State, story.Outcome, err, s)
		}
	}
}
