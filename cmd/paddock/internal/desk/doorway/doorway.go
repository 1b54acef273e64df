// Package doorway has what MCP servers of the command line have in common: that of a
// client, and those of delegates that have tools.
//
// # Limits
//
// What a tool does and what a delegate may is decided elsewhere.
package doorway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strconv"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/executor"
	"paddock/internal/git"
	"paddock/internal/lineage"
	"paddock/internal/mcpserver"
	"paddock/internal/task/delegate"
)

// Policies are where the policy comes from, and say why a change of it doesn't count.
type Policies interface {
	executor.Source
	Trouble() *lineage.Trouble
}

// Config is that of a server for p. Its verbs are for the caller to set, and what
// becomes of runs. Without policies nothing is judged here, and only tools that need no
// program of this machine are there.
func Config(d *desk.Desk, version string, policies Policies, p paddock.Principal) mcpserver.Config {
	cfg := mcpserver.Config{Principal: p, Version: version, Log: slog.New(slog.NewTextHandler(d.Err, nil)), Now: d.Now}
	if policies == nil {
		return cfg
	}
	cfg.PolicyProblem = func() *paddock.Refusal {
		var refusal *paddock.Refusal // a fault of ours is for each call to tell
		if _, err := policies.Load(); errors.As(err, &refusal) {
			return refusal
		}
		return nil
	}
	cfg.PolicyNotice = Notice(policies)
	cfg.Words = func() []string {
		if rules, err := policies.Load(); err == nil {
			return rules.Applied(p, "").Words()
		}
		return nil
	}
	cfg.Git, cfg.Delegates = registers(policies, git.Name), registers(policies, delegate.Name)
	return cfg
}

// Notice says of a policy that was changed and can't be used that it isn't in force.
func Notice(policies Policies) func() string {
	return func() string {
		if _, err := policies.Load(); err != nil || policies.Trouble() == nil {
			return ""
		}
		return "The policy file was changed and is broken; the previous one is in force. Tell the operator: paddock policy check lists what is wrong."
	}
}

// registers says whether the policy has a section for a room. Where that can't be told,
// since the policy is broken, there are its tools, too, and answer with the reason.
func registers(policies Policies, room string) func() bool {
	return func() bool {
		p, err := policies.Load()
		return err != nil || p.For(room) != nil
	}
}

// Tools serves delegates the tools that they have: in a session of their own, whose
// runs end with them.
func Tools(d *desk.Desk, version string, policies Policies, verbs mcpserver.Verbs) delegate.Serve {
	return func(ctx context.Context, conn net.Conn, one delegate.Delegate) {
		cfg := Config(d, version, policies, one.Session())
		cfg.App, cfg.OnDisconnect, cfg.Delegate, cfg.Tools = verbs, mcpserver.Kill, one.ID, one.Tools
		if err := mcpserver.Serve(ctx, cfg, conn, unclosed{conn}); err != nil && ctx.Err() == nil {
			cfg.Log.Error("serving a delegate its tools", "delegate", one.ID, "err", err)
		}
	}
}

// Through passes in and out on to the server that this process was given by descriptor,
// as delegates are, until either side ends; given is false where it wasn't.
func Through(ctx context.Context, d *desk.Desk) (given bool, err error) {
	word, _ := d.Env(delegate.DoorVariable)
	if word == "" {
		return false, nil
	}
	number, err := strconv.Atoi(word)
	if err == nil && number <= 2 {
		err = errors.New("it is one of the standard three")
	}
	if err == nil {
		err = streams(number)
	}
	if err != nil {
		return true, desk.Usage(fmt.Sprintf("%s is %s, by which there is no door: %v", delegate.DoorVariable, desk.Quote(word), err), "hand the descriptor on to whatever starts paddock mcp")
	}
	file := os.NewFile(uintptr(number), "door")
	conn, err := net.FileConn(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return true, err
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	door, ok := conn.(*net.UnixConn)
	if !ok {
		return true, errors.Join(fmt.Errorf("the door is a %T", conn), conn.Close())
	}
	go func() {
		_, _ = io.Copy(door, d.In) // its end, or the server's, is the end of the session
		_ = door.CloseWrite()
	}()
	_, err = io.Copy(d.Out, door)
	return true, errors.Join(err, conn.Close())
}

// unclosed leaves closing to the other half of a connection.
type unclosed struct{ io.Writer }

// Close implements [io.Closer].
func (unclosed) Close() error { return nil }
