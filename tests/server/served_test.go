//go:build linux

package server_test

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	random "math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"paddock"
	"paddock/internal/dispatch/copies"
	"paddock/internal/journal/sign"
	"paddock/internal/lease/order"
	"paddock/internal/rundir"
	"paddock/internal/store"
	"paddock/internal/store/storetest"
	_ "paddock/internal/store/tables/postgres" // for the drivers
	"paddock/internal/testproc"
	"paddock/internal/testproc/cluster"
)

// An installed server is the program as it is installed, with its store: what it does
// with as many recorded runs as there are, in directories and in rows.
type installed struct {
	stand
	dir, config, policy string
	cmd                 *testproc.Cmd
	out                 io.Reader
	log                 *bytes.Buffer
}

// many makes so many directories of runs, or finds those of before.
func many(t *testing.T) (s *installed, model paddock.RunID, ids []paddock.RunID) {
	t.Helper()
	base := *kept
	if base == "" {
		base = t.TempDir()
	}
	list := filepath.Join(base, "ids")
	text, err := os.ReadFile(list)
	if err == nil {
		for id := range strings.FieldsSeq(string(text)) {
			ids = append(ids, paddock.RunID(id))
		}
		return place(t, base), ids[0], ids[1:]
	}
	must(t, os.MkdirAll(base, 0o700))
	s = place(t, base)
	model = s.model("sqlite")
	begun := time.Now()
	ids = s.multiply(model, sized(*recorded, 200))
	t.Logf("%d directories were made in %s", len(ids), time.Since(begun).Round(time.Second))
	var names strings.Builder
	for _, id := range append([]paddock.RunID{model}, ids...) {
		fmt.Fprintln(&names, id)
	}
	must(t, os.WriteFile(list, []byte(names.String()), 0o600))
	return s, model, ids
}

// place makes a policy and a token in base.
func place(t *testing.T, base string) *installed {
	t.Helper()
	dir, err := filepath.EvalSymlinks(base)
	must(t, err)
	work := filepath.Join(dir, "work")
	must(t, os.MkdirAll(work, 0o700))
	s := &installed{dir: dir, config: filepath.Join(dir, "server.yaml"), policy: filepath.Join(dir, "policy.yaml")}
	s.t, s.state, s.client = t, filepath.Join(dir, "state"), &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	for name, text := range map[string]string{
		s.policy:                    fmt.Sprintf("version: 1\nroots: [{path: %s}]\nexecutables: [{name: echo, path: /bin/echo, args: any}]\ncontainment: {require: off}\n", work),
		filepath.Join(dir, "token"): word + "\n",
	} {
		must(t, os.WriteFile(name, []byte(text), 0o600))
	}
	return s
}

// command is a command of the program, over the same state directory.
func (s *installed) command(words ...string) *testproc.Cmd {
	cmd := testproc.Command(s.t, *binary, append(words, "--state", s.state)...)
	cmd.Env = []string{"HOME=" + s.dir, "PADDOCK_POLICY=" + s.policy}
	cmd.Dir = filepath.Join(s.dir, "work")
	return cmd
}

// begin starts the server and returns how long it took until it served.
func (s *installed) begin() time.Duration {
	s.t.Helper()
	s.cmd, s.log = s.command("serve", "--json", "--config", s.config), &bytes.Buffer{}
	s.cmd.Stderr = s.log
	out, err := s.cmd.StdoutPipe()
	must(s.t, err)
	begun := time.Now()
	must(s.t, s.cmd.Start())
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if err != nil {
		s.t.Fatalf("%v\n%s", err, s.log)
	}
	took := time.Since(begun)
	_, after, _ := strings.Cut(line, "http://")
	s.url, s.out = "http://"+after[:strings.IndexAny(after, "\"/\n ")], lines
	return took
}

func (s *installed) end() {
	s.t.Helper()
	s.client.CloseIdleConnections()
	must(s.t, s.cmd.Process.Signal(syscall.SIGTERM))
	_, _ = io.Copy(io.Discard, s.out) // to its end
	must(s.t, s.cmd.Wait())
}

// How the server that is installed does with so many recorded runs: from its start on,
// with rows in SQLite and, where there is one, in PostgreSQL.
func TestManyServed(t *testing.T) {
	if *binary == "" {
		t.Skip("-server names the program: make bench-server")
	}
	s, model, ids := many(t)
	t.Run("sqlite", func(t *testing.T) {
		s.t = t
		s.model("sqlite")
		file := filepath.Join(s.state, "server.db")
		storetest.Multiply(t, "sqlite", file, model, ids)
		storetest.Copy(t, "sqlite", file, ids, s.copied(model))
		s.served("SQLite", ids)
	})
	t.Run("postgres", func(t *testing.T) {
		s.t = t
		address := storetest.NewDatabase(t, cluster.Address(t))
		file := filepath.Join(s.dir, "address")
		must(t, os.WriteFile(file, []byte(address), 0o600))
		storetest.Multiply(t, "pgx", address, s.model("{postgres: "+file+"}"), ids)
		storetest.Copy(t, "pgx", address, ids, s.copied(model))
		s.served("PostgreSQL", ids)
	})
}

// model configures the store and returns a run that was carried out with it.
func (s *installed) model(store string) paddock.RunID {
	s.t.Helper()
	must(s.t, os.WriteFile(s.config, fmt.Appendf(nil, "version: 1\nlisten: 127.0.0.1:0\ntoken_file: %s/token\nstore: %s\nlimits: {requests_per_second: 100000, burst: 100000, all_per_second: 100000, all_burst: 100000}\n", s.dir, store), 0o600))
	s.begin()
	defer s.end()
	return s.wait(s.start("echo", "what many runs print").ID).ID
}

// copied is how the server copies the record of a run like the model, when it is over.
func (s *installed) copied(model paddock.RunID) func(paddock.RunID) store.Copy {
	s.t.Helper()
	s.begin()
	var run paddock.Run
	s.ask(http.MethodGet, "/api/v1/runs/"+string(model), "", &run)
	s.end()
	key, err := sign.Load(filepath.Join(s.state, order.Key))
	must(s.t, err)
	keeper := copies.New(nil, key, nil)
	return func(id paddock.RunID) store.Copy {
		info, err := os.Stat(filepath.Join(s.state, "runs", id.Time().Format("20060102"), string(id)))
		must(s.t, err)
		one := run
		one.ID = id
		c, err := keeper.Encode(rundir.Seen{ID: id, Changed: info.ModTime()}, &one)
		must(s.t, err)
		return c
	}
}

func (s *installed) served(store string, ids []paddock.RunID) {
	t, n := s.t, len(ids)
	name := func(what string) string { return fmt.Sprintf("%s (%s, %d)", what, store, n) }
	s.local(name("paddock ps -a, before there is a server"))
	tell(t, name("from the start until it serves"), []float64{milliseconds(s.begin())})
	before := mebibytes(t, s.cmd.Process.Pid, "Rss:")
	first := func(what, path string) {
		begun := time.Now()
		s.ask(http.MethodGet, path, "", nil)
		tell(t, name(what), []float64{milliseconds(time.Since(begun))})
	}
	first("the first page after the start", "/api/v1/runs?limit=50")
	first("the first from within a day", "/api/v1/runs?limit=50&cursor="+string(ids[n/2]))
	asked := func(what string, times int, path func(id paddock.RunID) string) {
		var took []float64
		for range sized(times, 3) {
			p := path(ids[random.IntN(len(ids))])
			begun := time.Now()
			s.ask(http.MethodGet, p, "", nil)
			took = append(took, milliseconds(time.Since(begun)))
		}
		tell(t, name(what), took)
	}
	asked("the newest 50", 1000, func(paddock.RunID) string { return "/api/v1/runs?limit=50" })
	asked("50 from anywhere on", 1000, func(id paddock.RunID) string { return "/api/v1/runs?limit=50&cursor=" + string(id) })
	asked("one", 1000, func(id paddock.RunID) string { return "/api/v1/runs/" + string(id) })
	asked("a page of its output", 1000, func(id paddock.RunID) string { return "/api/v1/runs/" + string(id) + "/output?limit=10000" })
	asked("what goes on", 100, func(paddock.RunID) string { return "/api/v1/runs?active=true" })
	asked("principals", 20, func(paddock.RunID) string { return "/api/v1/principals" })
	asked("a search that finds nothing in 2,000", 5, func(id paddock.RunID) string { return "/api/v1/search?q=nowhere&cursor=" + string(id) })
	asked("a label that nobody used", 3, func(paddock.RunID) string { return "/api/v1/runs?label=nobody" })
	asked("the numbers", 20, func(paddock.RunID) string { return "/metrics" })
	var took []float64
	for range sized(20, 1) {
		s.start("echo", "one more")
		begun := time.Now()
		s.ask(http.MethodGet, "/api/v1/runs?limit=50", "", nil)
		took = append(took, milliseconds(time.Since(begun)))
	}
	tell(t, name("the newest 50 after one more was started"), took)
	t.Logf("%s: RSS %.1f MiB at first, %.1f MiB now", name("the server"), before, mebibytes(t, s.cmd.Process.Pid, "Rss:"))
	s.stranger(name("the page of somebody who has no runs"))
	s.local(name("paddock ps -a, beside the server"))
	s.end()
}

// local is what the command costs that lists runs.
func (s *installed) local(what string) {
	s.t.Helper()
	var took []float64
	for range sized(10, 1) {
		begun := time.Now()
		if out, err := s.command("ps", "-a").CombinedOutput(); err != nil {
			s.t.Fatalf("%v\n%s", err, out)
		}
		took = append(took, milliseconds(time.Since(begun)))
	}
	tell(s.t, what, took)
}

// stranger is somebody who sees none of the runs.
func (s *installed) stranger(what string) {
	s.t.Helper()
	var invitation struct {
		Code string `json:"code"`
	}
	s.ask(http.MethodPost, "/api/v1/invitations", `{"role":"viewer"}`, &invitation)
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+"/api/v1/login", strings.NewReader(fmt.Sprintf(`{"code":%q,"name":%q,"password":"long enough for anybody"}`, invitation.Code, "ann-"+strings.ToLower(rand.Text()[:8]))))
	must(s.t, err)
	r.Header.Set("Content-Type", "application/json")
	a, err := s.client.Do(r)
	must(s.t, err)
	_, err = io.Copy(io.Discard, a.Body)
	must(s.t, errors.Join(err, a.Body.Close()))
	var took []float64
	for range sized(5, 1) {
		r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+"/api/v1/runs?limit=50", nil)
		must(s.t, err)
		for _, c := range a.Cookies() {
			r.AddCookie(c)
		}
		begun := time.Now()
		got, err := s.client.Do(r)
		must(s.t, err)
		text, err := io.ReadAll(got.Body)
		must(s.t, errors.Join(err, got.Body.Close()))
		if got.StatusCode != http.StatusOK || strings.Contains(string(text), string(paddock.Exited)) {
			s.t.Fatalf("%s: %s", got.Status, text)
		}
		took = append(took, milliseconds(time.Since(begun)))
	}
	tell(s.t, what, took)
}
