package executor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/testproc"
)

func init() { programs["typist"] = typistMain }

// typistMain goes for what a program with a terminal must not reach: it says what each
// attempt came to. Its arguments are the terminal of somebody else, by its path, and the
// process that has it.
func typistMain() int {
	say := func(what string, err error) { fmt.Printf("%s: %v\n", what, err) }
	try := func(request uint) error { return unix.IoctlSetPointerInt(0, request, 'x') }
	say("TIOCSTI", try(unix.TIOCSTI))
	say("TIOCLINUX", try(0x541c))
	say("TIOCSETD", try(unix.TIOCSETD))
	say("TIOCCONS", try(unix.TIOCCONS))
	opens := func(path string) error {
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_NOCTTY, 0)
		if err == nil {
			_, err = unix.Write(fd, []byte("ESCAPED"))
		}
		return err
	}
	say("theirs", opens(os.Args[1]))
	say("by process", opens("/proc/"+os.Args[2]+"/fd/"+os.Args[3]))
	names, err := filepath.Glob("/dev/pts/[0-9]*")
	fmt.Println("terminals", names, err)
	name, err := os.Readlink("/proc/self/fd/0")
	fmt.Println("named", name, err)
	session, err := unix.Getsid(0)
	fmt.Println("session", session == os.Getpid(), err)
	group, err := unix.IoctlGetInt(0, unix.TIOCGPGRP)
	fmt.Println("foreground", group == unix.Getpgrp(), err)
	say("again", opens("/dev/tty"))
	fmt.Println("\ndone")
	return 0
}

// anothers is a terminal that isn't the run's: of the machine's own devpts, and with a
// number that the run's doesn't have.
func anothers(t *testing.T) (ours *os.File, path string) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	t.Cleanup(func() { ours.Close() })
	must(t, unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	must(t, err)
	if n < 8 {
		return anothers(t)
	}
	return ours, fmt.Sprintf("/dev/pts/%d", n)
}

// TestEscapeByTerminal: at level full the terminal is the only one that the run sees, has a
// name there, and leads to no other; nothing is typed into it but by whom we let.
func TestEscapeByTerminal(t *testing.T) {
	t.Parallel()
	for _, level := range levels {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			ours, theirs := anothers(t)
			f := open(t, func(c *Config) {
				root := filepath.Join(filepath.Dir(c.State), "root")
				must(t, os.Mkdir(root, 0o755))
				c.Policy = PolicyText("policy.yaml", fmt.Appendf(nil, `version: 1
roots: [{path: '%s'}]
executables: [{name: typist, path: '%s', args: any, pty: true}]
containment: {require: %s}
`, root, testproc.Program(t, "typist"), level))
				c.Stage = os.Getenv(stageVariable)
			})
			run, err := f.e.Start(t.Context(), paddock.Request{
				Principal: paddock.Principal{Kind: paddock.Host, ID: "test"}, Door: paddock.DoorGo,
				Command: paddock.Command{Argv: []string{"typist", theirs, strconv.Itoa(os.Getpid()), strconv.Itoa(int(ours.Fd()))}, Terminal: &paddock.TerminalSize{Rows: 24, Columns: 80}},
			})
			must(t, err)
			run, err = f.e.Wait(t.Context(), run.ID)
			must(t, err)
			page, err := f.e.Output(t.Context(), run.ID, paddock.PageRequest{Limit: paddock.MaxPage})
			must(t, err)
			out := strings.ReplaceAll(page.Content, "\r", "")
			wants := []string{"session true <nil>", "foreground true <nil>", "again: <nil>", "done"}
			if level != paddock.Off {
				wants = append(wants, "TIOCSTI: operation not permitted", "TIOCLINUX: operation not permitted", "TIOCSETD: operation not permitted", "TIOCCONS: operation not permitted")
			}
			if level == paddock.Full {
				wants = append(wants, "theirs: no such file or directory", "by process: no such file or directory", "terminals [/dev/pts/0] <nil>", "named /dev/pts/0 <nil>")
			}
			if level == paddock.Standard {
				wants = append(wants, "theirs: permission denied")
			}
			for _, want := range wants {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in\n%s\n%+v", want, out, run)
				}
			}
		})
	}
}

// TestTypeAsked: typing is refused, in words, where nobody reads it.
func TestTypeAsked(t *testing.T) {
	t.Parallel()
	f := open(t, func(c *Config) {
		c.Policy = PolicyText("policy.yaml", []byte(strings.Replace(strings.ReplaceAll(permissive, "ROOT", filepath.Dir(c.State)), "args: any", "args: any, pty: true", 1)))
	})
	conflict := func(what string, id paddock.RunID, typing paddock.Typing) {
		t.Helper()
		var r *paddock.Refusal
		if err := f.e.Type(t.Context(), id, typing); !errors.As(err, &r) || r.Code != paddock.Conflict {
			t.Errorf("%s: %v", what, err)
		}
	}
	plain, err := f.e.Start(t.Context(), request("sleep 1000"))
	must(t, err)
	conflict("without a terminal", plain.ID, paddock.Typing{Hand: "a", Take: true})
	req := request("read x; echo got $x")
	req.Command.Terminal = &paddock.TerminalSize{Rows: 24, Columns: 80}
	run, err := f.e.Start(t.Context(), req)
	must(t, err)
	conflict("without the keyboard", run.ID, paddock.Typing{Hand: "a"})
	must(t, f.e.Type(t.Context(), run.ID, paddock.Typing{Hand: "a", Take: true, Input: []byte("it\r")}))
	_, err = f.e.Wait(t.Context(), run.ID)
	must(t, err)
	conflict("after the end", run.ID, paddock.Typing{Hand: "a", Take: true})
	page, err := f.e.Output(t.Context(), run.ID, paddock.PageRequest{Limit: 100})
	must(t, err)
	if page.Content != "it\r\ngot it\r\n" {
		t.Errorf("output %q", page.Content)
	}
	_, err = f.e.Kill(t.Context(), plain.ID, Ending{Signal: "KILL"})
	must(t, err)
}
