package executor

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/contain/listed"
	"paddock/internal/contain/probe/attempt"
	"paddock/internal/contain/probe/attempt/lines"
)

func tryListed(t *testing.T) {
	entries, err := listed.Find([]string{"/bin/true"})
	must(t, err)
	if len(entries) != 2 {
		t.Fatalf("/bin/true needs %v, want itself and a loader", entries)
	}
	for _, level := range []paddock.Level{paddock.Full, paddock.Standard} {
		if level == paddock.Standard && os.Geteuid() == 0 {
			continue
		}
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			l := newListing(t, level)
			fill := strings.NewReplacer("LOADER", entries[1].Path, "TRUE", filepath.Join(l.bin, "spare"), "SCRIPT", filepath.Join(l.bin, "script"), "DIR", filepath.Join(l.bin, "dir"))
			for _, r := range lines.Listed {
				t.Run(r.Name, func(t *testing.T) {
					must(t, os.WriteFile(filepath.Join(l.dir, "root/victim"), []byte("x"), 0o600))
					status, out := l.sh(t, "root", fill.Replace(r.Text))
					hindrance := ""
					if status != 0 {
						hindrance = fmt.Sprintf("status %d: %s", status, out)
					}
					keep(t, r.At(level), hindrance)
					if _, err := os.Stat(filepath.Join(l.dir, "root/victim")); err != nil {
						t.Error(err)
					}
				})
			}
			t.Run("make an executable file in memory", l.memory)
			t.Run("change a listed program in the workspace", l.inWorkspace)
		})
	}
}

// A listing is an act whose tree may execute only what is listed, some of it in
// the account's directory bin.
type listing struct {
	*act
	bin string
}

func newListing(t *testing.T, level paddock.Level) *listing {
	t.Helper()
	l := &listing{newTheater(t).act(t, level, "", "root"), bin(t)}
	program, err := os.ReadFile("/bin/true")
	must(t, err)
	must(t, os.Mkdir(filepath.Join(l.bin, "dir"), 0o755))
	for name, text := range map[string]string{"dir/true": string(program), "spare": string(program), "script": "#!/usr/bin/head -c1\n"} {
		must(t, os.WriteFile(filepath.Join(l.bin, name), []byte(text), 0o755))
	}
	more := fmt.Sprintf(", exec: listed, exec_also: ['%s/dir'], read: ['%[1]s/spare']}", l.bin)
	l.policy = strings.Replace(l.policy, " }", more, 1)
	var list strings.Builder
	for _, path := range []string{"/usr/bin/find", "/bin/cp", "/bin/chmod", filepath.Join(l.bin, "script")} {
		fmt.Fprintf(&list, "\n  - {path: '%s', args: any}", path)
	}
	l.policy = strings.Replace(l.policy, "executables:", "executables:"+list.String(), 1)
	l.reopen(t, l.policy)
	return l
}

// memory is no place for programs, and whoever tries is told.
func (l *listing) memory(t *testing.T) {
	const name = "make an executable file in memory"
	order, err := json.Marshal(map[string]any{"Targets": attempt.Targets{}, "Names": []string{name}})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(l.dir, "root/order.json"), order, 0o600))
	run, out := l.run(t, "root", "escapist", "order.json")
	var found map[string]attempt.Answer
	must(t, json.Unmarshal([]byte(out), &found))
	keep(t, attempt.Held, found[name].Hindrance)
	if d := run.Outcome.Denied; len(d) != 1 || d[0].Call != "memfd_create" || !strings.Contains(d[0].Text, "exec: listed") {
		t.Errorf("denied: %+v", d)
	}
	if run.Enforced.Exec != paddock.ListedExec {
		t.Errorf("enforced: %+v", run.Enforced)
	}
}

// inWorkspace: a listed program that lies where the run may write is executed and
// stays what it is at full; at standard nothing would keep it.
func (l *listing) inWorkspace(t *testing.T) {
	tool := filepath.Join(l.dir, "root/tool")
	program, err := os.ReadFile("/bin/true")
	must(t, err)
	must(t, os.WriteFile(tool, program, 0o755))
	l.reopen(t, strings.Replace(l.policy, "executables:", "executables:\n  - {path: '"+tool+"', args: any}", 1))
	run, err := l.e.Start(t.Context(), l.request("root", "sh", "-c", "./tool || exit 9; find tool -delete; cp /bin/cp tool; cp -f --remove-destination /bin/cp tool; (: >> tool); exit 0"))
	if l.level != paddock.Full {
		if run, err = l.e.Wait(t.Context(), run.ID); err != nil || run.State != paddock.FailedToStart || !strings.Contains(run.Outcome.Reason.Detail, "only level full") {
			t.Errorf("%v, %s %+v", err, run.State, run.Outcome)
		}
		supervised(t, run)
		return
	}
	must(t, err)
	run, out := l.ended(t, run)
	if run.State != paddock.Exited || *run.Outcome.Reason.ExitCode != 0 {
		t.Fatalf("%s %+v: %s", run.State, run.Outcome.Reason, out)
	}
	if now, err := os.ReadFile(tool); err != nil || string(now) != string(program) {
		t.Errorf("the listed program is another: %v\n%s", err, out)
	}
}

// supervised waits for the end of the run's supervisor, which may write to the state
// directory after its run is over.
func supervised(t *testing.T, run paddock.Run) {
	t.Helper()
	if run.Supervisor == nil {
		return
	}
	fd, err := unix.PidfdOpen(run.Supervisor.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return
	}
	must(t, err)
	defer unix.Close(fd)
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 60_000); n != 1 {
		t.Errorf("the supervisor of run %s stays: %v", run.ID, err)
	}
}
