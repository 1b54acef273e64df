package mcpserver

import (
	"context"
	"encoding/json/v2"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/mcpserver/answer"
	"paddock/internal/mcpserver/ask"
)

// Where there are no workspaces the tool doesn't speak of them, and who names one is told.
func TestNoWorkspaces(t *testing.T) {
	t.Parallel()
	f := &fake{}
	c := connect(t, Config{App: f})
	if r := no(c, "run_command_bg", `{"argv":["x"],"workspace":"site"}`); r.Code != paddock.NotFound || !strings.Contains(r.Hint, "Leave workspace out") || len(f.asked) != 0 {
		t.Errorf("%+v, %+v", r, f.asked)
	}
	for _, there := range []bool{true, false} {
		s := &session{Config: Config{Words: func() []string { return nil }}}
		if there {
			s.Workspace = func(context.Context, string) (string, error) { return "", nil }
		}
		text, err := json.Marshal(s.tools()[0].InputSchema)
		if err != nil || strings.Contains(string(text), `"workspace"`) != there {
			t.Errorf("%t: %s, %v", there, text, err)
		}
	}
}

// What a command is started with has the directory that the name stands for, or nothing is
// started.
func TestPlaced(t *testing.T) {
	t.Parallel()
	f := &fake{}
	c := connect(t, Config{App: f, Workspace: func(_ context.Context, name string) (string, error) {
		if name == "none" {
			return "", ask.NoWorkspaces()
		}
		return "/srv/" + name, nil
	}})
	ok[answer.Started](c, "run_command_bg", `{"argv":["x"],"workspace":"site"}`)
	ok[answer.Started](c, "run_command_bg", `{"argv":["x"]}`)
	for _, bad := range []string{`"none"`, `"a\u0000b"`, `7`, `["site"]`, `null`} {
		no(c, "run_command_bg", `{"argv":["x"],"workspace":`+bad+`}`)
	}
	if len(f.asked) != 2 || f.asked[0].Command.Workspace != "/srv/site" || f.asked[1].Command.Workspace != "/srv/" {
		t.Errorf("%+v", f.asked)
	}
}
