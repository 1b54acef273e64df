package people

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

type forgetful struct {
	Accounts
	asked chan struct{}
}

func (f forgetful) Forget(context.Context) error {
	f.asked <- struct{}{}
	return errors.New("the disk is full")
}

// What is over is forgotten at each tick, also after one that failed, and never after the
// end.
func TestTidy(t *testing.T) {
	t.Parallel()
	f, tick := forgetful{asked: make(chan struct{})}, make(chan time.Time)
	stop := tidy(t.Context(), f, slog.New(slog.NewTextHandler(io.Discard, nil)), tick)
	for range 2 {
		tick <- time.Time{}
		<-f.asked
	}
	stop()
	select {
	case tick <- time.Time{}:
		t.Error("a tick after the end was taken")
	default:
	}
}
