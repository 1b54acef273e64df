package desk

import (
	"errors"
	"strconv"

	"paddock"
)

// The statuses that are ours. Any other is the program's own. They are those
// of timeout(1) and env(1) where these have one.
const (
	ExitOK       = 0
	ExitNo       = 1   // the answer of a question asked is no: policy check
	ExitLater    = 75  // a bounded wait was over before the run was
	ExitTimeout  = 124 // the run's time was over
	ExitFault    = 125 // our fault, a wrong flag, a run that failed to start or was lost
	ExitRefused  = 126
	ExitMissing  = 127 // refused because there is no such executable
	ExitKilled   = 137 // ended by a request or for its output's size
	ExitBySignal = 128 // plus the number of a signal that came from elsewhere
)

// An ExitStatus ends the command with this status and nothing more to say.
type ExitStatus int

func (s ExitStatus) Error() string { return "exit status " + strconv.Itoa(int(s)) }

// A UsageError is a command line that makes no sense.
type UsageError struct{ Message, Hint string }

// Usage makes a UsageError.
func Usage(message, hint string) *UsageError { return &UsageError{Message: message, Hint: hint} }

func (e *UsageError) Error() string { return e.Message }

// StatusOf is the table from an error to the status that we exit with.
func StatusOf(err error) int {
	var status ExitStatus
	var refusal *paddock.Refusal
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &status):
		return int(status)
	case errors.As(err, &refusal):
		if refusal.Code == paddock.ExecutableMissing {
			return ExitMissing
		}
		return ExitRefused
	}
	return ExitFault
}

// RunStatus is the table from a run to the status that we exit with.
func RunStatus(r paddock.Run) int {
	switch r.State {
	case paddock.Exited:
		if r.Outcome != nil && r.Outcome.Reason.ExitCode != nil {
			return *r.Outcome.Reason.ExitCode
		}
		return ExitFault // a record that says "exited" without a status is not ours to interpret
	case paddock.Banked:
		return 0
	case paddock.TimedOut:
		return ExitTimeout
	case paddock.Killed:
		if r.Outcome != nil && r.Outcome.Reason.Kind == paddock.ReasonSignal {
			if n := signalNumber(r.Outcome.Reason.Signal); n > 0 {
				return ExitBySignal + n
			}
		}
		return ExitKilled
	case paddock.OutputLimit:
		return ExitKilled
	case paddock.RefusedState:
		return ExitRefused
	case paddock.FailedToStart, paddock.Lost:
		return ExitFault
	}
	return ExitLater
}

// RunError is RunStatus as an error, nil for success.
func RunError(r paddock.Run) error {
	if n := RunStatus(r); n != ExitOK {
		return ExitStatus(n)
	}
	return nil
}

// signalNumber returns the number that shells add to 128. The numbers are
// Linux's; a record made elsewhere holds names too, so it reads the same here.
func signalNumber(name string) int {
	numbers := map[string]int{
		"SIGHUP": 1, "SIGINT": 2, "SIGQUIT": 3, "SIGILL": 4, "SIGTRAP": 5, "SIGABRT": 6, "SIGBUS": 7,
		"SIGFPE": 8, "SIGKILL": 9, "SIGUSR1": 10, "SIGSEGV": 11, "SIGUSR2": 12, "SIGPIPE": 13,
		"SIGALRM": 14, "SIGTERM": 15, "SIGSTKFLT": 16, "SIGCHLD": 17, "SIGCONT": 18, "SIGSTOP": 19,
		"SIGTSTP": 20, "SIGTTIN": 21, "SIGTTOU": 22, "SIGURG": 23, "SIGXCPU": 24, "SIGXFSZ": 25,
		"SIGVTALRM": 26, "SIGPROF": 27, "SIGWINCH": 28, "SIGIO": 29, "SIGPWR": 30, "SIGSYS": 31,
	}
	return numbers[name]
}

// Tell tells of err in the way of the mode: in words on standard error, or as an
// object on standard output.
func (d *Desk) Tell(err error) {
	var status ExitStatus
	var refusal *paddock.Refusal
	var usage *UsageError
	hint := ""
	if errors.As(err, &usage) {
		hint = usage.Hint
	}
	switch {
	case err == nil, errors.As(err, &status):
	case errors.As(err, &refusal):
		if d.JSON {
			d.object(map[string]any{"refusal": refusal})
			return
		}
		d.Refusal(refusal)
	case d.JSON:
		e := map[string]string{"message": err.Error()}
		if hint != "" {
			e["hint"] = hint
		}
		d.object(map[string]any{"error": e})
	default:
		d.Failure(err.Error(), hint)
	}
}

// object falls back on words when standard output can't be written.
func (d *Desk) object(v any) {
	if err := d.Object(v); err != nil {
		d.Say("error", err.Error())
	}
}
