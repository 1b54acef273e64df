package anchors

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

const (
	// Silence is how long a worker may be connected whenever it is asked and not tell.
	Silence = 10 * time.Minute
	// mostSilent is how often it may be, however long that takes.
	mostSilent = 5
)

// A silence is since when a worker doesn't tell, and how often it was asked.
type silence struct {
	since, last time.Time
	times       int
}

// still says what is wrong with a worker that didn't tell, if it went on for so long that
// it is no accident of a connection.
func (k *Keeper) still(worker string, w Worker) error {
	if w.Size == 0 || w.Problem != "" {
		return nil
	}
	now := k.Now()
	s := k.silent[worker]
	if s.times == 0 || now.Before(s.since) {
		s = silence{since: now}
	}
	if s.times == 0 || now.Sub(s.last) >= Every {
		s.last = now
		s.times++
	}
	k.silent[worker] = s
	if s.times < mostSilent || now.Sub(s.since) < Silence {
		return nil
	}
	return fmt.Errorf("it was connected whenever it was asked since %s, and didn't tell of its journal", s.since.UTC().Format(time.RFC3339))
}

// removed notes which of the known workers are removed, and which no longer are.
func (k *Keeper) removed(ctx context.Context) error {
	if k.Removed == nil {
		return nil
	}
	k.mu.Lock()
	all := slices.Sorted(maps.Keys(k.known))
	k.mu.Unlock()
	changed := false
	var faults error
	for _, worker := range all {
		w, _ := k.Of(worker)
		gone, err := k.Removed(ctx, worker)
		if err != nil {
			faults = errors.Join(faults, err)
			continue
		}
		if gone != w.Gone {
			w.Gone, changed = gone, true
			k.set(worker, w)
		}
	}
	if changed {
		faults = errors.Join(faults, k.write())
	}
	return faults
}

func (k *Keeper) set(worker string, w Worker) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.known[worker] = &w
}
