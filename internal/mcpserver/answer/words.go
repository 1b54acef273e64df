package answer

import (
	"fmt"
	"time"

	"paddock"
)

// Explain says in words why a run ended, unless its program simply exited.
func Explain(run paddock.Run) string {
	if run.Outcome == nil {
		return ""
	}
	r := run.Outcome.Reason
	switch r.Kind {
	case paddock.ReasonExit:
		return ""
	case paddock.ReasonSignal:
		return fmt.Sprintf("ended by %s, which Paddock did not send", r.Signal)
	case paddock.ReasonKill:
		return joined("ended on request", r.Why)
	case paddock.ReasonAbort:
		return "ended because the program that asked for it gave up"
	case paddock.ReasonShutdown:
		return joined("ended because its owner shut down", r.Why)
	case paddock.ReasonCallerGone:
		return "ended because whoever it was tied to is gone"
	case paddock.ReasonLease:
		return joined("ended because its worker fell silent", r.Detail)
	case paddock.ReasonTimeout:
		return fmt.Sprintf("ended because its time was over: %s", time.Duration(r.Limit)*time.Millisecond)
	case paddock.ReasonIdle:
		return joined(fmt.Sprintf("ended because it printed nothing for %s", time.Duration(r.Limit)*time.Millisecond), r.Detail)
	case paddock.ReasonOutputLimit:
		return fmt.Sprintf("ended because %s passed its limit of %d bytes; everything up to there is kept", r.Stream, r.Limit)
	case paddock.ReasonDiskReserve:
		return fmt.Sprintf("ended because the disk came down to its reserve of %d bytes; everything up to there is kept; ask the operator to make room", r.Limit)
	case paddock.ReasonQuota:
		return joined(fmt.Sprintf("ended because it printed the %d bytes that a quota had left when it began; everything up to there is kept", r.Limit), r.Detail)
	case paddock.ReasonOutOfMemory:
		return fmt.Sprintf("ended because it needed more memory than its limit of %d bytes; use less at once (fewer jobs, smaller inputs), or ask the operator to raise `limits.memory`", r.Limit)
	case paddock.ReasonDiskLimit:
		return fmt.Sprintf("ended because it wrote more to the disk than its limit of %d bytes (%d when it was noticed); write less, or ask the operator to raise `limits.disk`", r.Limit, r.Written)
	case paddock.ReasonSink:
		return joined("ended because its output could not be kept", r.Detail)
	case paddock.ReasonStart:
		return joined(fmt.Sprintf("could not be started (%s)", r.Step), r.Detail)
	case paddock.ReasonDenied:
		return joined("not started: "+r.By+" denied it", r.Why)
	case paddock.ReasonExpired:
		return "not started: nobody approved it in time; ask again when a person is there to approve it"
	case paddock.ReasonChanged:
		return joined("not started, since it isn't what was approved any more; ask again", r.Detail)
	case paddock.ReasonLost, paddock.ReasonHost:
		text := "its supervisor vanished without writing how it ended"
		if r.Kind == paddock.ReasonHost {
			text = "the machine restarted while it ran"
		}
		if r.Evidence != nil {
			text = joined(text, r.Evidence.Note)
		}
		return text
	}
	return joined(string(r.Kind), r.Detail)
}

func joined(text, more string) string {
	if more == "" {
		return text
	}
	return text + ": " + more
}
