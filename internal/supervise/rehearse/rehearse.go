//go:build linux

// Package rehearse is what a supervisor does while it waits for its job: it goes
// once through what a run needs and does nothing of it. The first time, every
// page of code and data has to be fetched, every type that is read or written as
// JSON has to be looked at, and what is planned needs memory that nobody has
// touched. A third of what a run costs its supervisor is that.
//
// # Limits
//
// Nothing is made, written, signalled or started, and nothing that is seen here is
// kept for the run: the machine may be another when the job comes. What fails
// here is found out, and told, by the run.
package rehearse

import (
	"encoding/json"
	"os"
	"time"

	"paddock"
	"paddock/internal/contain"
	"paddock/internal/contain/lifecycle"
	"paddock/internal/contain/protect"
	"paddock/internal/control"
	"paddock/internal/control/handover"
	"paddock/internal/control/wire"
	"paddock/internal/journal"
	"paddock/internal/rundir/record"
	"paddock/internal/rundir/record/process"
	"paddock/internal/spawn"
)

// parts are what Run goes through, the most worthwhile first.
var parts = []func(){job, plan, written, end, conversation}

// Run rehearses until wanted says that the job is there.
func Run(wanted func() bool) {
	for _, part := range parts {
		if wanted() {
			return
		}
		part()
	}
}

const digest = paddock.Digest("sha256:0000000000000000000000000000000000000000000000000000000000000000")

// job reads what a job looks like.
func job() {
	text, err := json.Marshal(handover.Job{
		Argv: []string{"true"}, Limits: paddock.Limits{Memory: 1, Timeout: 1},
		Contain: paddock.ContainAs{Read: []string{"/"}, Account: &paddock.Account{}}, Programs: []string{"/bin/true"}, Isolation: []paddock.Isolation{paddock.Guardian},
	})
	if err != nil {
		return
	}
	var into handover.Job
	_ = json.Unmarshal(text, &into) // it is read for the sake of reading
}

// plan looks at the machine and plans a start that never is.
func plan() {
	hold, err := lifecycle.NewHold("rehearsal", paddock.Limits{}, paddock.Full, nil) // without limits it makes nothing
	if err != nil {
		return
	}
	wish := contain.Wish{
		Level: paddock.Full, Network: "none", Root: "/nonexistent/root", Dir: "/nonexistent/root", Home: "/nonexistent/home",
		Programs: []string{"/bin/true"}, OpenFiles: 64, Rlimits: hold.Rlimits, Protect: protect.Usual(),
	}
	planned, err := contain.NewPlan(wish, contain.Probe())
	if err != nil {
		return
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return
	}
	defer null.Close()
	_ = spawn.Rehearse(spawn.Spec{
		Argv: []string{"true"}, Env: []string{"PATH=/bin"}, Exec: null, Stdin: null, Stdout: null, Stderr: null, Plan: planned,
	})
}

// outcome is that of a run as most are.
func outcome() paddock.Outcome {
	code := 0
	output := paddock.StreamSummary{Digest: digest}
	return paddock.Outcome{
		State: paddock.Exited, Reason: paddock.Reason{Kind: paddock.ReasonExit, ExitCode: &code}, Stdout: output, Stderr: output,
		EndedAt: time.Unix(1, 1), SettledAt: time.Unix(1, 1),
	}
}

// written composes what is written down of a start and of an end.
func written() {
	self, err := process.Of(os.Getpid())
	if err != nil {
		return
	}
	record.Rehearse(record.Started{
		Supervisor: self, At: time.Unix(1, 1), StageDigest: digest,
		Enforced: paddock.Enforced{Level: paddock.Full, Namespaces: []string{"user"}, Limits: map[string]string{"memory": "none"}, Identity: &paddock.Account{}},
	}, outcome())
}

// end makes the journal's entry of an end, and reads one.
func end() {
	entry := journal.EndOf("r", outcome(), &paddock.Enforced{Level: paddock.Full}, paddock.Guardian, digest)
	entry.Seq, entry.Prev, entry.Time = 2, digest, time.Unix(1, 1)
	if line, err := journal.Seal(&entry); err == nil {
		_, _ = journal.Parse(line[:len(line)-1])
	}
}

// conversation answers a subscriber.
func conversation() {
	line, err := wire.Encode(wire.Request{ID: 1, Verb: wire.VerbSubscribe})
	if err != nil {
		return
	}
	_, _ = wire.DecodeRequest(line)
	over := outcome()
	_, _ = wire.Encode(wire.Reply{ID: 1, OK: true})
	_, _ = wire.Encode(wire.Reply{Event: &control.Event{Kind: control.EventSettled, Outcome: &over}})
}
