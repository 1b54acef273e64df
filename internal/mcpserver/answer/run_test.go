package answer

import (
	"testing"

	"paddock"
)

// What the kernel refused is told in words, and not without bound.
func TestDenialsAreTold(t *testing.T) {
	t.Parallel()
	outcome := &paddock.Outcome{State: paddock.Exited}
	for range 2 * mostDenied {
		outcome.Denied = append(outcome.Denied, paddock.Denial{Call: "socket", Count: 1, Text: "the program tried to reach the network"})
	}
	got := NewStatus(paddock.Run{State: paddock.Exited, Outcome: outcome}, "", Counters{}).Denied
	if len(got) != mostDenied || got[0] != "the program tried to reach the network" {
		t.Errorf("%q", got)
	}
}

// What became known of a lost run later is told, and its state stays.
func TestAddendaAreTold(t *testing.T) {
	t.Parallel()
	code := 3
	run := paddock.Run{State: paddock.Lost, Outcome: &paddock.Outcome{State: paddock.Lost, Reason: paddock.Reason{Kind: paddock.ReasonLost}}, Addenda: []paddock.Addendum{
		{Source: paddock.FromSupervisor, Outcome: paddock.Outcome{State: paddock.Exited, Reason: paddock.Reason{Kind: paddock.ReasonExit, ExitCode: &code}}},
	}}
	got := NewStatus(run, "", Counters{})
	if got.State != paddock.Lost || got.ExitCode != nil || len(got.Addenda) != 1 {
		t.Fatalf("%+v", got)
	}
	if a := got.Addenda[0]; a.State != paddock.Exited || *a.ExitCode != 3 || a.Source != paddock.FromSupervisor {
		t.Errorf("%+v", a)
	}
}
