package heap

import (
	"runtime"
	"runtime/debug"

	"paddock/internal/heap/page"
)

// least is the size of the heap at which Go begins to collect, if it is to double.
const least = 4 << 20

// Begin puts the first collection off by as much as was skipped; after that one,
// everything is as it always is. A program calls it when it begins.
func Begin() {
	// Go begins when seven tenths of the way are gone.
	before := debug.SetGCPercent(100 + page.Skipped()*100/7*10/least)
	if before != 100 { // somebody knows better
		debug.SetGCPercent(before)
		return
	}
	type token struct{ _ *int }
	runtime.AddCleanup(&token{}, func(percent int) {
		page.Forget()
		debug.SetGCPercent(percent)
	}, before)
}
