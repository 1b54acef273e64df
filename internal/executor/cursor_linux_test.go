package executor

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/artifact"
	"paddock/internal/executor/retain"
	"paddock/internal/journal"
	"paddock/internal/rundir"
	"paddock/internal/testproc"
)

func init() { programs["talker"], programs["listener"] = talker, listener }

// talker prints what the pipe named by its argument says: of each message the
// stream, the length and the bytes.
func talker() int {
	f, err := os.Open(os.Args[1])
	if err != nil {
		return 97
	}
	in := bufio.NewReader(f)
	for {
		var head [5]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return 0
		}
		out := []*os.File{os.Stdout, os.Stderr}[head[0]]
		if _, err := io.CopyN(out, in, int64(binary.LittleEndian.Uint32(head[1:]))); err != nil {
			return 98
		}
	}
}

// listener follows a stream of a run from an offset in a process of its own.
func listener() int {
	ctx := context.Background()
	offset, err := strconv.ParseInt(os.Args[4], 10, 64)
	if err != nil {
		return 97
	}
	e, err := Open(ctx, Config{State: os.Args[1], Policy: PolicyText("policy.yaml", []byte(strings.ReplaceAll(permissive, "ROOT", filepath.Dir(os.Args[1]))))})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := e.Follow(ctx, paddock.RunID(os.Args[2]), paddock.Stream(os.Args[3]), offset, os.Stdout); err != nil {
		return 2
	}
	if e.Close() != nil {
		return 3
	}
	return 0
}

// A play is one run that is read while it goes on, ends, is compressed and goes.
type play struct {
	t     *testing.T
	seed  uint64
	rand  *rand.Rand
	e     [2]*Executor // of two processes, as far as they know
	state *rundir.State
	run   paddock.Run
	in    *os.File
	said  [2][]byte // that the program was told to print
	prune bool
	all   sync.WaitGroup
	subs  []*subscriber
}

// A subscriber has what it was given, and where it began.
type subscriber struct {
	*play
	name   string
	stream paddock.Stream
	from   int64
	got    []byte
	pruned bool
	rand   *rand.Rand
}

var errSlow = errors.New("closed for being slow")

// limited takes so many bytes and then no more.
type limited struct {
	w    *subscriber
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.w.got = append(l.w.got, p[:n]...)
	if l.left -= n; n < len(p) {
		return n, errSlow
	}
	return n, nil
}

// read takes pages and follows, is cut off and comes back by its cursor, until
// there is no more.
func (s *subscriber) read() {
	for end := false; !end; {
		e := s.e[s.rand.IntN(2)]
		ctx, cancel := context.WithCancel(s.t.Context())
		if s.rand.IntN(3) == 0 {
			ctx, cancel = context.WithTimeout(ctx, time.Duration(s.rand.IntN(20_000))*time.Microsecond)
		}
		var err error
		if s.rand.IntN(4) == 0 {
			err = e.Follow(ctx, s.run.ID, s.stream, s.from+int64(len(s.got)), &limited{s, s.rand.IntN(60_000)})
			end = err == nil
		} else {
			end, err = s.page(ctx, e)
		}
		cut := ctx.Err() != nil
		cancel()
		var refusal *paddock.Refusal
		switch {
		case err == nil, errors.Is(err, errSlow), cut && s.t.Context().Err() == nil:
		case errors.As(err, &refusal) && refusal.Code == paddock.Pruned && s.prune:
			s.pruned = true
			return
		default:
			s.t.Errorf("seed %d, %s: %v", s.seed, s.name, err)
			return
		}
	}
}

func (s *subscriber) page(ctx context.Context, e *Executor) (end bool, err error) {
	wait := []time.Duration{5 * time.Millisecond, 50 * time.Millisecond, 10 * time.Second}[s.rand.IntN(3)]
	req := paddock.PageRequest{
		Stream: s.stream, Offset: s.from + int64(len(s.got)), Wait: paddock.Duration(wait),
		Limit: []int{7, 1000, 50_000, paddock.MaxPage}[s.rand.IntN(4)], Raw: s.rand.IntN(2) == 0,
	}
	p, err := e.Output(ctx, s.run.ID, req)
	if err != nil {
		return false, err
	}
	data := []byte(p.Content)
	if p.Encoding == "base64" {
		if data, err = base64.StdEncoding.DecodeString(p.Content); err != nil {
			return false, err
		}
	}
	if p.Offset != req.Offset || p.NextOffset != p.Offset+int64(len(data)) {
		return false, fmt.Errorf("asked from %d: %d bytes from %d to %d", req.Offset, len(data), p.Offset, p.NextOffset)
	}
	s.got = append(s.got, data...)
	return p.EOF, nil
}

// elsewhere is read by processes that are killed, and then to the end.
func (s *subscriber) elsewhere() {
	for range 2 {
		cmd := testproc.Self(s.t, "listener", s.state.Path(), string(s.run.ID), string(s.stream), strconv.FormatInt(s.from+int64(len(s.got)), 10))
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			s.t.Error(err)
			return
		}
		part, _ := io.ReadAll(io.LimitReader(out, int64(s.rand.IntN(100_000))))
		s.got = append(s.got, part...)
		_ = cmd.Process.Kill() // it may be over
		_ = cmd.Wait()
	}
	s.read()
}

// subscribe begins to read somewhere in what is there, or at the start.
func (p *play) subscribe(elsewhere bool) {
	s := &subscriber{play: p, stream: []paddock.Stream{paddock.Stdout, paddock.Stderr, paddock.Combined}[p.rand.IntN(3)], rand: rand.New(rand.NewPCG(p.seed, uint64(100+len(p.subs))))}
	dir, err := p.state.Run(p.run.ID)
	if err == nil {
		var there int64
		if there, err = artifact.Open(dir.Path()).Size(s.stream); err == nil && there > 0 {
			s.from = p.rand.Int64N(there + 1)
		}
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		p.t.Error(err)
	}
	s.name = fmt.Sprintf("reader %d of %s from %d", len(p.subs), s.stream, s.from)
	p.subs = append(p.subs, s)
	if elsewhere {
		p.all.Go(s.elsewhere)
		return
	}
	p.all.Go(s.read)
}

// say has the program print something; an error is that it is gone.
func (p *play) say() error {
	parts := []string{"line\n", "é", "日", "\xf0\x9f", "\x90\x8e", "\xff", strings.Repeat("a longer line of output\n", 200), strings.Repeat("x", 40_000)}
	text := parts[p.rand.IntN(len(parts))]
	stream := p.rand.IntN(2)
	message := append([]byte{byte(stream), 0, 0, 0, 0}, text...)
	binary.LittleEndian.PutUint32(message[1:], uint32(len(text)))
	p.said[stream] = append(p.said[stream], text...)
	_, err := p.in.Write(message)
	return err
}

func newPlay(t *testing.T, seed uint64) *play {
	t.Helper()
	program := testproc.Program(t, "talker")
	policy := func(c *Config) {
		text := strings.Replace(permissive, "executables: [", fmt.Sprintf("executables: [{name: talker, path: %q, args: any}, ", program), 1)
		c.Policy = PolicyText("policy.yaml", []byte(strings.ReplaceAll(text, "ROOT", filepath.Dir(c.State))))
	}
	one := open(t, policy)
	two := open(t, policy, func(c *Config) { c.State = filepath.Join(one.dir, "state") })
	state, err := rundir.Open(filepath.Join(one.dir, "state"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := state.Close(); err != nil {
			t.Error(err)
		}
	})
	p := &play{t: t, seed: seed, rand: rand.New(rand.NewPCG(seed, 1)), e: [2]*Executor{one.e, two.e}, state: state}
	p.prune = p.rand.IntN(3) == 0
	pipe := filepath.Join(one.dir, "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	req := request("")
	req.Command = paddock.Command{Argv: []string{"talker", pipe}, Dir: one.dir}
	if p.run, err = one.e.Start(t.Context(), req); err != nil || p.run.State != paddock.Running {
		t.Fatalf("%s %+v, %v", p.run.State, p.run.Outcome, err)
	}
	if p.in, err = os.OpenFile(pipe, os.O_WRONLY, 0); err != nil { // waits for the program
		t.Fatal(err)
	}
	return p
}

// end ends the run in one of the ways that there are.
func (p *play) end() {
	p.t.Helper()
	how := p.rand.IntN(3)
	if how == 1 {
		if err := unix.Kill(p.run.Supervisor.PID, unix.SIGKILL); err != nil {
			p.t.Error(err)
		}
	}
	if how == 2 {
		if _, err := p.e[1].Kill(p.t.Context(), p.run.ID, Ending{Signal: "KILL", Kind: paddock.ReasonKill, By: "test"}); err != nil {
			p.t.Error(err)
		}
	}
	if err := p.in.Close(); err != nil {
		p.t.Error(err)
	}
	run, err := p.e[0].Wait(p.t.Context(), p.run.ID)
	if want := []paddock.State{paddock.Exited, paddock.Lost, paddock.Killed}[how]; err != nil || run.State != want {
		p.t.Errorf("seed %d: %s, want %s; %v", p.seed, run.State, want, err)
	}
}

// store compresses what is kept, and removes it if this play does.
func (p *play) store(dir string) {
	p.t.Helper()
	k := retain.Keeper{State: p.state, Now: time.Now, By: "test", Tell: func(context.Context, journal.Entry) error { return nil }}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for over := time.After(time.Minute); ; {
		var pass retain.Pass
		err := k.Step(p.t.Context(), &pass, retain.Limits{Compress: paddock.Zstd}, 10, func(retain.Item) error { return nil })
		if err == nil {
			err = p.e[1].keep.Reconcile(p.t.Context()) // it may not be known yet that its end is told
		}
		if err != nil {
			p.t.Errorf("seed %d: %v", p.seed, err)
			return
		}
		if active, err := os.ReadDir(filepath.Join(p.state.Path(), "active")); err == nil && len(active) == 0 && pass.Done {
			if large, err := os.Stat(filepath.Join(dir, "stdout")); err != nil || large.Size() < 64<<10 {
				break
			}
		}
		select {
		case <-tick.C:
		case <-over:
			p.t.Errorf("seed %d: it isn't compressed", p.seed)
			return
		}
	}
	if p.prune {
		if _, err := k.Prune(p.t.Context(), p.run.ID); err != nil {
			p.t.Error(err)
		}
	}
}

func (p *play) perform() {
	steps := 10 + p.rand.IntN(30)
	for i := range steps {
		if i < 2 || p.rand.IntN(5) == 0 {
			p.subscribe(i == 1)
		}
		if err := p.say(); err != nil {
			p.t.Errorf("seed %d: %v", p.seed, err)
		}
		if p.rand.IntN(4) == 0 { // let them get somewhere
			_, _ = p.e[0].Output(p.t.Context(), p.run.ID, paddock.PageRequest{Offset: int64(len(p.said[0])), Wait: paddock.Duration(3 * time.Millisecond)})
		}
	}
	p.end()
	p.subscribe(false)
	dir, err := p.state.Run(p.run.ID)
	if err != nil {
		p.t.Fatal(err)
	}
	kept := map[paddock.Stream][]byte{}
	for _, s := range []paddock.Stream{paddock.Stdout, paddock.Stderr, paddock.Combined} {
		var b bytes.Buffer
		if _, err := artifact.Open(dir.Path()).CopySealed(&b, s, 0); err != nil {
			p.t.Errorf("seed %d: %v", p.seed, err)
		}
		kept[s] = b.Bytes()
	}
	if !bytes.HasPrefix(p.said[0], kept[paddock.Stdout]) || !bytes.HasPrefix(p.said[1], kept[paddock.Stderr]) {
		p.t.Errorf("seed %d: what is kept isn't what was said", p.seed)
	}
	p.store(dir.Path())
	p.all.Wait()
	for _, s := range p.subs {
		want := kept[s.stream][s.from:]
		if s.pruned && bytes.HasPrefix(want, s.got) || bytes.Equal(want, s.got) {
			continue
		}
		p.t.Errorf("seed %d, %s: got %d bytes, and not the %d that are kept", p.seed, s.name, len(s.got), len(want))
	}
}

// Readers in any number, in this process and in others that are killed, who are
// closed for being slow and come back by their cursor, get every byte behind the
// place where they began, once and in one order: while the program prints, when it
// ends, when its supervisor is killed, when the output is compressed under them; and
// when it is removed they are told so.
func TestReadersOfLiveRuns(t *testing.T) {
	t.Parallel()
	plays := uint64(6)
	if os.Getenv("PADDOCK_LONG") != "" {
		plays = 200
	}
	for seed := range plays {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) { newPlay(t, seed).perform() })
	}
}
