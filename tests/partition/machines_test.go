//go:build linux

package partition_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"paddock"
	"paddock/internal/testproc"
)

// A machine is a server or a worker at its place: a program of its own, so that its
// processes are known by the file that they are.
type machine struct {
	f      *field
	name   string
	bin    string
	state  string
	args   []string
	before []string // words before its command
	cmd    *testproc.Cmd
	kills  int
}

// A field is everybody.
type field struct {
	t       *testing.T
	net     *network
	db      *database
	dir     string
	work    string
	policy  string
	token   string
	client  http.Client
	cookie  *http.Cookie
	all     map[string]*machine
	workers map[string]string // ids by name
	times   string
	life    context.Context // until the test is over, however
	running sync.WaitGroup
}

const patience = 3 * time.Minute // only if it never happens

// until waits for found to find nothing more.
func until(t *testing.T, what string, found func() string) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	over := time.NewTimer(patience)
	defer over.Stop()
	for {
		left := found()
		if left == "" {
			return
		}
		select {
		case <-tick.C:
		case <-over.C:
			t.Fatalf("not so: %s: %s", what, left)
		}
	}
}

// within does something where two servers and four workers are ready. The first server
// only queues, and its clock is wrong. Nothing of it is left afterwards.
func within(t *testing.T, times string, do func(*field)) {
	t.Helper()
	n := &network{t: t, prefix: fmt.Sprintf("pk%dx%d", os.Getpid(), fields.Add(1))}
	defer n.remove()
	n.make()
	dir, err := os.MkdirTemp("", "paddock-partition-") // the database's user can't pass t.TempDir's parent
	must(t, err)
	f := &field{t: t, net: n, dir: dir, work: filepath.Join(dir, "work"), token: strings.Repeat("t", 40), all: map[string]*machine{}, workers: map[string]string{}, times: times}
	life, over := context.WithCancel(t.Context())
	f.life = life
	defer f.remove()
	defer f.running.Wait()
	defer over()
	must(t, os.Chmod(dir, 0o755))
	must(t, os.MkdirAll(filepath.Join(f.work, "marks"), 0o700))
	cert, key, pool := papers(t, dir)
	f.client = newClient(n, pool)
	f.db = newDatabase(t, n, dir, cert, key)
	f.policy = f.write("policy.yaml", "version: 1\nroots: [{path: "+f.work+"}]\nexecutables: [{name: sh, path: /bin/sh, args: any}]\ncontainment: {require: off}\n")
	f.write("token", f.token)
	f.write("server.pg", f.db.address("server"))
	f.write("worker.pg", f.db.address("worker"))
	for name, more := range map[string]string{"s1": "worker: none", "s2": "limits: {runs: 2, requests_per_second: 10000, burst: 10000, all_per_second: 10000, all_burst: 10000}"} {
		if name == "s1" {
			more += "\nlimits: {requests_per_second: 10000, burst: 10000, all_per_second: 10000, all_burst: 10000}"
		}
		config := f.write(name+".yaml", fmt.Sprintf("version: 1\nlisten: %s:7077\nstore: {postgres: %s/server.pg}\ntoken_file: %[2]s/token\ntls: {cert: %s, key: %s}\nleases: %s\n%s\n", places[name], dir, cert, key, times, more))
		f.machine(name, "serve", "--json", "--config", config)
	}
	must(t, os.WriteFile(filepath.Join(f.all["s1"].bin, "paddock-server.clock"), []byte("90s"), 0o600))
	login := f.all["s1"].serve()
	f.db.allow()
	f.all["s2"].serve()
	f.enter(login)
	for i, name := range []string{"w1", "w2", "w3", "w4"} {
		f.worker(i, name, cert)
	}
	do(f)
}

// fields counts those of this process.
var fields atomic.Int64

func (f *field) write(name, text string) string {
	path := filepath.Join(f.dir, name)
	must(f.t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// machine makes one, with programs of its own.
func (f *field) machine(name string, args ...string) *machine {
	f.t.Helper()
	m := &machine{f: f, name: name, bin: filepath.Join(f.dir, "bin-"+name), state: filepath.Join(f.dir, "state-"+name)}
	must(f.t, os.Mkdir(m.bin, 0o755))
	server, stage := testproc.BuildTo(f.t, "failing-server", "paddock/cmd/paddock", "failpoints,server"), testproc.Build(f.t, "paddock/cmd/paddock-stage")
	must(f.t, os.Link(server, filepath.Join(m.bin, "paddock-server")))
	must(f.t, os.Link(stage, filepath.Join(m.bin, "paddock-stage")))
	m.args = append(args, "--state", m.state, "--policy", f.policy)
	f.all[name] = m
	return m
}

// worker adds a worker, and starts it. Each has another boot clock.
func (f *field) worker(i int, name, cert string) {
	f.t.Helper()
	var added struct{ ID, Credential string }
	f.ask("s1", http.MethodPost, "/api/v1/workers", `{"name":"`+name+`"}`, http.StatusCreated, &added)
	f.workers[name] = added.ID
	token := f.write(name+".token", added.Credential)
	var keys, servers []string
	for _, s := range []string{"s1", "s2"} {
		keys = append(keys, filepath.Join(f.all[s].state, "orders.key.pub"))
		servers = append(servers, fmt.Sprintf("{url: 'https://%s:7077', token_file: %s, ca: %s}", places[s], token, cert))
	}
	config := f.write(name+".yaml", fmt.Sprintf("version: 1\nid: %s\npostgres: %s/worker.pg\norders: [%s]\nservers: [%s]\nlabels: [%s]\nleases: %s\ncapacity: 6\n",
		added.ID, f.dir, strings.Join(keys, ", "), strings.Join(servers, ", "), name, f.times))
	m := f.machine(name, "worker", "--config", config)
	m.before = []string{"unshare", "--time", "--boottime", strconv.Itoa(1000 * i), "--monotonic", strconv.Itoa(500 * i), "--"}
	m.start()
}

// command is its program at its place.
func (m *machine) command(args ...string) *testproc.Cmd {
	words := append(append(m.f.net.enter(m.name), m.before...), filepath.Join(m.bin, "paddock-server"))
	words = append(words, args...)
	cmd := testproc.Command(m.f.t, words[0], words[1:]...)
	cmd.Dir, cmd.Env = m.f.work, []string{"HOME=" + m.f.dir, "PATH=/usr/bin:/bin"}
	return cmd
}

func (m *machine) start() io.Reader {
	m.f.t.Helper()
	log, err := os.OpenFile(m.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must(m.f.t, err)
	defer log.Close()
	m.cmd = m.command(m.args...)
	m.cmd.Stderr = log
	out, err := m.cmd.StdoutPipe()
	must(m.f.t, err)
	must(m.f.t, m.cmd.Start())
	return out
}

func (m *machine) log() string { return filepath.Join(m.f.dir, m.name+".log") }

// serve starts a server, and returns its link to log in with, if it has one.
func (m *machine) serve() (login string) {
	m.f.t.Helper()
	line, err := bufio.NewReader(m.start()).ReadBytes('\n')
	var said struct {
		URL   string `json:"url"`
		Login string `json:"login_url"`
	}
	if err != nil || json.Unmarshal(line, &said) != nil || said.URL == "" {
		text, _ := os.ReadFile(m.log())
		m.f.t.Fatalf("%s says %q (%v)\n%s", m.name, line, err, text)
	}
	return said.Login
}

// kill ends its process as kill -9 does.
func (m *machine) kill() {
	m.f.t.Helper()
	must(m.f.t, m.cmd.Process.Kill())
	_ = m.cmd.Wait() // it was killed
	m.kills++
}

// end asks it to end.
func (m *machine) end() {
	m.f.t.Helper()
	must(m.f.t, m.cmd.Process.Signal(syscall.SIGTERM))
	if err := m.cmd.Wait(); err != nil {
		text, _ := os.ReadFile(m.log())
		m.f.t.Errorf("%s ends with %v\n%s", m.name, err, text[max(0, len(text)-4000):])
	}
}

// enter logs in by the link.
func (f *field) enter(login string) {
	f.t.Helper()
	_, code, _ := strings.Cut(login, "#")
	f.ask("s1", http.MethodPost, "/api/v1/login", `{"code":"`+code+`"}`, http.StatusOK, nil)
}

// ask asks a server as the admin who logged in.
func (f *field) ask(server, method, path, body string, want int, into any) {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), method, urlOf(server)+path, strings.NewReader(body))
	must(f.t, err)
	r.Header.Set("Content-Type", "application/json")
	if f.cookie != nil {
		r.AddCookie(f.cookie)
	}
	a, err := f.client.Do(r)
	must(f.t, err)
	text, err := io.ReadAll(a.Body)
	_ = a.Body.Close() // read
	if err != nil || a.StatusCode != want {
		log, _ := os.ReadFile(f.all[server].log())
		f.t.Fatalf("%s %s: %d, %v: %s\n%s", method, path, a.StatusCode, err, text, log)
	}
	if cookies := a.Cookies(); len(cookies) > 0 {
		f.cookie = cookies[0]
	}
	if into != nil {
		must(f.t, json.Unmarshal(text, into))
	}
}

func urlOf(server string) string { return "https://" + places[server] + ":7077" }

// directory is where a run is on a machine's disk, empty where it isn't.
func (m *machine) directory(id paddock.RunID) string {
	found, err := filepath.Glob(filepath.Join(m.state, "runs", "*", string(id)))
	must(m.f.t, err)
	if len(found) == 0 {
		return ""
	}
	return found[0]
}

// remove removes what is left, when nobody writes to it any more.
func (f *field) remove() {
	f.client.CloseIdleConnections()
	if f.db != nil && f.db.cmd != nil {
		f.db.stop()
	}
	for _, p := range f.processes() {
		_ = syscall.Kill(p, syscall.SIGKILL)
	}
	if f.t.Failed() && os.Getenv("PADDOCK_KEEP") != "" {
		f.t.Log("kept: ", f.dir)
		return
	}
	until(f.t, "what is left goes", func() string {
		if err := os.RemoveAll(f.dir); err != nil {
			return err.Error()
		}
		return ""
	})
}

// processes are those of our programs.
func (f *field) processes() (pids []int) {
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, link := range links {
		if file, err := os.Readlink(link); err == nil && strings.HasPrefix(file, f.dir+"/bin-") {
			if pid, err := strconv.Atoi(strings.Split(link, "/")[2]); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
