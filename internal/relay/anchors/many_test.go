package anchors_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A worker that answers late, or never, keeps nobody from being asked in the same round,
// and each has its time; as many are asked at once as are allowed to.
func TestWorkersAreAskedBesideEachOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		var mu sync.Mutex
		now, most := 0, 0
		for i := range 20 {
			one := newMachine(t)
			one.add(1 + i)
			name := fmt.Sprintf("w%02d", i)
			s.connect(name, one.tell)
			tell := s.workers[name]
			s.workers[name] = func(ctx context.Context, from int64) ([]byte, error) {
				mu.Lock()
				now++
				most = max(most, now)
				mu.Unlock()
				defer func() { mu.Lock(); now--; mu.Unlock() }()
				if i < 3 {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				time.Sleep(time.Second) //nolint:forbidigo // of a clock that nobody waits for
				return tell(ctx, from)
			}
		}
		begun := time.Now()
		s.keeper.Round(t.Context())
		if took := time.Since(begun); took > 20*time.Second {
			t.Errorf("a round took %v", took)
		}
		for i := range 20 {
			if w, known := s.keeper.Of(fmt.Sprintf("w%02d", i)); known != (i >= 3) || known && w.Size == 0 {
				t.Errorf("worker %d: %+v, %v", i, w, known)
			}
		}
		if most != 8 {
			t.Errorf("%d were asked at once", most)
		}
	})
}

// Of two that tell of one journal at the same time, one is believed.
func TestTwoTellOfOneJournalAtOnce(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	one := newMachine(t)
	one.add(5)
	var both sync.WaitGroup
	both.Add(2)
	for _, name := range []string{"w1", "w2"} {
		s.connect(name, one.tell)
		tell := s.workers[name]
		s.workers[name] = func(ctx context.Context, from int64) ([]byte, error) {
			text, err := tell(ctx, from)
			both.Done()
			both.Wait()
			return text, err
		}
	}
	s.keeper.Round(t.Context())
	a, _ := s.keeper.Of("w1")
	b, _ := s.keeper.Of("w2")
	if (a.Problem == "") == (b.Problem == "") {
		t.Errorf("%+v\n%+v", a, b)
	}
}
