//go:build linux

package chaos_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/testproc"
	"paddock/internal/testproc/lives"
)

// A shot is a request and what is done to it.
type shot struct {
	f     *field
	n     int
	bin   string
	rand  *rand.Rand
	door  string // foreground, detached, mcp
	kind  string
	level paddock.Level
	key   string
	twins int // how many processes ask at once
	lines int
	limit time.Duration

	attack string
	plan   string        // of a fail point
	after  time.Duration // of a kill

	mu       sync.Mutex
	accepted []string // ids that somebody was told; guarded by mu
	never    bool     // its run was taken from the queue and never begun
	killed   []string
	said     []string       // what went wrong for whom
	stories  []*lives.Story // what readers at the server were told
	heard    []heard        // what readers by tools were
}

var (
	doors   = []string{"foreground", "foreground", "detached", "detached", "mcp"}
	kinds   = []string{"quick", "slow", "slow", "big", "fork", "daemon", "stay", "leader killed"}
	attacks = []string{"none", "paddock", "supervisor", "in between", "program", "everybody", "point in paddock", "point in stage", "point in stage"}
	// Every kill and error is tried at any point, and at those that matter most.
	points = map[string][]string{
		"paddock": {"*", "*", "journal/write", "journal/sync", "journal/told", "claim/made", "claim/lock-made", "claim/wrote-request.json",
			"record/write", "record/sync", "claim/linked-1-of-2", "claim/linked-2-of-3", "claim/day-made", "claim/renamed", "handover/ready", "handover/readied", "handover/give", "handover/given"},
		"paddock-stage": {"*", "*", "ready/made", "program/start", "program/started", "record/place", "output/write", "output/write", "output/frame", "output/seal",
			"output/sealed", "deeper/look", "deeper/looked", "outcome/publish", "record/write", "record/sync", "record/link", "record/linked", "outcome/published", "journal/write", "journal/sync", "journal/told", "outcome/told"},
		"paddock-server": {"*", "*", "*", "journal/write", "journal/sync", "journal/told", "journal/create", "claim/made", "claim/lock-made", "claim/wrote-request.json", "claim/wrote-decision.json",
			"claim/linked-1-of-2", "claim/linked-2-of-3", "claim/day-made", "claim/renamed", "handover/ready", "handover/readied", "handover/give", "handover/given", "record/write", "record/sync", "record/link", "record/linked", "books/noted-principal", "books/noted-total"},
	}
	actions = []string{"kill", "kill", "EIO", "ENOSPC", "ENOSPC+"}
)

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

func newShot(f *field, n int, bin string) *shot {
	r := rand.New(rand.NewPCG(f.seed, uint64(n)))
	s := &shot{f: f, n: n, bin: bin, rand: r, door: pick(r, doors), kind: pick(r, kinds), level: pick(r, f.levels), attack: pick(r, attacks), twins: 1}
	s.lines = 1 + r.IntN(200)
	s.after = time.Duration(r.IntN(500_000)) * time.Microsecond
	if r.IntN(2) == 0 {
		s.key = fmt.Sprintf("key-%d", n)
		s.twins = 1 + r.IntN(3)
	}
	if s.limit = 20 * time.Second; s.kind == "stay" {
		s.limit = time.Second
	}
	if binary, ok := strings.CutPrefix(s.attack, "point in "); ok {
		if binary == "stage" {
			binary = "paddock-stage"
		}
		point, count := pick(r, points[binary]), 1
		switch {
		case point == "*":
			count += r.IntN(25)
		case r.IntN(2) == 0:
			count += r.IntN(6)
		}
		s.attack = "point in " + binary
		s.plan = fmt.Sprintf("%s %d %s\n", point, count, pick(r, actions))
	}
	return s
}

func (s *shot) String() string {
	return fmt.Sprintf("shot %d: %s %s at %s, %d× key %q, %d lines; %s %safter %s; killed %v, accepted %v, said %q",
		s.n, s.door, s.kind, s.level, s.twins, s.key, s.lines, s.attack, strings.TrimSpace(s.plan)+" ", s.after, s.killed, s.accepted, s.said)
}

// token is in the arguments of the program, and of who asks for it.
func (s *shot) token() string { return fmt.Sprintf("shot-%s-%d;", s.f.mark, s.n) }

// rest is how long what stays sleeps, which nobody else does.
func (s *shot) rest() string { return fmt.Sprintf("%s.%d", s.f.mark, s.n) }

// script is what is run.
func (s *shot) script() string {
	rest := "sleep " + s.rest()
	end := map[string]string{
		"quick": "exit 3", "slow": "exit 0", "big": "exit 0", "stay": rest, "leader killed": "kill -9 $$",
		"fork":   fmt.Sprintf("( %s ) & ( %s ) & exit 3", rest, rest),
		"daemon": fmt.Sprintf("setsid sh -c 'trap \"\" TERM HUP; : %s %s; :' & exit 3", s.token(), rest),
	}[s.kind]
	loop := `i=0; while [ $i -lt LINES ]; do echo "out $i"; echo "err $i" >&2; i=$((i+1)); done`
	if s.kind == "big" {
		loop = "seq 1 LINES000"
	}
	if s.kind == "slow" {
		loop = strings.Replace(loop, "i=$((", "sleep 0.002; i=$((", 1)
	}
	loop = strings.ReplaceAll(loop, "LINES", strconv.Itoa(s.lines))
	return fmt.Sprintf(": %s echo started >> starts/%d; %s; %s", s.token(), s.n, loop, end)
}

// printed is what the program prints if nothing ends it.
func (s *shot) printed() (stdout, stderr []byte) {
	var out, err bytes.Buffer
	if s.kind == "big" {
		for i := range s.lines * 1000 {
			fmt.Fprintln(&out, i+1)
		}
		return out.Bytes(), nil
	}
	for i := range s.lines {
		fmt.Fprintln(&out, "out", i)
		fmt.Fprintln(&err, "err", i)
	}
	return out.Bytes(), err.Bytes()
}

// fire asks, attacks, and returns when who asked has been answered or is gone.
func (s *shot) fire() {
	arm(s.f.t, filepath.Join(s.bin, "paddock"), "")
	arm(s.f.t, filepath.Join(s.bin, "paddock-stage"), "")
	if binary, ok := strings.CutPrefix(s.attack, "point in "); ok {
		arm(s.f.t, filepath.Join(s.bin, binary), s.plan)
	}
	var attack sync.WaitGroup
	if s.plan == "" && s.attack != "none" {
		attack.Go(func() { s.strike(s.f.t.Context()) })
	}
	var asking sync.WaitGroup
	for range s.twins {
		asking.Go(s.ask)
	}
	asking.Wait()
	attack.Wait()
}

// again asks once more with the key of each shot that became a run, now that nothing
// fails: that makes no other run.
func (f *field) again() {
	f.t.Helper()
	runs := map[int]bool{}
	for _, run := range f.list("--all") {
		if n, ok := f.shotOf(run); ok {
			runs[n] = true
		}
	}
	var all sync.WaitGroup
	turn := make(chan struct{}, workers)
	for _, s := range f.shots {
		if s.key == "" || !runs[s.n] || s.door == "http" { // the server was asked before it ended
			continue
		}
		turn <- struct{}{}
		all.Go(func() {
			defer func() { <-turn }()
			for _, name := range []string{"paddock", "paddock-stage"} {
				arm(f.t, filepath.Join(s.bin, name), "")
			}
			s.ask()
		})
	}
	all.Wait()
}

func (s *shot) ask() {
	args := []string{"--state", s.f.state, "--policy", s.f.policies[s.level]}
	if s.door == "mcp" {
		s.askTools()
		return
	}
	args = append([]string{"run"}, args...)
	if s.key != "" {
		args = append(args, "--key", s.key)
	}
	if s.door == "detached" {
		args = append(args, "-d")
	}
	cmd := s.command(append(args, "--timeout", s.limit.String(), "--", "sh", "-c", s.script())...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.door == "detached" {
		if id := strings.TrimSpace(out.String()); id != "" {
			s.accepted = append(s.accepted, id)
		}
	} else if want, _ := s.printed(); !bytes.HasPrefix(want, out.Bytes()) {
		s.f.t.Errorf("%v: its caller was shown other bytes than were printed", s.n)
	}
	if err != nil {
		s.said = append(s.said, fmt.Sprint(err, " ", own(errs.String())))
	}
}

func (s *shot) command(args ...string) *testproc.Cmd {
	cmd := testproc.Command(s.f.t, filepath.Join(s.bin, "paddock"), args...)
	cmd.Dir = s.f.root
	return cmd
}

// strike kills, some time after the start of the shot.
func (s *shot) strike(ctx context.Context) {
	timer := time.NewTimer(s.after)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return
	}
	for _, p := range s.parts() {
		if s.attack != p.role && s.attack != "everybody" {
			continue
		}
		// By a descriptor, so that nobody who got the number meanwhile is hit.
		if unix.PidfdSendSignal(p.fd, unix.SIGKILL, nil, 0) == nil {
			s.killed = append(s.killed, p.role)
			s.f.strike(s)
		}
	}
}

// A part is a process that takes part in the shot.
type part struct {
	role string
	fd   int
}

// parts finds the processes of the shot. The descriptors are closed with it.
func (s *shot) parts() []part {
	stage, stages := filepath.Join(s.bin, "paddock-stage"), map[int]bool{}
	found := processes()
	for _, p := range found {
		stages[p.pid] = p.file == stage
	}
	var all []part
	for _, p := range found {
		role := ""
		switch {
		case p.file == stage && stages[p.parent]:
			role = "in between"
		case p.file == stage:
			role = "supervisor"
		case p.file == filepath.Join(s.bin, "paddock"):
			role = "paddock"
		case strings.Contains(strings.Join(p.words, " "), s.token()), slices.Contains(p.words, s.rest()):
			role = "program"
		}
		if role == "" {
			continue
		}
		fd, err := unix.PidfdOpen(p.pid, 0)
		if err != nil {
			continue // gone meanwhile
		}
		s.f.t.Cleanup(func() { _ = unix.Close(fd) })
		all = append(all, part{role, fd})
	}
	return all
}

// A process is one of this machine.
type process struct {
	pid, parent int
	file        string // empty where we may not know
	words       []string
}

// processes lists all but us and those that are dead or the kernel's own.
func processes() []process {
	entries, _ := os.ReadDir("/proc")
	var all []process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		stat, statErr := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil || statErr != nil {
			continue
		}
		// "PID (COMM) STATE PPID …", where COMM may hold anything, ")" too.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 2 || fields[0] == "Z" {
			continue
		}
		parent, err := strconv.Atoi(fields[1])
		if err != nil || pid == syscall.Getpid() {
			continue
		}
		// Who is in between has no arguments.
		file, _ := os.Readlink(filepath.Join("/proc", e.Name(), "exe"))
		if file == "" && len(text) == 0 {
			continue
		}
		all = append(all, process{pid, parent, file, strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")})
	}
	return all
}

func must2(s *shot, err error) {
	if err != nil {
		s.f.t.Errorf("%v: %v", s, err)
	}
}

// own is what paddock itself says, among what the program did.
func own(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "paddock") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}
