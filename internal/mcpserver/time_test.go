package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"paddock"
	"paddock/internal/mcpserver/answer"
)

// inTime runs a test in a bubble of its own time, with a client that has greeted.
func inTime(t *testing.T, cfg Config, test func(t *testing.T, c *client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, cfg)
		test(t, c)
		if err := c.leave(); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
}

func TestWaitEndsWithItsTime(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		asked int64
		want  time.Duration
		note  bool
	}{
		"not at all":  {0, 0, false},
		"a second":    {1000, time.Second, false},
		"the most":    {45_000, 45 * time.Second, false},
		"ten minutes": {600_000, 45 * time.Second, true},
		"30 days":     {2_592_000_000, 45 * time.Second, true},
		"for ever":    {9_000_000_000_000_000, 45 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{}
			inTime(t, Config{App: f}, func(t *testing.T, c *client) {
				id := f.add(me, "sleep")
				for _, tool := range []string{"command_status", "command_output"} {
					began := time.Now()
					r := c.call(tool, taskArgs(id, fmt.Sprintf(`,"waitMs":%d`, test.asked)))
					if got := time.Since(began); got != test.want || r.IsError {
						t.Errorf("%s waited %s, want %s", tool, got, test.want)
					}
					if got := strings.Contains(string(r.Structured), `"note"`); got != test.note {
						t.Errorf("%s notes: %s", tool, r.Structured)
					}
					if tool == "command_status" && test.want > 0 && *parse[answer.Status](t, r.Structured).WaitedMs != test.want.Milliseconds() {
						t.Errorf("said: %s", r.Structured)
					}
				}
			})
		})
	}
}

func TestWaitEndsWithTheTask(t *testing.T) {
	t.Parallel()
	f := &fake{}
	inTime(t, Config{App: f}, func(t *testing.T, c *client) {
		id := f.add(me, "sleep")
		_, status := c.begin("tools/call", callParams("command_status", taskArgs(id, `,"waitMs":45000`)))
		_, output := c.begin("tools/call", callParams("command_output", taskArgs(id, `,"waitMs":45000`)))
		<-time.After(7 * time.Second) // of the bubble's time
		f.change(id, func(r *fakeRun) { r.stdout = []byte("line\n") })
		if page := parse[answer.Page](t, c.result(<-output).Structured); page.Content != "line\n" || page.EOF {
			t.Errorf("output: %+v", page)
		}
		<-time.After(3 * time.Second)
		f.change(id, func(r *fakeRun) { r.exit(0) })
		if got := parse[answer.Status](t, c.result(<-status).Structured); !got.Settled || *got.WaitedMs != 10_000 {
			t.Errorf("status: %+v", got)
		}
	})
}

func TestProgress(t *testing.T) {
	t.Parallel()
	f := &fake{}
	inTime(t, Config{App: f}, func(t *testing.T, c *client) {
		id := f.add(me, "sleep")
		for i, tool := range []string{"command_status", "command_output"} {
			token := []string{`"tok"`, `7`}[i]
			_, reply := c.begin("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s,"_meta":{"progressToken":%s}}`, tool, taskArgs(id, `,"waitMs":17000`), token))
			<-reply
			for _, want := range []float64{5000, 10000, 15000} {
				select {
				case m := <-c.stray:
					got := parse[struct {
						ProgressToken   any
						Progress, Total float64
						Message         string
					}](t, m.Params)
					if m.Method != "notifications/progress" || fmt.Sprintf("%#v", got.ProgressToken) != token || got.Progress != want || got.Total != 17000 || got.Message == "" {
						t.Errorf("got %s", m.raw)
					}
				default:
					t.Errorf("no progress at %v", want)
				}
			}
		}
		c.call("command_status", taskArgs(id, `,"waitMs":17000`))
		if len(c.stray) != 0 {
			t.Errorf("progress without a token: %s", (<-c.stray).raw)
		}
	})
}

// A client that gives up a call loses nothing by it.
func TestCanceledCallLosesNothing(t *testing.T) {
	t.Parallel()
	f := &fake{}
	inTime(t, Config{App: f}, func(t *testing.T, c *client) {
		id := f.add(me, "sleep")
		request, reply := c.begin("tools/call", callParams("command_status", taskArgs(id, `,"waitMs":45000`)))
		synctest.Wait()
		began := time.Now()
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"reason":"timeout"}}`, request))
		if got := parse[answer.Refusal](t, c.result(<-reply).Structured); got.Code != answer.Canceled || !got.Retryable {
			t.Errorf("got %+v", got)
		}
		if time.Since(began) != 0 {
			t.Error("it was waited on")
		}
		f.change(id, func(r *fakeRun) { r.stdout = []byte("done\n"); r.exit(3) })
		if got := ok[answer.Status](c, "command_status", taskArgs(id, `,"waitMs":45000`)); *got.ExitCode != 3 || got.TailPreview != "done\n" {
			t.Errorf("afterwards: %+v", got)
		}
	})
}

// A start that is under way is finished whatever the client does: the run is
// there, and the request's context doesn't reach it.
func TestCanceledStartIsFinished(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	f := &fake{before: func(verb string) error {
		if verb == "start" {
			entered <- struct{}{}
			<-release
		}
		return nil
	}}
	c := connect(t, Config{App: f})
	request, reply := c.begin("tools/call", callParams("run_command_bg", `{"argv":["make"]}`))
	<-entered
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, request))
	ok[answer.Listing](c, "command_list", `{}`)
	close(release)
	if r := c.result(<-reply); r.IsError {
		t.Errorf("got %s", r.Content[0].Text)
	}
	if got := ok[answer.Listing](c, "command_list", `{}`); len(got.Tasks) != 1 || got.Tasks[0].State != paddock.Running {
		t.Errorf("afterwards: %+v", got.Tasks)
	}
}

// A script that pipes requests in and closes gets every reply, and waits end.
func TestLeavingEndsWaitsAndLosesNoAnswer(t *testing.T) {
	t.Parallel()
	f := &fake{}
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, Config{App: f})
		id := f.add(me, "sleep")
		f.change(id, func(r *fakeRun) { r.stdout = []byte("so far\n") })
		_, status := c.begin("tools/call", callParams("command_status", taskArgs(id, `,"waitMs":45000`)))
		_, output := c.begin("tools/call", callParams("command_output", taskArgs(id, `,"waitMs":45000,"offset":7`)))
		_, list := c.begin("tools/call", callParams("command_list", `{}`))
		began := time.Now()
		if err := c.leave(); err != nil {
			t.Errorf("Serve: %v", err)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("leaving took %s", took)
		}
		if got := parse[answer.Status](t, c.result(<-status).Structured); got.TailPreview != "so far\n" || got.Settled {
			t.Errorf("status: %+v", got)
		}
		if got := parse[answer.Page](t, c.result(<-output).Structured); got.NextOffset != 7 {
			t.Errorf("output: %+v", got)
		}
		if r := c.result(<-list); r.IsError {
			t.Errorf("list: %+v", r)
		}
	})
}

// Serve returns only when no verb is under way, also when its answer comes too
// late to be written: what a verb is doing must not be cut off by an exit.
func TestLeavingWaitsForVerbs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		f := &fake{before: func(verb string) error {
			if verb == "list" {
				<-release
			}
			return nil
		}}
		c := connect(t, Config{App: f})
		c.begin("tools/call", callParams("command_list", `{}`))
		synctest.Wait()
		began := time.Now()
		go func() { <-time.After(20 * time.Second); close(release) }()
		if err := c.leave(); err != nil {
			t.Errorf("Serve: %v", err)
		}
		if took := time.Since(began); took != 20*time.Second {
			t.Errorf("leaving took %s", took)
		}
	})
}

func TestContextEndsServing(t *testing.T) {
	t.Parallel()
	f := &fake{}
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, Config{App: f, OnDisconnect: Kill})
		run := ok[answer.Started](c, "run_command_bg", `{"argv":["sleep"]}`)
		c.begin("tools/call", callParams("command_status", taskArgs(run.TaskID, `,"waitMs":45000`)))
		synctest.Wait()
		began := time.Now()
		c.cancel()
		if err := <-c.served; !errors.Is(err, context.Canceled) {
			t.Errorf("Serve: %v", err)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("took %s", took)
		}
		if !f.runs[0].State.Settled() {
			t.Error("the run goes on")
		}
	})
}

func TestOnDisconnect(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"", Keep, Kill} {
		t.Run("is "+what, func(t *testing.T) {
			t.Parallel()
			f := &fake{}
			earlier := f.add(me, "earlier")
			f.add(stranger, "foreign")
			inTime(t, Config{App: f, OnDisconnect: what}, func(t *testing.T, c *client) {
				f.change(earlier, func(r *fakeRun) { r.CreatedAt = time.Now().Add(-time.Hour) })
				for range 3 {
					ok[answer.Started](c, "run_command_bg", `{"argv":["sleep"]}`)
				}
			})
			for i, r := range f.runs {
				if want := what == Kill && i >= 2; r.State.Settled() != want {
					t.Errorf("run %d settled: %t, want %t", i, r.State.Settled(), want)
				}
			}
			for _, r := range f.runs {
				if r.Outcome != nil && r.Outcome.Reason.Kind != paddock.ReasonShutdown {
					t.Errorf("ended because of %s", r.Outcome.Reason.Kind)
				}
			}
		})
	}
}

// A run that an idempotency key found again wasn't started by this connection.
func TestOnDisconnectSparesFoundRuns(t *testing.T) {
	t.Parallel()
	f := &fake{}
	inTime(t, Config{App: foundAgain{f}, OnDisconnect: Kill}, func(t *testing.T, c *client) {
		ok[answer.Started](c, "run_command_bg", `{"argv":["sleep"],"idempotencyKey":"k"}`)
	})
	if len(f.shut) != 0 {
		t.Errorf("ended: %v", f.shut)
	}
}

// foundAgain answers a start with a run of an hour ago.
type foundAgain struct{ *fake }

func (f foundAgain) Start(ctx context.Context, req paddock.Request) (paddock.Run, error) {
	run, err := f.fake.Start(ctx, req)
	run.CreatedAt = run.CreatedAt.Add(-time.Hour)
	return run, err
}

// A run that can't be ended doesn't fail the server, and is told.
func TestOnDisconnectTellsFaults(t *testing.T) {
	t.Parallel()
	f := &fake{before: func(verb string) error {
		if verb == "shutdown" {
			return errors.New("stuck in the kernel")
		}
		return nil
	}}
	c := connect(t, Config{App: f, OnDisconnect: Kill})
	ok[answer.Started](c, "run_command_bg", `{"argv":["stuck"]}`)
	if err := c.leave(); err != nil {
		t.Errorf("Serve: %v", err)
	}
	if !strings.Contains(c.log.String(), "stuck in the kernel") {
		t.Errorf("the log says %s", c.log)
	}
}

func TestTooManyCallsAreRefused(t *testing.T) {
	t.Parallel()
	f := &fake{}
	inTime(t, Config{App: f}, func(t *testing.T, c *client) {
		id := f.add(me, "sleep")
		var answers []chan message
		for range maxCalls {
			_, a := c.begin("tools/call", callParams("command_status", taskArgs(id, `,"waitMs":45000`)))
			answers = append(answers, a)
		}
		synctest.Wait()
		if got := no(c, "command_list", `{}`); got.Code != paddock.Busy || !got.Retryable || !strings.Contains(got.Message, "256") {
			t.Errorf("got %+v", got)
		}
		if m := c.ask("ping", `{}`); m.Error != nil {
			t.Errorf("ping: %s", m.raw)
		}
		f.change(id, func(r *fakeRun) { r.exit(0) })
		for _, a := range answers {
			if r := c.result(<-a); r.IsError {
				t.Errorf("got %+v", r)
			}
		}
		ok[answer.Listing](c, "command_list", `{}`)
	})
}

// A client that has stopped reading doesn't keep Serve from ending.
func TestReaderGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in, toServer := io.Pipe()
		fromServer, out := io.Pipe()
		served := make(chan error)
		go func() {
			served <- Serve(t.Context(), Config{App: &fake{}, Principal: me, Log: slog.New(slog.DiscardHandler)}, in, out)
		}()
		fromServer.Close()
		if _, err := io.WriteString(toServer, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"+`rubbish`+"\n"); err != nil {
			t.Error(err)
		}
		if err := <-served; err == nil {
			t.Error("Serve: no error, though answers could not be written")
		}
		toServer.Close()
	})
}

// unread is the standard output of a client that has stopped reading: a write
// ends for nothing but the test's end, as with a pipe that is full.
type unread struct{ over chan struct{} }

func (u unread) Write([]byte) (int, error) { <-u.over; return 0, io.ErrClosedPipe }
func (u unread) Close() error              { return nil }

// A client that doesn't read, and doesn't go, keeps neither Serve nor the runs
// that were to end with the connection.
func TestNotReadingDoesntKeepServing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		end  func(cancel, leave func())
		most time.Duration
	}{
		{"asked to end", func(cancel, _ func()) { cancel() }, 3 * time.Second},
		{"client closed its side", func(_, leave func()) { leave() }, 20 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				out := unread{make(chan struct{})}
				in, toServer := io.Pipe()
				f := &fake{}
				served := make(chan error, 1)
				go func() {
					served <- Serve(ctx, Config{App: f, Principal: me, OnDisconnect: Kill, Log: slog.New(slog.DiscardHandler)}, in, out)
				}()
				for _, line := range []string{
					`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`,
					`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
					`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"run_command_bg","arguments":{"argv":["sleep"]}}}`,
					`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"command_list","arguments":{}}}`,
				} {
					if _, err := io.WriteString(toServer, line+"\n"); err != nil {
						t.Fatal(err)
					}
				}
				synctest.Wait()
				began := time.Now()
				c.end(cancel, func() { toServer.Close() })
				select {
				case <-served:
				case <-time.After(time.Minute):
					t.Error("Serve goes on")
				}
				if took := time.Since(began); took > c.most {
					t.Errorf("Serve took %s to end", took)
				}
				for _, r := range f.runs {
					if !r.State.Settled() {
						t.Error("a run goes on that was to end with the connection")
					}
				}
				close(out.over)
				toServer.Close()
			})
		})
	}
}

// Clients kill servers with -9: then only the supervisor can end the run.
func TestRunsThatEndWithTheConnectionAreTiedToUs(t *testing.T) {
	t.Parallel()
	for _, what := range []string{Keep, Kill} {
		f := &fake{}
		inTime(t, Config{App: f, OnDisconnect: what}, func(t *testing.T, c *client) {
			ok[answer.Started](c, "run_command_bg", `{"argv":["sleep"]}`)
		})
		if got := f.asked[0].Tied; got != (what == Kill) {
			t.Errorf("%s: tied is %t", what, got)
		}
	}
}
