package answer

import (
	"fmt"
	"runtime/debug"

	"paddock"
)

// Full says that too many calls are under way.
func Full(most int) *paddock.Refusal {
	r := paddock.Refused(paddock.Busy, "%d calls are already under way on this connection", most)
	r.Hint = "Wait for one to return, then ask again."
	return r
}

// CallCanceled answers a call that the client took back.
func CallCanceled() *paddock.Refusal {
	return &paddock.Refusal{
		Code: Canceled, Message: "the call was canceled; what it asked about goes on", Retryable: true,
		Hint: "Ask again; command_list finds tasks whose id was lost.",
	}
}

// Fault answers where we failed.
func Fault() *paddock.Refusal {
	return &paddock.Refusal{
		Code: Internal, Message: "Paddock failed to do this by a fault of its own or of this machine; nothing is wrong with the request",
		Hint: "Ask again once. If it stays, the operator finds the cause in the server's log.", Retryable: true,
	}
}

// Guarded calls fn and makes a fault of a panic: one bad call must not take the
// other calls of a connection along.
func Guarded(fn func() (any, error)) (out any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: panic: %v\n%s", paddock.ErrFault, r, debug.Stack())
		}
	}()
	return fn()
}
