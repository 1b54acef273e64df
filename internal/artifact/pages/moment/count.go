package moment

import (
	"errors"

	"paddock/internal/artifact/pages/moment/frames"
	"paddock/internal/artifact/pages/moment/lines"
	"paddock/internal/artifact/pages/moment/marks"
)

// smallTail is how far a tail is looked for backwards before lines are counted.
const smallTail = 1 << 20

// counter returns what finds lines of one stream. A file of marks that isn't
// there, or can't be read, is one that nothing is read by.
func (v *View) counter(i int) *marks.Counter {
	if v.counters[i] != nil {
		return v.counters[i]
	}
	name := string(frames.Streams[i])
	c := marks.NewCounter(v.files[i].section, v.files[i].size, nil, 0)
	if src, info, err := v.from.source(v, marks.Name(name)); err == nil {
		c = marks.NewCounter(v.files[i].section, v.files[i].size, src, info.Size())
	}
	v.counters[i] = c
	return c
}

// Before returns how many lines end before the byte at off. A line of the
// combined stream is what is between two line ends, whichever stream has them.
func (v *View) Before(off int64) (int64, error) {
	if i, ok := frames.Number(v.Stream); ok {
		return v.counter(i).Before(off)
	}
	pos, err := v.Frames.Place(off)
	if err != nil {
		return 0, err
	}
	return v.both(pos)
}

func (v *View) both(pos [2]int64) (sum int64, err error) {
	for i, off := range pos {
		n, err := v.counter(i).Before(off)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// Find returns where the line begins that n lines are complete before, or the
// end and how many there are.
func (v *View) Find(n int64) (from, seen int64, err error) {
	if n == 0 || v.total == 0 {
		return 0, 0, nil
	}
	if i, ok := frames.Number(v.Stream); ok {
		return v.counter(i).Find(n)
	}
	// The line end in question is in the last part with fewer before it.
	p, some, err := v.Frames.Last(func(start [2]int64) (bool, error) {
		sum, err := v.both(start)
		return sum < n, err
	})
	if err != nil || !some {
		return 0, 0, errors.Join(err, errUncounted(err))
	}
	before, err := v.both(p.Start)
	if err != nil {
		return 0, 0, err
	}
	own := v.counter(p.Stream)
	already, err := own.Before(p.Start[p.Stream])
	if err != nil {
		return 0, 0, err
	}
	at, got, err := own.Find(already + n - before)
	if err != nil {
		return 0, 0, err
	}
	if into := at - p.Start[p.Stream]; got == already+n-before && into <= p.Length {
		return p.Combined + into, n, nil
	}
	all, err := v.Before(v.total)
	return v.total, all, err
}

// errUncounted is for a count that contradicts itself.
func errUncounted(err error) error {
	if err != nil {
		return nil //nolint:nilerr // there is another to tell
	}
	return errors.New("lines can't be counted: the order of output is damaged")
}

// Tail returns where the last n lines begin. A line end at the very end ends
// the last line and begins none.
func (v *View) Tail(n int64) (int64, error) {
	from, found, err := lines.Tail(v, v.total, n, smallTail)
	if err != nil || found {
		return from, err
	}
	ends, err := v.Before(v.total - 1)
	if err != nil || ends < n {
		return 0, err
	}
	from, _, err = v.Find(ends - n + 1)
	return from, err
}
