//go:build linux

// Package server_test measures the server: how long a byte takes from a program to who
// follows it, how many can follow, how many recorded runs read, what an idle server
// holds and how long a run waits before it starts, beside BullMQ on Redis. `make
// bench-server` runs it, and docs/benchmarks.md tells how to read what comes out. Without
// -measure it goes through everything once and small.
package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/executor"
	"paddock/internal/httpapi"
	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/entry/gate/token"
	"paddock/internal/httpapi/entry/shield"
	"paddock/internal/testproc"
)

var (
	measure   = flag.Bool("measure", false, "measure, and print what was measured")
	results   = flag.String("results", "", "write every sample to this file as JSON")
	followers = flag.Int("followers", 5000, "how many follow one run")
	recorded  = flag.Int("recorded", 100_000, "how many runs are recorded when listings are measured")
	kept      = flag.String("kept", "", "where those runs are made for the program, and found the next time; a place that is removed if it is left out")
	binary    = flag.String("server", "", "paddock-server, whose memory is measured")
	bullmq    = flag.String("bullmq", "", "a directory where bullmq is installed by npm")
)

func TestMain(m *testing.M) {
	testproc.Main(m, map[string]func() int{"clock": clock, "pour": pour})
}

// sized is n where we measure, and something small elsewhere.
func sized(n, small int) int {
	if *measure {
		return n
	}
	return small
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// clock prints the time, N times every so many milliseconds: each line says when it was
// written.
func clock() int {
	n, err1 := strconv.Atoi(os.Args[1])
	every, err2 := strconv.Atoi(os.Args[2])
	if err1 != nil || err2 != nil {
		return 2
	}
	tick := time.NewTicker(time.Duration(every) * time.Millisecond)
	defer tick.Stop()
	for range n {
		<-tick.C
		if _, err := fmt.Fprintln(os.Stdout, time.Now().UnixNano()); err != nil {
			return 3
		}
	}
	return 0
}

// pour waits for a file, and then prints N lines.
func pour() int {
	n, err := strconv.Atoi(os.Args[2])
	if err != nil {
		return 2
	}
	for {
		if _, err := os.Stat(os.Args[1]); err == nil {
			break
		}
		<-time.After(5 * time.Millisecond)
	}
	for i := range n {
		if _, err := fmt.Fprintf(os.Stdout, "line %d of what everybody must get, byte by byte: äöü €\n", i); err != nil {
			return 3
		}
	}
	return 0
}

const word = "t0123456789012345678901234567890123456789"

// A stand is a server with the operator's token, in this process and on a port of this
// machine.
type stand struct {
	t      *testing.T
	url    string
	state  string
	client *http.Client
}

// open opens one over a state directory, which may have runs.
func open(t *testing.T, state string) *stand {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	policy := filepath.Join(dir, "policy.yaml")
	must(t, os.WriteFile(policy, fmt.Appendf(nil, "version: 1\nroots: [{path: %s}]\nexecutables: [{name: clock, path: %s, args: any}, {name: pour, path: %s, args: any}, {name: 'true', path: /bin/true, args: any}]\ncontainment: {require: off}\n",
		dir, testproc.Program(t, "clock"), testproc.Program(t, "pour")), 0o600))
	e, err := executor.Open(t.Context(), executor.Config{State: state, Policy: executor.PolicyFile(policy), Stage: testproc.Build(t, "paddock/cmd/paddock-stage"), Warm: 2})
	must(t, err)
	house := app.New(e)
	operator, err := token.New(word)
	must(t, err)
	limits := entry.DefaultLimits()
	limits.PerSecond, limits.Burst, limits.AllPerSecond, limits.AllBurst = 1e6, 1e6, 1e6, 1e6
	door, err := httpapi.New(t.Context(), httpapi.Config{
		App: house, Gate: operator, Limits: limits, Version: "test",
		Shield: shield.Config{Loopback: true, Log: slog.New(slog.DiscardHandler), Now: time.Now},
		Policy: func() (httpapi.Policy, error) { return httpapi.Policy{Roots: []string{dir}}, nil },
	})
	must(t, err)
	server := httptest.NewServer(door)
	s := &stand{t: t, url: server.URL, state: state, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
	t.Cleanup(func() {
		s.client.CloseIdleConnections()
		door.Close()
		server.Close()
		must(t, house.Close())
		must(t, testproc.Unlocked(state+"/runs/*/*/lock"))
	})
	return s
}

func (s *stand) do(ctx context.Context, method, path, body string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+word)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	a, err := s.client.Do(r)
	if err == nil && a.StatusCode >= 300 {
		text, _ := io.ReadAll(a.Body)
		err = errors.Join(fmt.Errorf("%s %s: %s: %s", method, path, a.Status, text), a.Body.Close())
	}
	return a, err
}

// ask asks and reads the answer.
func (s *stand) ask(method, path, body string, into any) {
	s.t.Helper()
	a, err := s.do(s.t.Context(), method, path, body)
	must(s.t, err)
	text, err := io.ReadAll(a.Body)
	must(s.t, errors.Join(err, a.Body.Close()))
	if into != nil {
		must(s.t, json.Unmarshal(text, into))
	}
}

func (s *stand) start(argv ...string) (run paddock.Run) {
	s.t.Helper()
	body, err := json.Marshal(httpapi.NewRun{Argv: argv})
	must(s.t, err)
	s.ask(http.MethodPost, "/api/v1/runs", string(body), &run)
	return run
}

func (s *stand) wait(id paddock.RunID) (run paddock.Run) {
	s.t.Helper()
	for run.Outcome == nil {
		s.ask(http.MethodGet, "/api/v1/runs/"+string(id)+"?wait_ms=45000", "", &run)
	}
	return run
}

// An event is one message of a stream.
type event struct {
	Kind string `json:"-"`
	State,
	Encoding, Content string
}

// follow reads a run's events until the end, and calls each with every one.
func (s *stand) follow(ctx context.Context, id paddock.RunID, each func(event) error) error {
	a, err := s.do(ctx, http.MethodGet, "/api/v1/runs/"+string(id)+"/events", "")
	if err != nil {
		return err
	}
	defer a.Body.Close()
	lines, kind := bufio.NewReaderSize(a.Body, 16<<10), ""
	for {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return errors.New("the stream ended before the run")
		}
		if err != nil {
			return err
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "event":
			kind = value
		case "data":
			e := event{Kind: kind}
			if err := json.Unmarshal([]byte(value), &e); err != nil {
				return err
			}
			if err := each(e); err != nil || kind == "end" {
				return err
			}
		}
	}
}

// A sheet is what was measured.
type sheet struct {
	Machine string               `json:"machine"`
	Series  map[string][]float64 `json:"series"`
}

var measured = sheet{Series: map[string][]float64{}}

// tell prints the quantiles of samples in milliseconds, and keeps the samples.
func tell(t *testing.T, what string, samples []float64) {
	t.Helper()
	if !*measure {
		return
	}
	sorted := slices.Sorted(slices.Values(samples))
	at := func(q float64) float64 { return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))] }
	t.Logf("%-60s p50 %8.2f ms  p99 %8.2f ms  (%d)", what, at(0.5), at(0.99), len(sorted))
	keep(t, what, samples)
}

// keep writes everything that was measured so far.
func keep(t *testing.T, what string, samples []float64) {
	t.Helper()
	measured.Machine = fmt.Sprintf("%d CPUs, %s/%s, %s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	measured.Series[what] = samples
	if *results == "" {
		return
	}
	text, err := json.MarshalIndent(measured, "", " ")
	must(t, errors.Join(err, os.WriteFile(*results, text, 0o600)))
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
