package lives

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"paddock/internal/testproc"
)

// A Doom says when a life of the server ends: After that many things were told to
// clients, and a Rest later. The zero Doom lets it live.
type Doom struct {
	After int
	Rest  time.Duration
	// MayFail says that it can be unable to begin, which it then says.
	MayFail bool
}

// A Keeper starts a server, and another one whenever it has ended.
type Keeper struct {
	t testing.TB
	// start makes the command of life n, and says when it ends.
	start func(n int) (*testproc.Cmd, Doom)

	mu      sync.Mutex
	change  chan struct{} // closed when url changes
	url     string        // of the server that is there; else empty
	process *os.Process
	doom    Doom
	told    int // things, in this life
	lives   int
	killed  int
	ending  bool
	errs    bytes.Buffer // what the last lives said
	done    chan struct{}
}

// Keep keeps servers going until End. start returns the command of a server that
// tells, in a line of JSON on its standard output, its url; n counts from 1.
func Keep(t testing.TB, start func(n int) (*testproc.Cmd, Doom)) *Keeper {
	t.Helper()
	k := &Keeper{t: t, start: start, change: make(chan struct{}), done: make(chan struct{})}
	t.Cleanup(func() { <-k.done }) // the test's context has ended by then
	go k.keep()
	return k
}

func (k *Keeper) keep() {
	defer close(k.done)
	for n := 1; ; n++ {
		k.mu.Lock()
		over := k.ending
		k.mu.Unlock()
		if over || k.t.Context().Err() != nil {
			return
		}
		if err := k.live(n); err != nil && k.t.Context().Err() == nil {
			k.t.Errorf("life %d of the server: %v\n%s", n, err, k.Said())
			return
		}
	}
}

// live is one life. What ends it is no error, unless nobody wanted it to end.
func (k *Keeper) live(n int) error {
	cmd, doom := k.start(n)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Stderr = &locked{k: k}
	if err := cmd.Start(); err != nil {
		return err
	}
	k.mu.Lock()
	k.lives, k.process, k.doom, k.told = n, cmd.Process, doom, 0
	k.errs.Reset()
	k.mu.Unlock()
	var said struct {
		URL string `json:"url"`
	}
	line, readErr := bufio.NewReader(out).ReadBytes('\n')
	if readErr == nil {
		if err := json.Unmarshal(line, &said); err != nil || said.URL == "" {
			readErr = fmt.Errorf("it says %q, %w", line, err)
		}
	}
	k.set(said.URL)
	_, _ = io.Copy(io.Discard, out) // until it has ended, however
	waitErr := cmd.Wait()
	k.set("")
	k.mu.Lock()
	defer k.mu.Unlock()
	k.process = nil
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case status.Signaled() && status.Signal() == syscall.SIGKILL:
		k.killed++
		return nil
	case k.ending && waitErr == nil:
		return nil
	case !k.ending && readErr != nil && waitErr != nil && doom.MayFail:
		return nil // it was told to fail, and says so
	}
	return fmt.Errorf("it ended by itself: %w; its first line: %w", waitErr, readErr)
}

func (k *Keeper) set(url string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.url = url
	close(k.change)
	k.change = make(chan struct{})
}

// URL is where the server is, as soon as it is.
func (k *Keeper) URL(ctx context.Context) (string, error) {
	for {
		k.mu.Lock()
		url, change := k.url, k.change
		k.mu.Unlock()
		if url != "" {
			return url, nil
		}
		select {
		case <-change:
		case <-k.done:
			return "", fmt.Errorf("no server is kept any more")
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// Told counts what a client was told; the server may have to die of it.
func (k *Keeper) Told() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.told++; k.doom.After == 0 || k.told != k.doom.After || k.process == nil {
		return
	}
	process := k.process
	if k.doom.Rest == 0 {
		_ = process.Kill() // it may be gone
		return
	}
	time.AfterFunc(k.doom.Rest, func() { _ = process.Kill() })
}

// Kill ends this life as kill -9 does.
func (k *Keeper) Kill() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.process != nil {
		_ = k.process.Kill() // it may be gone
	}
}

// Lives says how many there were, and how many of them were ended by kill -9.
func (k *Keeper) Lives() (lives, killed int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lives, k.killed
}

// Said is what the server printed of late to its standard error.
func (k *Keeper) Said() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.errs.String()
}

// End asks the server to end, and returns when it has.
func (k *Keeper) End() {
	k.t.Helper()
	k.mu.Lock()
	k.doom = Doom{}
	k.mu.Unlock()
	if _, err := k.URL(k.t.Context()); err != nil { // one that isn't there yet can't be asked
		k.t.Error(err)
	}
	k.mu.Lock()
	k.ending = true
	if k.process != nil {
		_ = k.process.Signal(syscall.SIGTERM) // it may be gone
	}
	k.mu.Unlock()
	<-k.done
}

// locked is the errs of a keeper, as a writer. What is said last stays.
type locked struct{ k *Keeper }

func (l *locked) Write(p []byte) (int, error) {
	l.k.mu.Lock()
	defer l.k.mu.Unlock()
	if l.k.errs.Len() > 64<<10 {
		l.k.errs.Reset()
	}
	return l.k.errs.Write(p)
}
