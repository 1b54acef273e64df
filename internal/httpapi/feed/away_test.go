package feed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/relay"
	"paddock/internal/relay/ballot"
)

// whole has what a worker's house has beside what a feed asks.
type whole struct {
	*house
	ballot.House
}

func (w whole) Wait(ctx context.Context, p paddock.Principal, id paddock.RunID, _ time.Duration) (paddock.Run, error) {
	return w.Look(ctx, p, id)
}

func (w whole) Detail(ctx context.Context, p paddock.Principal, id paddock.RunID) (app.Detail, error) {
	run, err := w.Look(ctx, p, id)
	return app.Detail{Run: run}, err
}

func (whole) Type(context.Context, paddock.Principal, paddock.RunID, paddock.Typing) error {
	return nil
}

func (w whole) Kill(ctx context.Context, p paddock.Principal, id paddock.RunID, _ app.KillRequest) (paddock.Run, error) {
	return w.Look(ctx, p, id)
}

// A wire is between a worker and its server, and is cut again and again.
type wire struct {
	net.Listener
	to   string
	most func() int64 // how many bytes pass to the server until the next cut
	cuts atomic.Int64
	work sync.WaitGroup
}

func (w *wire) run() {
	for {
		near, err := w.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", w.to)
		if err != nil {
			_ = near.Close()
			continue
		}
		cut := func() { _ = near.Close(); _ = far.Close() }
		w.work.Go(func() { _, _ = io.Copy(near, far); cut() })
		n := w.most()
		w.work.Go(func() {
			_, _ = io.CopyN(far, near, n)
			w.cuts.Add(1)
			cut()
		})
	}
}

// elsewhere is a hub of events whose runs are on another machine, over a wire that is cut
// after random numbers of bytes.
func elsewhere(t *testing.T, h *house, seed uint64) (*Hub, *wire) {
	t.Helper()
	links := relay.NewHub(t.Context(), 5*time.Millisecond) // so that some are told that it is away
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = links.Accept(w, r, "w1") // the wire was cut
	}))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(seed, 99))
	w := &wire{Listener: l, to: server.Listener.Addr().String(), most: func() int64 { return 200 + random.Int64N(150_000) }}
	ctx, cancel := context.WithCancel(t.Context())
	w.work.Go(w.run)
	w.work.Go(func() {
		err := relay.Serve(ctx, relay.Config{Server: "http://" + l.Addr().String(), Token: "t", House: whole{house: h}, Log: slog.New(slog.DiscardHandler), Now: time.Now, Pause: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }})
		if err != nil {
			t.Error(err)
		}
	})
	hub := New(t.Context(), links.At("w1"))
	t.Cleanup(func() {
		hub.Close()
		cancel()
		_ = l.Close()
		links.Close()
		server.Close()
		w.work.Wait()
	})
	return hub, w
}

// Readers of a run on another machine see what was printed, byte for byte and under the
// same numbers, wherever the connection to that machine is cut.
func TestCutConnections(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, nil)
			hub, wire := elsewhere(t, h, seed)
			random := rand.New(rand.NewPCG(seed, 1))
			var all sync.WaitGroup
			readers := make([]*reader, 4)
			for i := range readers {
				r, mine := newReader(), rand.New(rand.NewPCG(seed, uint64(i+2)))
				readers[i] = r
				all.Go(func() {
					for {
						left := 1 + mine.IntN(20)
						err := r.follow(t.Context(), hub, h, func() bool { left--; return i > 0 && left < 0 }) // the first one stays
						if errors.Is(err, io.EOF) {
							return
						}
						if err != nil && !away(err) { // which is told when one comes, and not later
							t.Errorf("reader %d: %v", i, err)
							return
						}
					}
				})
			}
			want := map[paddock.Stream][]byte{}
			text := []byte("häßlich – 日本語 \x00\xff\xfe🙂 <b>&\r\n")
			for range 150 {
				s := []paddock.Stream{paddock.Stdout, paddock.Stderr}[random.IntN(2)]
				from := random.IntN(len(text))
				b := bytes.Repeat(text[from:from+1+random.IntN(len(text)-from)], 1+random.IntN(1+random.IntN(800)))
				want[s] = append(want[s], b...)
				h.print(s, b)
			}
			h.settle(paddock.Exited)
			all.Wait()
			for i, r := range readers {
				r.same(t, fmt.Sprint(i), want[paddock.Stdout], want[paddock.Stderr])
				if !bytes.Equal(r.order, readers[0].order) || fmt.Sprint(r.fixed) != fmt.Sprint(readers[0].fixed) {
					t.Errorf("reader %d differs from the first", i)
				}
			}
			t.Logf("%d cuts, %d bytes", wire.cuts.Load(), len(readers[0].order))
		})
	}
}
