package frames

import "fmt"

// drops is what was dropped of a stream.
type drops struct {
	pending int64 // that no marker says yet
	since   int64 // when the first of that arrived
	marker  frame // the last of the stream, if there is one
	place   int64 // of it in the file
	written int64 // when it was
}

// Drop says that n bytes of a stream arrived at the time now and aren't kept. As
// long as nothing more of the stream is kept, one marker says so for all of them. It
// reports whether some wait to be said, as Grow does.
func (w *Writer) Drop(stream int, n, now int64) (waiting bool, err error) {
	now = max(now, w.last.at)
	d := &w.drops[stream]
	if d.pending == 0 {
		d.since = now
	}
	d.pending += n
	return w.cover(now, false)
}

// mark brings the markers of s up to what was dropped: at once where dropping begins,
// then as often as a record may be late.
func (w *Writer) mark(s int, now int64, force bool) (waiting bool, err error) {
	d := &w.drops[s]
	for d.pending > 0 {
		grows := d.marker.marker() && d.marker.lost < maxLost && (d.marker.offset == w.size[s] || !force && !w.mayAdd(now))
		switch {
		case grows && !force && now-d.written < int64(Pause):
			return true, nil
		case grows:
			err = w.raise(d, now)
		default:
			err = w.addMarker(s, now)
		}
		if err != nil {
			return true, err
		}
	}
	return false, nil
}

// raise has the last marker of a stream say more.
func (w *Writer) raise(d *drops, now int64) error {
	more := min(d.pending, maxLost-d.marker.lost)
	f := d.marker
	f.lost += more
	if _, err := w.w.WriteAt(f.amount(), d.place+lengthAt); err != nil {
		return fmt.Errorf("marking what was dropped: %w", err)
	}
	d.marker, d.written = f, now
	d.pending -= more
	if w.n*RecordSize == d.place {
		w.last = f
	}
	return nil
}

// addMarker puts one behind every byte that was kept before.
func (w *Writer) addMarker(s int, now int64) error {
	for i := range w.size {
		if _, err := w.coverStream(i, now, true); err != nil {
			return err
		}
	}
	d := &w.drops[s]
	if !w.marked {
		if _, err := w.w.WriteAt([]byte(marked)[versionAt:versionAt+1], versionAt); err != nil {
			return fmt.Errorf("marking what was dropped: %w", err)
		}
		w.marked = true
	}
	f := frame{at: max(d.since, w.last.at), combined: w.framed[0] + w.framed[1], offset: w.framed[s], lost: min(d.pending, maxLost), stream: s}
	place := (w.n + 1) * RecordSize
	if _, err := w.w.WriteAt(f.encode(), place); err != nil {
		return fmt.Errorf("marking what was dropped: %w", err)
	}
	w.n++
	w.last = f
	d.marker, d.place, d.written = f, place, now
	d.pending -= f.lost
	return nil
}
