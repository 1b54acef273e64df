//go:build linux

package delegate_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/internal/task"
	"paddock/internal/task/delegate"
)

// tooled has workers with tools, of which one may less.
var tooled = strings.Replace(policyText, "    worker: {path: /bin/sh,", `    less: {path: /bin/sh, tools: [command_list]}
    worker: {path: /bin/sh, tools: [command_list, delegate_task],`, 1)

// answering serves a line for a line, which says who asks with which tools.
func answering(ctx context.Context, conn net.Conn, d delegate.Delegate) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		fmt.Fprintf(conn, "%s for %s with %v\n", lines.Text(), d.Session().ID, d.Tools)
	}
}

// A delegate asks by descriptor 3, which its environment says, in a session of its own.
func TestToolsByADoor(t *testing.T) {
	t.Parallel()
	w := newWorldServing(t, tooled, answering)
	d := w.give(`test "$PADDOCK_DOOR" = 3 && echo ping >&3 && read -r line <&3 && echo "$line"`)
	got := w.collect(delegate.Collect{ID: d.ID}).Completed[0].Result
	want := "ping for alice > agent/worker/" + d.ID + " with [command_list delegate_task]\n"
	if got.Status != delegate.Completed || got.Summary != want {
		t.Errorf("%+v, want %q", got, want)
	}
	if d.Session() == alice || d.Session().Root() != alice {
		t.Errorf("the session is %+v", d.Session())
	}
	// One without tools has no door.
	d = w.give("-", func(a *delegate.Ask) { a.Provider = "other" })
	if d.Tools != nil {
		t.Errorf("other has %v", d.Tools)
	}
}

// A delegate of a delegate has at most the tools of that, and its depth is that of the
// session, whatever is said.
func TestToolsOfADelegatesDelegate(t *testing.T) {
	t.Parallel()
	w := newWorldServing(t, tooled, answering)
	less := w.give("read x <&3", func(a *delegate.Ask) { a.Provider = "less" })
	inner := w.give("read x <&3", func(a *delegate.Ask) { a.Principal = less.Session() })
	if !slices.Equal(inner.Tools, []string{"command_list"}) || inner.Depth != 2 || inner.Parent != less.ID {
		t.Errorf("%+v", inner)
	}
	for _, parent := range []string{"", inner.ID, "d" + strings.Repeat("0", 26)} {
		_, err := w.room.Delegate(t.Context(), delegate.Ask{Principal: inner.Session(), Door: paddock.DoorMCP, Provider: "less", Task: "x", Parent: parent})
		w.refused(err, paddock.DepthExceeded, "depth of 2")
	}
	if got := w.peek(delegate.Collect{}); got.Pending != 1 { // the other one is the delegate's
		t.Errorf("%+v", got)
	}
}

// Where nobody serves tools such a task is refused, and one that waits is left to
// somebody who does.
func TestToolsAreLeftToWhoServesThem(t *testing.T) {
	t.Parallel()
	w := newWorldServing(t, strings.Replace(tooled, "concurrent: 2", "concurrent: 1", 1), answering)
	open := w.gate("gate")
	first := w.give("read x < gate")
	second := w.give("echo hello")
	other := delegate.New(t.Context(), w.exec, nil)
	defer other.Close()
	_, err := other.Delegate(t.Context(), delegate.Ask{Principal: alice, Door: paddock.DoorGo, Provider: "worker", Task: "x"})
	w.refused(err, paddock.LaunchDisabled, "nobody serves them here")
	w.room.Close() // what it serves ends with it
	_ = first
	open()
	if _, err := other.List(t.Context(), alice); err != nil {
		t.Fatal(err)
	}
	w.room = delegate.New(t.Context(), w.exec, answering)
	got := w.collect(delegate.Collect{ID: second.ID}).Completed[0]
	if got.Result.Status != delegate.Completed || got.Result.Summary != "hello\n" {
		t.Errorf("%+v", got.Result)
	}
}

// A policy that gives other tools than when the task was given starts nothing.
func TestToolsThatAreTakenBack(t *testing.T) {
	t.Parallel()
	w := newWorldServing(t, strings.Replace(tooled, "concurrent: 2", "concurrent: 1", 1), answering)
	open := w.gate("gate")
	w.give("read x < gate")
	second := w.give("echo hello")
	w.policy(strings.Replace(tooled, "[command_list, delegate_task]", "[command_list]", 1))
	open()
	got := w.collect(delegate.Collect{ID: second.ID}).Completed[0].Result
	if got.Status != delegate.Failed || !strings.Contains(got.Error, "other tools now") {
		t.Errorf("%+v", got)
	}
}

// Results that nobody acknowledged for long go, and are known by their ids for a while;
// what is pending stays.
func TestPruneOfResults(t *testing.T) {
	t.Parallel()
	w := newWorld(t, policyText)
	open := w.gate("gate")
	old := w.give("echo old")
	w.collect(delegate.Collect{ID: old.ID})
	running := w.give("read x < gate")
	none, told := 0, 0
	later := task.Stale{Since: w.now().Add(time.Hour)}
	tell := func(all []delegate.Delegate) error { told += len(all); return nil }
	if gone, err := w.room.Book().Prune(t.Context(), "somebody", later, func([]delegate.Delegate) error { return fs.ErrPermission }); !errors.Is(err, fs.ErrPermission) || len(gone) != 0 {
		t.Errorf("what wasn't told went: %+v, %v", gone, err)
	}
	if gone, err := w.room.Book().Prune(t.Context(), "somebody", task.Stale{Most: &none}, nil); err != nil || len(gone) != 1 {
		t.Errorf("%+v, %v", gone, err)
	}
	for _, tell := range []func([]delegate.Delegate) error{nil, tell} {
		gone, err := w.room.Book().Prune(t.Context(), "somebody", later, tell)
		if err != nil || len(gone) != 1 || gone[0].ID != old.ID || gone[0].PrunedBy != "somebody" {
			t.Errorf("%+v, %v", gone, err)
		}
	}
	if gone, err := w.room.Book().Prune(t.Context(), "x", later, tell); err != nil || len(gone) != 0 || told != 1 {
		t.Errorf("%+v, %v", gone, err)
	}
	got := w.peek(delegate.Collect{ID: old.ID}).Completed
	if len(got) != 1 || got[0].State != delegate.Acknowledged || got[0].PrunedBy != "somebody" {
		t.Errorf("%+v", got)
	}
	if got := w.peek(delegate.Collect{}); got.Pending != 1 || got.Ready != 0 {
		t.Errorf("%+v", got)
	}
	open()
	w.collect(delegate.Collect{ID: running.ID})
}

// lending lets somebody else have a delegate's end of its door, too.
type lending struct {
	delegate.Executor
	lent chan net.Conn
}

func (l lending) StartWith(ctx context.Context, req paddock.Request, door *os.File) (paddock.Run, error) {
	conn, err := net.FileConn(door)
	if err != nil {
		return paddock.Run{}, err
	}
	l.lent <- conn
	return l.Executor.StartWith(ctx, req, door)
}

// Whoever was handed a delegate's end of the door has none any more when the delegate
// is over, and the door does nothing for him.
func TestADoorEndsWithItsDelegate(t *testing.T) {
	t.Parallel()
	w := newWorldServing(t, tooled, answering)
	w.room.Close()
	lent := make(chan net.Conn, 1)
	w.room = delegate.New(t.Context(), lending{w.exec, lent}, answering)
	d := w.give("echo hello")
	theirs := <-lent
	defer theirs.Close()
	if got := w.collect(delegate.Collect{ID: d.ID}).Completed[0].Result; got.Status != delegate.Completed {
		t.Errorf("%+v", got)
	}
	w.must(theirs.SetReadDeadline(time.Now().Add(2 * time.Minute)))
	if n, err := theirs.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("the door is open yet: %d, %v", n, err)
	}
}
