package cluster

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"paddock/internal/testproc"
)

// A one is a cluster that is started when it is first needed.
type one struct {
	auth string

	sync.Mutex
	address string
	missing string
	err     error
	tried   bool
}

var guarded, trusting = one{auth: "scram-sha-256"}, one{auth: "trust"}

// Address returns the address of a superuser's connection to the cluster of this
// test binary. The test is skipped where no PostgreSQL is installed.
func Address(t testing.TB) string {
	t.Helper()
	return guarded.get(t)
}

// Trusting is Address of another cluster, which lets in everybody.
func Trusting(t testing.TB) string {
	t.Helper()
	return trusting.get(t)
}

func (o *one) get(t testing.TB) string {
	t.Helper()
	o.Lock()
	defer o.Unlock()
	if !o.tried {
		o.tried = true
		o.address, o.missing, o.err = start(o.auth)
	}
	if o.missing != "" {
		testproc.Skip(t, o.missing)
	}
	if o.err != nil {
		t.Fatal("cluster: ", o.err)
	}
	return o.address
}

// programs returns the paths of initdb and postgres.
func programs() (initdb, postgres string) {
	places, err := filepath.Glob("/usr/lib/postgresql/*/bin") // where Debian has them
	if err != nil {
		panic(err) // only for a malformed pattern
	}
	slices.Sort(places)
	slices.Reverse(places)
	for _, dir := range append(places, filepath.SplitList(os.Getenv("PATH"))...) {
		initdb, postgres = filepath.Join(dir, "initdb"), filepath.Join(dir, "postgres")
		if _, err := os.Stat(initdb); err == nil {
			if _, err := os.Stat(postgres); err == nil {
				return initdb, postgres
			}
		}
	}
	return "", ""
}

func start(auth string) (address, missing string, err error) {
	address, server, missing, err := prepare(auth)
	if server == nil || err != nil {
		return "", missing, err
	}
	return address, "", serve(server)
}

// Stopped returns the address of a superuser's connection to a cluster of this test alone,
// which isn't there before start is called.
func Stopped(t testing.TB) (address string, start func()) {
	t.Helper()
	address, server, missing, err := prepare(guarded.auth)
	if missing != "" {
		testproc.Skip(t, missing)
	}
	if err != nil {
		t.Fatal("cluster: ", err)
	}
	return address, func() {
		t.Helper()
		if err := serve(server); err != nil {
			t.Fatal("cluster: ", err)
		}
	}
}

// prepare makes a cluster, and what starts it.
func prepare(auth string) (address string, server *exec.Cmd, missing string, err error) {
	initdb, postgres := programs()
	if initdb == "" {
		return "", nil, "there is no PostgreSQL: install the package postgresql", nil
	}
	dir, err := os.MkdirTemp("", "pg-")
	if err != nil {
		return "", nil, "", err
	}
	testproc.AtEnd(func() error { return os.RemoveAll(dir) })
	if os.Geteuid() == 0 {
		err = os.Chown(dir, testproc.Nobody, testproc.Nobody)
	}
	data, password := filepath.Join(dir, "data"), rand.Text()
	secret := filepath.Join(dir, "password")
	if err := errors.Join(err, os.WriteFile(secret, []byte(password+"\n"), 0o644)); err != nil { // the directory is closed to others
		return "", nil, "", err
	}
	cmd := command(initdb, dir, "-D", data, "-U", "boss", "--pwfile", secret, "--auth", auth, "--no-sync", "-E", "UTF8", "--locale", "C")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", nil, "", fmt.Errorf("initdb: %w\n%s", err, out)
	}
	server = command(postgres, dir, "-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "max_connections=500", "-c", "shared_buffers=32MB",
		"-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off", "-c", "autovacuum=off")
	server.SysProcAttr.Pdeathsig = syscall.SIGQUIT // which ends it at once, with its children
	at := url.URL{Scheme: "postgres", User: url.UserPassword("boss", password), Path: "/postgres", RawQuery: url.Values{"host": {dir}}.Encode()}
	return at.String(), server, "", nil
}

// command runs as an ordinary user, as PostgreSQL demands.
func command(name, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.Background(), name, args...) // it ends with the run, by AtEnd
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: testproc.Nobody, Gid: testproc.Nobody}
	}
	return cmd
}

// serve starts the server and returns when it takes connections. The thread that
// started it stays, since its end would be taken for that of the tests.
func serve(cmd *exec.Cmd) error {
	out, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	ready, over := make(chan error, 1), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(over)
		if err := cmd.Start(); err != nil {
			ready <- err
			return
		}
		listen(out, ready)
		if err := cmd.Wait(); err != nil {
			return // it was told to end
		}
	}()
	if err := <-ready; err != nil {
		return err
	}
	testproc.AtEnd(func() error {
		err := cmd.Process.Signal(syscall.SIGQUIT)
		<-over
		return err
	})
	return nil
}

// listen reads what the server says to its end, and tells when it is ready.
func listen(out io.Reader, ready chan<- error) {
	var said strings.Builder
	lines := bufio.NewScanner(out)
	told := false
	for lines.Scan() {
		if told {
			continue
		}
		said.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "ready to accept connections") {
			told = true
			ready <- nil
		}
	}
	if !told {
		ready <- fmt.Errorf("postgres didn't begin:\n%s", said.String())
	}
}
