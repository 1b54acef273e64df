// Package usage is what principals have used, in a form that quotas can be asked of:
// how much of each is used at a time, what there is left, and when some of it is
// free again.
//
// Use is counted in steps of ten minutes, each for a day, so what is used becomes
// free again at most ten minutes after an hour or a day have gone by, and a usage
// has the same size however many runs there were.
//
// # Limits
//
// It reads and keeps nothing: package books does.
package usage

import (
	"fmt"
	"slices"
	"time"

	"paddock"
)

const (
	// Step is how long use is counted together.
	Step = 10 * time.Minute
	// Hour and Day are what quotas are of.
	Hour = time.Hour
	Day  = 24 * time.Hour
)

// A Used is what was used within one step.
type Used struct {
	// At is the beginning of the step, in seconds.
	At     int64            `json:"at"`
	Runs   int              `json:"runs,omitempty"`
	Output int64            `json:"output,omitempty"`
	CPU    paddock.Duration `json:"cpu_ms,omitempty"`
}

// An Open is a run whose end isn't counted yet.
type Open struct {
	// At is the step in which the run is counted, in seconds.
	At int64 `json:"at"`
	// Runs is as how many it is counted: one, or none where no program runs.
	Runs int `json:"runs,omitempty"`
	// Reserved is how many bytes it may print.
	Reserved int64 `json:"reserved"`
}

// A Usage is what a principal, or all together, have used. The zero Usage is
// nothing.
type Usage struct {
	// Steps are those of the last day in which something was used, oldest first.
	Steps []Used `json:"steps,omitempty"`
	// Kept is how many bytes of output there are of runs whose end is counted.
	Kept int64 `json:"kept"`
	// Open are the runs whose end isn't counted yet.
	Open map[paddock.RunID]Open `json:"open,omitempty"`
	// Leaving are runs whose output is being removed, with what that gives back.
	Leaving map[paddock.RunID]int64 `json:"leaving,omitempty"`
}

// Begin is the beginning of the step that t is in.
func Begin(t time.Time) int64 { return t.Truncate(Step).Unix() }

// Add counts what was used at t, or takes it back.
func (u *Usage) Add(at int64, runs int, output int64, cpu paddock.Duration) {
	i, found := slices.BinarySearchFunc(u.Steps, at, func(s Used, at int64) int { return int(max(-1, min(1, s.At-at))) })
	if !found {
		u.Steps = slices.Insert(u.Steps, i, Used{At: at})
	}
	s := &u.Steps[i]
	s.Runs, s.Output, s.CPU = s.Runs+runs, s.Output+output, s.CPU+cpu
	if s.Runs == 0 && s.Output == 0 && s.CPU == 0 {
		u.Steps = slices.Delete(u.Steps, i, i+1)
	}
}

// Forget drops what no quota is about any more.
func (u *Usage) Forget(now time.Time) {
	u.Steps = slices.DeleteFunc(u.Steps, func(s Used) bool { return !now.Before(free(s, Day)) })
}

// free is when what was used in a step doesn't count any more for a quota of window.
func free(s Used, window time.Duration) time.Time { return time.Unix(s.At, 0).Add(Step + window) }

// Reserved is how many bytes runs that go on may print.
func (u *Usage) Reserved() (bytes int64) {
	for _, o := range u.Open {
		bytes += o.Reserved
	}
	return bytes
}

// in returns what counts at now of the uses within window. What is of the future is
// of a clock that was set back, and doesn't.
func (u *Usage) in(now time.Time, window time.Duration, of func(Used) int64) (sum int64) {
	for _, s := range u.Steps {
		if counts(s, now, window) {
			sum += of(s)
		}
	}
	return sum
}

func counts(s Used, now time.Time, window time.Duration) bool {
	return now.Before(free(s, window)) && !time.Unix(s.At, 0).After(now)
}

// again returns when less than limit is used of a window, if nothing more is.
func (u *Usage) again(now time.Time, window time.Duration, limit int64, of func(Used) int64) time.Time {
	left, at := u.in(now, window, of), time.Time{}
	for _, s := range u.Steps {
		if left < limit {
			break
		}
		if counts(s, now, window) {
			left, at = left-of(s), free(s, window)
		}
	}
	return at
}

// Valid says what is wrong with a usage that was read.
func (u *Usage) Valid() error {
	last := int64(-1)
	for _, s := range u.Steps {
		switch {
		case s.At <= last || s.At%int64(Step/time.Second) != 0:
			return fmt.Errorf("the step at %d isn't one, or is out of order", s.At)
		case s.Runs < 0 || s.Output < 0 || s.CPU < 0 || s.Runs > most || s.Output > most || s.CPU > most:
			return fmt.Errorf("the step at %d has numbers that can't be", s.At)
		}
		last = s.At
	}
	if u.Kept < 0 || u.Kept > most {
		return fmt.Errorf("%d bytes can't be kept", u.Kept)
	}
	for id, o := range u.Open {
		if _, err := paddock.ParseRunID(string(id)); err != nil || o.Reserved < 0 || o.Reserved > most || o.At < 0 || o.Runs < 0 || o.Runs > 1 {
			return fmt.Errorf("what is noted of run %q can't be", id)
		}
	}
	for id, bytes := range u.Leaving {
		if _, err := paddock.ParseRunID(string(id)); err != nil || bytes < 0 || bytes > most {
			return fmt.Errorf("what is noted of run %q can't be", id)
		}
	}
	return nil
}

// most is more than any number here can be, and less than what sums overflow by.
const most = 1 << 52
