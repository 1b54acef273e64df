package heap

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"paddock/internal/heap/page"
)

// The first collection comes later, and is the only one.
func TestOnlyTheFirstCollectionIsPutOff(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	percent := func() int {
		p := debug.SetGCPercent(100)
		debug.SetGCPercent(p)
		return p
	}
	Begin()
	if got, skipped := percent(), page.Skipped(); skipped > 0 && (got <= 100+skipped*100/least || got > 100+2*skipped*100/least) {
		t.Errorf("%d per cent before the first collection, with %d bytes skipped", got, skipped)
	}
	deadline := time.After(2 * time.Minute)
	for percent() != 100 {
		runtime.GC()
		select {
		case <-deadline:
			t.Fatalf("%d per cent after it", percent())
		default:
			runtime.Gosched()
		}
	}
	debug.SetGCPercent(50)
	if Begin(); percent() != 50 {
		t.Errorf("%d per cent, where somebody had said 50", percent())
	}
}
