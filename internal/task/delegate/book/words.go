package book

import (
	"fmt"
	"time"
	"unicode/utf8"

	"paddock"
)

// StatusOf is what an outcome means, with the reason in words.
func StatusOf(o *paddock.Outcome, printed bool) (Status, string) {
	limited := Failed
	if printed {
		limited = Partial
	}
	reason := o.Reason
	switch o.State {
	case paddock.Exited:
		if reason.ExitCode != nil && *reason.ExitCode == 0 && o.Stdout.Dropped > 0 {
			return limited, fmt.Sprintf("its report isn't whole: %d bytes weren't kept", o.Stdout.Dropped)
		}
		if reason.ExitCode != nil && *reason.ExitCode == 0 {
			return Completed, ""
		}
		if reason.ExitCode != nil {
			return Failed, fmt.Sprintf("it ended with status %d", *reason.ExitCode)
		}
	case paddock.TimedOut:
		return limited, fmt.Sprintf("its time was over: %s", time.Duration(reason.Limit)*time.Millisecond)
	case paddock.OutputLimit:
		return limited, fmt.Sprintf("it printed more than %d bytes; everything up to there is kept", reason.Limit)
	case paddock.FailedToStart:
		return Failed, Joined("it couldn't be started ("+reason.Step+")", reason.Detail)
	case paddock.Lost:
		return Failed, "it was lost: its supervisor vanished, or the machine restarted"
	case paddock.Killed:
		if reason.Kind == paddock.ReasonSignal {
			return Failed, "it was ended by " + reason.Signal
		}
		return Failed, Joined("it was ended ("+string(reason.Kind)+")", reason.Why)
	}
	return Failed, "it ended as " + string(o.State)
}

// First returns the first n characters of s.
func First(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// Cut is First, and marks that there was more.
func Cut(s string, n int) string {
	if short := First(s, n-1); len(short) < len(s) {
		return short + "…"
	}
	return s
}

// Last returns the last n characters of s.
func Last(s string, n int) string {
	i := len(s)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	return s[i:]
}

// Joined puts more behind text, if there is more.
func Joined(text, more string) string {
	if more == "" {
		return text
	}
	return text + ": " + more
}
