package main

import (
	"errors"
	"strconv"

	"paddock"
)

// The statuses that are ours. Any other is the program's own. They are those
// of timeout(1) and env(1) where these have one.
const (
	exitOK       = 0
	exitNo       = 1   // the answer of a question asked is no: policy check
	exitLater    = 75  // a bounded wait was over before the run was
	exitTimeout  = 124 // the run's time was over
	exitFault    = 125 // our fault, a wrong flag, a run that failed to start or was lost
	exitRefused  = 126
	exitMissing  = 127 // refused because there is no such executable
	exitKilled   = 137 // ended by a request or for its output's size
	exitBySignal = 128 // plus the number of a signal that came from elsewhere
)

// An exitStatus ends the command with this status and nothing more to say.
type exitStatus int

func (s exitStatus) Error() string { return "exit status " + strconv.Itoa(int(s)) }

// A usageError is a command line that makes no sense.
type usageError struct{ message, hint string }

func (e *usageError) Error() string { return e.message }

// statusOf is the table from an error to the status that we exit with.
func statusOf(err error) int {
	var status exitStatus
	var refusal *paddock.Refusal
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &status):
		return int(status)
	case errors.As(err, &refusal):
		if refusal.Code == paddock.ExecutableMissing {
			return exitMissing
		}
		return exitRefused
	}
	return exitFault
}

// runStatus is the table from a run to the status that we exit with.
func runStatus(r paddock.Run) int {
	switch r.State {
	case paddock.Exited:
		if r.Outcome != nil && r.Outcome.Reason.ExitCode != nil {
			return *r.Outcome.Reason.ExitCode
		}
		return exitFault // a record that says "exited" without a status is not ours to interpret
	case paddock.TimedOut:
		return exitTimeout
	case paddock.Killed:
		if r.Outcome != nil && r.Outcome.Reason.Kind == paddock.ReasonSignal {
			if n := signalNumber(r.Outcome.Reason.Signal); n > 0 {
				return exitBySignal + n
			}
		}
		return exitKilled
	case paddock.OutputLimit:
		return exitKilled
	case paddock.FailedToStart, paddock.Lost:
		return exitFault
	}
	return exitLater
}

// runError is runStatus as an error, nil for success.
func runError(r paddock.Run) error {
	if n := runStatus(r); n != exitOK {
		return exitStatus(n)
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

func itoa(n int) string { return strconv.Itoa(n) }
