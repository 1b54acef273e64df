package remains

import (
	"time"

	"paddock"
	"paddock/internal/artifact"
	"paddock/internal/rundir/record/durable/losses"
)

// dropped notes what the frames of a run say was dropped where that is more than its
// supervisor had noted, so that its end as lost tells of it. Frames that can't be
// read say nothing here: a check of the state directory tells of them.
func dropped(runDir string) error {
	marked, some, err := artifact.Open(runDir).Lost()
	if err != nil || !some {
		return nil //nolint:nilerr // see above
	}
	noted, err := losses.Read(runDir)
	if err != nil {
		return nil //nolint:nilerr // who settles the run says so
	}
	more := false
	for i, stream := range []paddock.Stream{paddock.Stdout, paddock.Stderr} {
		if marked[i].Bytes > 0 {
			at := time.Unix(0, marked[i].At)
			l := paddock.Loss{Stream: stream, Offset: marked[i].Offset, Bytes: marked[i].Bytes, First: at, Last: at}
			noted, more = raise(noted, l, more)
		}
	}
	if !more {
		return nil
	}
	return losses.Note(runDir, noted)
}

// raise has noted say at least l.
func raise(noted []paddock.Loss, l paddock.Loss, more bool) ([]paddock.Loss, bool) {
	for i, is := range noted {
		if is.Stream != l.Stream {
			continue
		}
		if is.Bytes >= l.Bytes {
			return noted, more
		}
		noted[i].Bytes = l.Bytes
		return noted, true
	}
	return append(noted, l), true
}
