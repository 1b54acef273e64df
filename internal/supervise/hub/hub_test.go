//go:build linux

package hub

import (
	"testing"
	"testing/synctest"
	"time"

	"paddock"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

// However often a program prints, its listeners are told only now and then, at
// once after a silence, and of the last byte in any case.
func TestOutputsAreToldNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New()
		h.Started(1, paddock.Guardian)
		events, leave := h.Subscribe()
		<-events // started
		<-time.After(time.Hour)
		printed := int64(0)
		printing := time.Now()
		heard, last := 0, int64(0)
		for range 10_000 {
			printed++
			h.Output(printed, 0)
			if printed == 1 && len(events) != 1 {
				t.Error("after a silence it isn't told at once")
			}
			for len(events) > 0 {
				last = (<-events).Stdout
				heard++
			}
			<-time.After(pause / 100)
		}
		<-time.After(2 * pause)
		synctest.Wait()
		for len(events) > 0 {
			last = (<-events).Stdout
			heard++
		}
		most := int(time.Since(printing)/pause) + 2
		if heard < 10 || heard > most || last != printed {
			t.Errorf("%d events of %d outputs, want at most %d; the last says %d", heard, printed, most, last)
		}
		// Of a program that prints much it is told more seldom, and all the same at the end.
		<-time.After(time.Hour)
		heard, printing = 0, time.Now()
		for range 1000 {
			printed += much / 4
			h.Output(printed, 0)
			for len(events) > 0 {
				last = (<-events).Stdout
				heard++
			}
			<-time.After(pause / 4)
		}
		<-time.After(2 * rest)
		synctest.Wait()
		for len(events) > 0 {
			last = (<-events).Stdout
			heard++
		}
		if most := int(time.Since(printing)/pause)*2/3 + 2; heard < 10 || heard > most || last != printed {
			t.Errorf("%d events of a program that prints much, want at most %d; the last says %d of %d", heard, most, last, printed)
		}
		h.Output(printed+1, 0) // what waits when the end comes isn't told after it
		h.Settle(paddock.Outcome{State: paddock.Exited, Stdout: paddock.StreamSummary{Bytes: printed + 1}}, true)
		var kinds []string
		for e := range events {
			kinds = append(kinds, e.Kind)
		}
		leave()
		if kinds[len(kinds)-1] != "settled" {
			t.Errorf("the last event is of %q", kinds)
		}
	})
}
