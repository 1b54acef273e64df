package relay

import (
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"paddock"
	"paddock/internal/relay/wire"
	"paddock/internal/relay/wire/line"
)

// A mute connection stays open and takes what is written, and nothing arrives any more.
type mute struct {
	net.Conn
	on atomic.Bool
}

func (m *mute) Write(p []byte) (int, error) {
	if m.on.Load() {
		return len(p), nil
	}
	return m.Conn.Write(p)
}

// A machine that fell silent without a word is found out by both sides, in ten seconds and
// a little; one that only has nothing to say is left.
func TestSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		run := paddock.Run{ID: newID(t), Principal: ann}
		hub := NewHub(t.Context(), time.Second)
		a, b := net.Pipe()
		near, far := &mute{Conn: a}, &mute{Conn: b}
		worker := line.Watch(far)
		s := &http.Server{Handler: &door{newHouse(run), nil, nil, nil, quick}, Protocols: wire.OnlyHTTP2(), HTTP2: wire.Heartbeats()}
		done := make(chan error, 1)
		go func() { done <- s.Serve(worker.Listen()) }()
		server := line.Watch(near)
		if err := hub.add(t.Context(), "w1", server); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Hour)
		if _, err := hub.At("w1").Look(t.Context(), ann, run.ID); err != nil || !hub.Has("w1") {
			t.Errorf("after an hour without a question: %v", err)
		}
		begun := time.Now()
		near.on.Store(true)
		far.on.Store(true)
		<-server.Gone
		<-worker.Gone
		if took := time.Since(begun); took > wire.Quiet+wire.Pong+time.Second {
			t.Errorf("it took %v", took)
		}
		synctest.Wait()
		if _, err := hub.At("w1").Look(t.Context(), ann, run.ID); code(err) != paddock.Away || hub.Has("w1") {
			t.Errorf("%v", err)
		}
		hub.Close()
		_ = s.Close()
		<-done
	})
}
