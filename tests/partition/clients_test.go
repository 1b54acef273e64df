//go:build linux

package partition_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"paddock"
	"paddock/internal/testproc/lives"
)

func newClient(n *network, pool *x509.CertPool) http.Client {
	return http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			limited, cancel := context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
			return n.dial(limited, network, address)
		},
		TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, MaxIdleConnsPerHost: 8, ResponseHeaderTimeout: 15 * time.Second,
	}}
}

// A load is the runs that were asked for, and who reads them.
type load struct {
	f     *field
	seed  uint64
	shots []*shot
	bad   map[int]int // answers of servers that were faults, by status
	mu    sync.Mutex
	slow  string // how the network is
}

// A shot is a run: what was asked for, and what everybody was told.
type shot struct {
	n       int
	key     string
	lines   int
	script  string
	needs   string
	ids     map[paddock.RunID]bool
	id      paddock.RunID
	stories []*lives.Story
	end     paddock.Run // afterwards
}

// client asks one server after the other, from a certain one on.
func (l *load) client(first int) *lives.Client {
	var turn atomic.Int64
	turn.Store(int64(first))
	return &lives.Client{Token: l.f.token, HTTP: l.f.client, Quiet: 4 * time.Second, Pause: 100 * time.Millisecond, At: func() string {
		return urlOf([]string{"s1", "s2"}[turn.Add(1)%2])
	}}
}

// add has a run asked for, by several at once who have the same key, and followed by two
// readers to its end.
func (l *load) add(lines int, needs, then string) *shot {
	n := len(l.shots)
	s := &shot{n: n, key: fmt.Sprintf("shot-%d", n), lines: lines, needs: needs, ids: map[paddock.RunID]bool{}}
	s.script = fmt.Sprintf("echo x >>marks/%s; i=0; while [ $i -lt %d ]; do i=$((i+1)); echo \"line $i of %s: äöü €\"; sleep 0.0$((i %% 9)); done%s", s.key, lines, s.key, then)
	l.shots = append(l.shots, s)
	known := make(chan struct{})
	l.f.running.Go(func() {
		var twins sync.WaitGroup
		for twin := range 2 {
			twins.Go(func() { l.start(s, n+twin) })
		}
		twins.Wait()
		close(known)
	})
	for reader := range 2 {
		l.f.running.Go(func() {
			<-known
			if s.id == "" {
				return
			}
			r := rand.New(rand.NewPCG(l.seed, uint64(n*2+reader)))
			story, err := l.client(n+reader).Follow(l.f.life, string(s.id), func() bool { return reader == 1 && r.IntN(12) == 0 })
			if l.f.life.Err() != nil {
				return // the test has failed already
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			if s.stories = append(s.stories, story); err != nil {
				l.f.t.Errorf("reader %d of run %s (%s): %v", reader, s.id, s.key, err)
			}
		})
	}
	return s
}

// start asks until somebody accepts it. What is answered meanwhile is counted: a fault of
// ours isn't what a client is to be told because a machine is away.
func (l *load) start(s *shot, first int) {
	needs := ""
	if s.needs != "" {
		needs = `,"needs":["` + s.needs + `"]`
	}
	body := fmt.Sprintf(`{"argv":["sh","-c",%q]%s}`, "X", needs)
	script, _ := json.Marshal(s.script)
	body = strings.Replace(body, `"X"`, string(script), 1)
	c := l.client(first)
	c.Heard = l.heard
	status, answer, err := c.Ask(l.f.life, http.MethodPost, "/api/v1/runs", s.key, body)
	var run paddock.Run
	if err == nil && status != http.StatusCreated && status != http.StatusAccepted || err == nil && json.Unmarshal(answer, &run) != nil {
		err = fmt.Errorf("%d %s", status, answer)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f.life.Err() != nil {
		return // the test has failed already
	}
	if err != nil {
		l.f.t.Errorf("%s: %v", s.key, err)
		return
	}
	s.ids[run.ID] = true
	s.id = run.ID
}

func (l *load) heard(status int, _ []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if status >= 500 {
		l.bad[status]++
	}
}

// expected is what the run prints, up to where it may stay.
func (s *shot) expected() []byte {
	var b bytes.Buffer
	for i := range s.lines {
		fmt.Fprintf(&b, "line %d of %s: äöü €\n", i+1, s.key)
	}
	return b.Bytes()
}

// status is what a server says of a run.
func (l *load) status(server string, id paddock.RunID) paddock.Run {
	l.f.t.Helper()
	c := &lives.Client{Token: l.f.token, HTTP: l.f.client, Pause: 100 * time.Millisecond, At: func() string { return urlOf(server) }}
	status, answer, err := c.Ask(l.f.life, http.MethodGet, "/api/v1/runs/"+string(id), "", "")
	var run paddock.Run
	if err != nil || status != http.StatusOK || json.Unmarshal(answer, &run) != nil {
		l.f.t.Fatalf("%s says of run %s: %d %s, %v", server, id, status, answer, err)
	}
	return run
}
